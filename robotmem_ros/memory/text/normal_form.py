"""Compute the normal form of a text, and the keys of labels and tags: what is the same in all ways to write it.

Letter case, white space, punctuation outside of numbers and names, width and composition of characters, articles and
the few fillers listed here do not count in a text. Everything else does: every number as it is written, prepositions,
conjunctions, modals, single letters such as the B of `dock B`. In doubt two texts differ.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import filterfalse

from .letters import ASCII_SPACES
from .stop_words import ENGLISH


@lru_cache(maxsize=4096)
def label_key(label: str) -> str:
    """Return the key by which labels are compared: without case, extra spaces, and encoding of accents."""
    # Canonical caseless matching of the Unicode Standard (3.13, D145), composed so that it is short.
    caseless = unicodedata.normalize("NFD", label).casefold()
    return unicodedata.normalize("NFC", " ".join(caseless.split()))


def tag_key(tag: str) -> str:
    """Return the form in which a tag is stored: without case, extra spaces and width, so that Kitchen is kitchen."""
    caseless = unicodedata.normalize("NFKC", tag).casefold()
    return " ".join(unicodedata.normalize("NFKC", caseless).split())


_FILLERS = (
    "please", "kindly", "basically", "actually", "essentially", "obviously", "honestly", "of course", "by the way",
    "in fact", "as you know", "^note that", "^remember that",
)  # fmt: skip
_HAN_FILLERS_BEFORE = ("请(?![求假客教示愿柬帖])", "其实(?!验)", "基本上", "当然", "总之", "说实话")
"""Regular expressions: 请求 and 其实验 are no fillers."""
_HAN_FILLERS_AFTER = ("啊", "呀", "哦", "啦")
_HAN_FILLERS = (*_HAN_FILLERS_BEFORE, *_HAN_FILLERS_AFTER)

_HAN = "\u3400-\u9fff\uf900-\ufaff"
_ONLY_FORM = ("<wide>", "<narrow>", "<noBreak>")
"""Compatibility mappings that change nothing but the form: `²` is no `2`."""
# A space is optional between Chinese characters and others, and between a number and its unit.
_OPTIONAL_SPACE = re.compile(rf"(?<=[{_HAN}])\s+(?=\w)|(?<=\w)\s+(?=[{_HAN}])|(?<=\d)\s+(?![eExX]\d)(?=[^\W\d_])")
_PUNCTUATION = re.compile(
    r"(?<=\w)[.:'…](?=\w)|(?<=\d),(?=\d)|(?<!\w)\.(?=\d)"  # stays: 2.10, 8:30, don't, 1,000, .5
    r"|(?<=\d)[\"']|!(?==)|(?<!\S)[-–—]+(?=\s*\d)"  # stays: 5\" and 5', !=, - 5
    r"|(?:(?i:(?<=\bno)|(?<=\bnot)|(?<=n't)|(?<=\bnever))|(?<=[不没别]))[.,;:!。](?=\s*\w)"  # stays: No, stop
    r"|([.,;:!…\"'“”„‘«»()\[\]{}。、【】《》「」·`]|(?<!\S)[-–—]+(?!\S))"
)
_WORD = re.compile(r"\d?[^\W\d_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_FILLER = re.compile(
    rf"(?<!\S)(?<!\bsay )(?<!\bsays )(?<!\bsaid )(?:{'|'.join(_FILLERS)})(?!\S)"
    rf"|(?<!\S)(?:{'|'.join(_HAN_FILLERS_BEFORE)})(?=\w)|(?<=\w)(?:{'|'.join(_HAN_FILLERS_AFTER)})(?!\S)"
)


def normal_form(text: str) -> str:
    """Return the normal form of a text; a text of punctuation alone stays as it is."""
    composed = _composed(text)
    spaced = _OPTIONAL_SPACE.sub("", composed)
    plain = _PUNCTUATION.sub(lambda match: " " if match[1] else match[0], spaced)
    words = " ".join(_without_articles(_WORD.sub(_lower, plain).split()))
    return " ".join(_FILLER.sub(" ", words).split()) or words or composed.strip()


@lru_cache(maxsize=4096)
def digest(text: str) -> str:
    """Return 64 bits of the SHA-256 of the normal form, as 16 hexadecimal digits."""
    return hashlib.sha256(normal_form(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


_PART = re.compile(r"[a-z]+|[0-9]+|[^\W_a-z0-9]+")
_ASCII_PARTS = ASCII_SPACES | {ord(digit): f" {digit} " for digit in "0123456789"}
_UNCOUNTED = frozenset({*_ARTICLES, *" ".join(_FILLERS).replace("^", "").split()})
_HAN_DROPPED = dict.fromkeys(ord(character) for filler in _HAN_FILLERS for character in re.sub(r"\(.*\)", "", filler))


@lru_cache(maxsize=4096)
def text_key(text: str) -> int:
    """Return a number that is the same for all texts of the same normal form, and for few others.

    It takes a tenth of the time of the normal form: everything that this may drop is dropped wherever it stands.
    """
    parts = text.lower().translate(_ASCII_PARTS).split() if text.isascii() else _PART.findall(_plain(text))
    words = filterfalse(_UNCOUNTED.__contains__, parts)
    return zlib.crc32("".join(words).encode("utf-8", "surrogatepass"))


def _plain(text: str) -> str:
    caseless = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return caseless.translate(_HAN_DROPPED)


def _composed(text: str) -> str:
    if text.isascii():
        return text
    one_form = (
        unicodedata.normalize("NFKC", character)
        if unicodedata.decomposition(character).startswith(_ONLY_FORM)
        else character
        for character in text.replace("’", "'")
    )
    return unicodedata.normalize("NFC", "".join(one_form))


def _lower(match: re.Match[str]) -> str:
    word = match[0]
    # Letter case counts in units (5 mW, 5 MW), in mixed words (LiDAR), and in the name A (robot A, a robot).
    is_unit = word[0].isdigit() and len(word) <= 4
    is_mixed = word[1:] != word[1:].lower() and not word.isupper()
    is_name = word == "A" and bool(match.string[: match.start()].strip())
    return word if is_unit or is_mixed or is_name else word.lower()


def _without_articles(words: list[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        before, after = words[index - 1] if index else "", words[index + 1] if index + 1 < len(words) else ""
        if word in {"the", "an"} and after:
            continue
        # Else `a` may be a name, as in `A opens at 8` or `axis a`.
        follows_function_word = before in ENGLISH and before not in _ARTICLES
        if word == "a" and follows_function_word and len(after) > 1 and after not in ENGLISH and not after[0].isdigit():
            continue
        yield word
