"""Letters that stand alone: names such as the A of `dock A`, or function words, which say nothing.

A function word of one letter never stands last, before punctuation, or before most other function words. A capital A
within a sentence is a name.
"""

from __future__ import annotations

import re

from .stop_words import ENGLISH, LETTERS

# The letter comes first, so that the search goes from one to the next; what stands before it is looked at afterwards.
_LETTER = re.compile(r"([aàiAÀI])(?=\s+([^\W_]+))(?<![\w._\-/:'’].)")
_CLITIC = re.compile(r"(?<=[^\W_])['’](?:s|t|d|m|re|ve|ll)(?![^\W_])", re.IGNORECASE)
_ELISION = re.compile(r"(?<![^\W_])[cdjlmnst]['’](?=[^\W\d_]{2})", re.IGNORECASE)
_LAST_WORD = re.compile(r"([^\W_]+)[ \t]*\Z")
_SIGHT = 40
"""So many characters before a letter are looked at."""


def without_function_letters(text: str) -> str:
    """Take out the article `a` and the pronoun `I`, and letters cut off by an apostrophe: `robot's`, `l'atelier`."""
    if "'" in text or "’" in text:
        text = _ELISION.sub("", _CLITIC.sub("", text))
    has_case = not (text.isupper() or text.istitle())
    return _LETTER.sub(lambda match: match[0] if _is_name(match, has_case=has_case) else "", text)


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
