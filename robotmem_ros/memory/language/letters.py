"""Letters that stand alone: names such as the A of `dock A`, or function words, which say nothing.

A function word of one letter never stands last, before punctuation, or before most other function words. A capital A
within a sentence is a name.
"""

from __future__ import annotations

import re

from .stop_words import ENGLISH, LETTERS

_LETTER = re.compile(r"(?<![\w._\-/:'’])([aài])(?=\s+([^\W_]+))", re.IGNORECASE)
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
    letter, following = match[1].lower().replace("à", "a"), match[2].lower()
    before = match.string[max(match.start() - _SIGHT, 0) : match.start()]
    last = _LAST_WORD.search(before)
    if letter == "i" and (last is None or last[1].lower() in ENGLISH):
        return False
    if match[1] == "A" and has_case and (last is not None or before.rstrip(" \t").endswith(",")):
        return True
    return following in ENGLISH and following not in LETTERS[letter]
