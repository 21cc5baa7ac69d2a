"""List words that say nothing of what a text is about: function words, and what is hung on a word without a space.

The latter are Korean and Japanese particles and endings of verbs. Only queries are read without them. The index holds
all syllables and their pairs: after a wrong cut, too much is found.
"""

from __future__ import annotations

import re

from .letters import fold

_ENGLISH = """
about above after again all also am an and any anybody anyone anything are as at be because been before being below
between both but by can could did do does doing done down during each few for from further get gets give go got had has
have having he her here hers him his how if in into is it its itself just let like me more most my myself no nor not
now of off on once one only or other our out over own please put same saw see seen she should show so some somebody
someone something such tell than that the their them then there these they thing things this those through to too
under until up us use used very want was we were what when where which while who whom whose why will with would you
your yours
"""
_CHINESE = """
的 了 吗 呢 吧 啊 是 在 有 和 与 或 及 也 都 就 还 又 很 被 把 给 让 向 从 到 对 于 之 其
这 那 哪 哪里 哪儿 什么 怎么 怎么办 怎样 如何 为什么 谁 几 多少 我 你 他 她 它 我们 你们 他们 一个 一下
这个 那个 哪个 这里 那里 过 着 得 地 请 请问 可以 能 会 上 里 中
"""
_ERRAND = """
nearest closest nearby near close next around away far
find fetch bring pick grab take need look locate search tell please
最近 附近 旁边 离 距离 帮 找 拿 取 需要
"""
_POSITION = "robot position location place 机器人 位置"
_OTHER_LANGUAGES = """
어디 어디야 어디에요 어디예요 어디서 있어 있어요 있나 있나요 있습니까 있니 있는 있다 있습니다
뭐 무엇 누구 언제 왜 어떻게 좀 줘 주세요
कहाँ है हैं था थे थी का की के को में से पर और क्या कौन कब यह वह मुझे
أين هو هي في من على إلى ما هل هذا هذه איפה את של על מה הוא היא
อยู่ ที่ไหน ไหน ที่ ตรง ใน บน ของ และ คือ อะไร เป็น ช่วย ให้ หน่อย ครับ ค่ะ มี ได้ จะ แล้ว
ຢູ່ ໃສ ຢູ່ໃສ ໃນ ເທິງ ຂອງ ແມ່ນ ຫຍັງ
នៅ ឯណា នៅឯណា លើ ក្នុង នៅក្នុង របស់ អ្វី ជា និង
မှာ ဘယ် လဲ က ကို တယ် ရှိ ရဲ့ ထဲ ပေါ်
"""
_AFTER_CONSONANT = "은 이 을 과 으로 이나 이랑 이다 이에요 입니다 으로는 으로도"
_AFTER_VOWEL = "는 가 를 와 랑 예요 입니다"
_AFTER_VOWEL_OR_L = "로 로는 로도"
_AFTER_ANY = (
    "에 에서 에게 한테 의 만 까지 부터 처럼 보다 마다 하고 밖에 에는 에도 에서는 에서도 까지는 부터는 에게서 들"
)
_AFTER_SINGLE = "은 는 이 을 를 에 에는 에서 에서는 으로 까지 부터 입니다"
"""Particles that may be removed if a single syllable remains."""
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
"""Final consonants that may precede each particle, as Unicode counts them; 0 for none."""
PARTICLES = frozenset(_PARTICLES)
"""The Korean particles, which stand alone behind a letter or number: A에."""
_AFTER_SINGLES = frozenset(_AFTER_SINGLE.split())
_NOUNS = frozenset(_LIKE_PARTICLES.split())
_LONGEST = max(map(len, PARTICLES))
_FIRST_SYLLABLE, _FINALS = 0xAC00, 28
_HIRAGANA_END = re.compile(f"(?:{'|'.join(sorted(_HIRAGANA_WORDS.split(), key=len, reverse=True))})+$")

ENGLISH: frozenset[str] = frozenset(_ENGLISH.split())
STOP_WORDS: frozenset[str] = ENGLISH | {*_CHINESE.split(), *fold(_OTHER_LANGUAGES).split()} | PARTICLES
ERRAND_WORDS: frozenset[str] = frozenset(_ERRAND.split())
SPATIAL_WORDS: frozenset[str] = ERRAND_WORDS | frozenset(_POSITION.split())
"""Words that speak of the errand or the sort, and not of the thing, in a query with a spatial sort."""


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
