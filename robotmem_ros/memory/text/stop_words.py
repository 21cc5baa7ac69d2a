"""List function words, which say nothing of what a text is about, and tell them from names of one letter.

A function word of one letter never stands last, before punctuation, or before most other function words. A capital A
within a sentence is a name.
"""

from __future__ import annotations

import re

from .letters import folded
from .particles import PARTICLES

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
_OTHERS = """
어디 어디야 어디에요 어디예요 어디서 있어 있어요 있나 있나요 있습니까 있니 있는 있다 있습니다
뭐 무엇 누구 언제 왜 어떻게 좀 줘 주세요
कहाँ है हैं था थे थी का की के को में से पर और क्या कौन कब यह वह मुझे
أين هو هي في من على إلى ما هل هذا هذه איפה את של על מה הוא היא
อยู่ ที่ไหน ไหน ที่ ตรง ใน บน ของ และ คือ อะไร เป็น ช่วย ให้ หน่อย ครับ ค่ะ มี ได้ จะ แล้ว
ຢູ່ ໃສ ຢູ່ໃສ ໃນ ເທິງ ຂອງ ແມ່ນ ຫຍັງ
នៅ ឯណា នៅឯណា លើ ក្នុង នៅក្នុង របស់ អ្វី ជា និង
မှာ ဘယ် လဲ က ကို တယ် ရှိ ရဲ့ ထဲ ပေါ်
"""
_AFTER_A = "few further more one saw show thing use used very"
_AFTER_I = """
also am can could did do does get give go got had have just let like look need now once only please pick put saw see
should show take tell use used want was will would
"""

ENGLISH: frozenset[str] = frozenset(_ENGLISH.split())
STOP_WORDS: frozenset[str] = ENGLISH | frozenset(_CHINESE.split()) | frozenset(folded(_OTHERS).split()) | PARTICLES
ERRAND_WORDS: frozenset[str] = frozenset(_ERRAND.split())
POSITION_WORDS: frozenset[str] = frozenset(_POSITION.split())
SPATIAL_WORDS: frozenset[str] = ERRAND_WORDS | POSITION_WORDS
"""Words that speak of the errand or the sort, and not of the thing, in a query with a spatial sort."""

LETTERS: dict[str, frozenset[str]] = {"a": frozenset(_AFTER_A.split()), "i": frozenset(_AFTER_I.split())}
"""The function words of one letter, and the other function words that may follow each: `a few`, `I saw`.

The same letter is a name where its function word cannot stand, as in `dock a is free`.
"""


# The letter comes first, which makes the search quick; the context before it is checked afterwards.
_LETTER = re.compile(r"([aàiAÀI])(?=\s+([^\W_]+))(?<![\w._\-/:'’].)")
_CLITIC = re.compile(r"(?<=[^\W_])['’](?:s|t|d|m|re|ve|ll)(?![^\W_])", re.IGNORECASE)
_ELISION = re.compile(r"(?<![^\W_])[cdjlmnst]['’](?=[^\W\d_]{2})", re.IGNORECASE)
_LAST_WORD = re.compile(r"([^\W_]+)[ \t]*\Z")
_SIGHT = 40
"""Number of characters before a letter that are searched for the word there."""


def without_function_letters(text: str, filler: str = "") -> str:
    """Remove the article `a` and the pronoun `I`, and letters cut off by an apostrophe: `robot's`, `l'atelier`.

    `filler` stands for each removed character: a space leaves the others where they are.
    """
    if "'" in text or "’" in text:
        for cut_off in (_CLITIC, _ELISION):
            text = cut_off.sub(lambda match: filler * len(match[0]), text)
    has_case = not (text.isupper() or text.istitle())
    return _LETTER.sub(lambda match: match[0] if _is_name(match, has_case=has_case) else filler, text)


def _is_name(match: re.Match[str], *, has_case: bool) -> bool:
    letter, following = match[1], match[2].lower()
    if letter in "iI":
        last = _LAST_WORD.search(_before(match))
        return last is not None and last[1].lower() not in ENGLISH and _cannot_follow("i", following)
    return (letter == "A" and has_case and _is_within_sentence(match)) or _cannot_follow("a", following)


def _cannot_follow(function_letter: str, word: str) -> bool:
    return word in ENGLISH and word not in LETTERS[function_letter]


def _is_within_sentence(match: re.Match[str]) -> bool:
    before = _before(match)
    return _LAST_WORD.search(before) is not None or before.rstrip(" \t").endswith(",")


def _before(match: re.Match[str]) -> str:
    return match.string[max(match.start() - _SIGHT, 0) : match.start()]
