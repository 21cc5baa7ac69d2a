"""Take off what Korean and Japanese writers hang on a word without a space: particles, and endings of verbs.

Only queries are read so. The index holds all syllables and their pairs: after a wrong cut, too much is found.
"""

from __future__ import annotations

import re

_AFTER_CONSONANT = "은 이 을 과 으로 이나 이랑 이다 이에요 입니다 으로는 으로도"
_AFTER_VOWEL = "는 가 를 와 랑 예요 입니다"
_AFTER_VOWEL_OR_L = "로 로는 로도"
_AFTER_ANY = (
    "에 에서 에게 한테 의 만 까지 부터 처럼 보다 마다 하고 밖에 에는 에도 에서는 에서도 까지는 부터는 에게서 들"
)
_AFTER_SINGLE = "은 는 이 을 를 에 에는 에서 에서는 으로 까지 부터 입니다"
"""What may be taken off if a single syllable remains."""
_LIKE_PARTICLES = """
고양이 곰팡이 굽이 길이 깊이 넓이 놀이 높이 먹이 목걸이 손잡이 어린이 옷걸이 원숭이 종이 지팡이 호랑이
고속도로 자전거도로
"""
"""Nouns that end like a particle."""
_HIRAGANA_WORDS = """
は が を に で と も の へ や か ね よ から まで より など です でした だ だった ます ました ません ない なかった
ある あります あった ありました いる います いた いました する します した しました して ている ています ていた
どこ なに なん いつ だれ どれ どの この その あの これ それ あれ ここ そこ という ください さい ほしい
い く き し り ち れ
"""

_PARTICLES = {
    particle: finals
    for particles, finals in (
        (_AFTER_ANY, range(28)),
        (_AFTER_CONSONANT, range(1, 28)),
        (_AFTER_VOWEL, (0,)),
        (_AFTER_VOWEL_OR_L, (0, 8)),
    )
    for particle in particles.split()
}
"""By particle, the final consonants behind which it stands, as Unicode counts them; 0 for none."""
PARTICLES = frozenset(_PARTICLES)
"""The Korean particles, which stand alone behind a letter or number: A에."""
_AFTER_SINGLES = frozenset(_AFTER_SINGLE.split())
_NOUNS = frozenset(_LIKE_PARTICLES.split())
_LONGEST = max(map(len, PARTICLES))
_FIRST_SYLLABLE, _FINALS = 0xAC00, 28
_HIRAGANA_END = re.compile(f"(?:{'|'.join(sorted(_HIRAGANA_WORDS.split(), key=len, reverse=True))})+$")


def korean_stem(word: str) -> str:
    """Return a Korean word, syllables alone, without its particles: 머그컵이 is 머그컵."""
    for _ in range(2):
        word = _without_particle(word)
    return word


def without_hiragana_end(run: str) -> str:
    """Return a run of hiragana without particles, endings of verbs and words of a question at its end."""
    return _HIRAGANA_END.sub("", run)


def _without_particle(word: str) -> str:
    if word in _NOUNS:
        return word
    for length in range(min(_LONGEST, len(word) - 1), 0, -1):
        before, particle = word[:-length], word[-length:]
        final = (ord(before[-1]) - _FIRST_SYLLABLE) % _FINALS
        if final in _PARTICLES.get(particle, ()) and (len(before) > 1 or particle in _AFTER_SINGLES):
            return before
    return word
