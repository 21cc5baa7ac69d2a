"""Write a text in one form of its letters, so that a word is found in whatever form it was typed.

Unicode encodes a letter in several ways (composed or not, full width, ligatures), and writers leave out what readers do
not need: accents, the vowels of Arabic and Hebrew, joiners. Vowel signs that are a part of the spelling stay: without
them, Hindi or Thai words would be others.
"""

from __future__ import annotations

import re
import unicodedata

from .chinese import simplified

_CATEGORIES = tuple(map(unicodedata.category, map(chr, range(0x20000))))


def _in_categories(*categories: str) -> str:
    # Their characters, for the brackets of a regular expression.
    codes = [code for code, category in enumerate(_CATEGORIES) if category in categories]
    firsts = [code for before, code in zip([-1, *codes[:-1]], codes, strict=True) if code != before + 1]
    lasts = [code for code, after in zip(codes, [*codes[1:], -1], strict=True) if code + 1 != after]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))


MARKS = _in_categories("Mn", "Mc", "Me")
"""Combining marks, for the brackets of a regular expression: Python's \\w leaves them out."""
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
IGNORED = f"{_in_categories('Cf')}{_SELECTORS}{_FILLERS}\U000e0001-\U000e007f"
"""What never shows: joiners, soft hyphens, marks of direction, selectors of a variant; for brackets, as MARKS."""
_INVISIBLE = re.compile(f"[{IGNORED}]")
_OPTIONAL = re.compile(
    "["
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew vowels
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic vowels, the long stroke
    "\u0711\u0730-\u074a"  # Syriac vowels
    "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc"  # dots below Indic letters
    "]"
)
_ALIKE = str.maketrans({
    "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i",
    "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ٱ": "ا",
    "\u0901": "\u0902",  # Hindi: चाँद, चांद
    "\u09ce": "\u09a4\u09cd",  # Bengali: a letter and its joined form
    "\u0d7a": "\u0d23\u0d4d", "\u0d7b": "\u0d28\u0d4d", "\u0d7c": "\u0d30\u0d4d",  # Malayalam, likewise
    "\u0d7d": "\u0d32\u0d4d", "\u0d7e": "\u0d33\u0d4d", "\u0d7f": "\u0d15\u0d4d",
    "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2212": "-",
})  # fmt: skip
_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼʻ", "'"))
# The vowel am of Thai and Lao, whose mark is typed before or after the mark of tone; two Thai e for one ae.
_AM = re.compile("(?:\u0e4d([\u0e48-\u0e4b]?)|([\u0e48-\u0e4b])\u0e4d)\u0e32")
_LAO_AM = re.compile("(?:\u0ecd([\u0ec8-\u0ecb]?)|([\u0ec8-\u0ecb])\u0ecd)\u0eb2")
ASCII_SPACES = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum()})
"""What separates words, each to a space: translating and splitting takes half of the time of a regular expression."""
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")


def composed(text: str) -> str:
    """Return a text in compatibility form (NFKC), without invisible characters, in its letter case."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).translate(_APOSTROPHES)


def folded(text: str) -> str:
    """Return a composed text without letter case and optional marks, with ASCII digits and simplified Chinese.

    Case folding is that of the Unicode Standard (3.13, D146): ß is ss, and a final sigma a sigma.
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text.casefold()).casefold())
    text = unicodedata.normalize("NFC", _OPTIONAL.sub("", text).translate(_ALIKE))
    text = _LAO_AM.sub("\\1\\2\u0eb3", _AM.sub("\\1\\2\u0e33", text)).replace("\u0e40\u0e40", "\u0e41")
    return simplified(_FOREIGN_DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text))
