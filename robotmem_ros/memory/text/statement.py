"""Parse a text into a statement: the words of its subject, and what it claims of that subject.

Learning, consolidation and contradictions share this parser. Numbers with their units, negations, polarities
(worked or failed, open or closed) and names are separated from the other words.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ..yaml_file import Entry, read_yaml
from .entities import QUANTITIES_FILE, Quantity, quantities, scope
from .inflection import language_of
from .letters import HAN, fold, has_han, simplify
from .normal_form import digest
from .scripts import chinese_number, chinese_words, has_jieba
from .state import State, read_state
from .stemmer import read
from .stop_words import STOP_WORDS

STATEMENT_FILE = Path(__file__).with_name("statement.yaml")
_SECTIONS = frozenset({
    "negations", "no_negations", "polarities", "contrasts", "synonyms", "fillers", "numbers", "default_polarities",
})  # fmt: skip


class Term(NamedTuple):
    """A word of a text and what it is: `word`, `synonym`, `contrast`, `polarity`, `negation` or `filler`."""

    kind: str
    key: str


@dataclass(frozen=True)
class Terms:
    """All terms by their spelling."""

    english: dict[str, list[tuple[tuple[str, ...], Term]]]
    """The other words of each term and the term, by the first word; the longest first."""
    han: dict[str, Term]
    lengths: tuple[int, ...]
    """Lengths of Chinese terms, the longest first."""
    fillers: frozenset[str]
    defaults: frozenset[str]
    """Polarities that a statement has unless it says otherwise."""
    numbers: dict[str, str]
    """Digits by number word."""

    def latin(self, words: tuple[str, ...], stems: tuple[str, ...], index: int) -> tuple[Term | None, int]:
        """Return the term at a word and its number of words; None and 1 for a word that is no term."""
        for forms in (words, stems):
            for rest, term in self.english.get(forms[index], ()):
                end = index + 1 + len(rest)
                if forms[index + 1 : end] == rest:
                    return term, end - index
        return None, 1

    def chinese(self, run: str, index: int) -> tuple[Term | None, int]:
        """Return the term at a position in a run of Chinese and its length; None and 0 if there is none."""
        for length in self.lengths:
            term = self.han.get(run[index : index + length])
            if term is not None:
                return term, len(run[index : index + length])
        return None, 0


@cache
def load_terms() -> Terms:
    """Load the terms of the package."""
    parts = read_yaml("statement", STATEMENT_FILE).parts(_SECTIONS)
    terms: dict[str, Term] = {}
    for index, group in enumerate(parts["synonyms"].elements()):
        terms |= {word: Term("synonym", f"synonym {index}") for word in _words(group)}
    for group in parts["contrasts"].elements():
        terms |= {word: Term("contrast", _key(word)) for word in _words(group)}
    for name, pair in parts["polarities"].items():
        for sign, group in zip("+-", pair.elements(), strict=True):
            terms |= {word: Term("polarity", f"{name}{sign}") for word in _words(group)}
    terms |= {word: Term("negation", "not") for word in _words(parts["negations"])}
    fillers = frozenset(_words(parts["fillers"]))
    terms |= {word: Term("filler", word) for word in fillers if word not in terms and not has_han(word)}
    terms |= {word: Term("word", word) for word in _words(parts["no_negations"])}
    numbers = {word: f"{entry.number(0, 1e6):g}" for word, entry in parts["numbers"].items()}
    defaults = frozenset(_words(parts["default_polarities"]))
    han = {spelling: term for spelling, term in terms.items() if has_han(spelling)}
    lengths = tuple(sorted({len(spelling) for spelling in han}, reverse=True))
    return Terms(_by_first_word(terms), han, lengths, fillers, defaults, numbers)


def _by_first_word(terms: dict[str, Term]) -> dict[str, list[tuple[tuple[str, ...], Term]]]:
    by_first_word: dict[str, list[tuple[tuple[str, ...], Term]]] = {}
    for spelling, term in terms.items():
        if has_han(spelling):
            continue
        reading = read(spelling)
        # By its words, and by its stems if these are no other term.
        for form in dict.fromkeys((reading.words, reading.stems)):
            if form == reading.words or " ".join(form) not in terms:
                by_first_word.setdefault(form[0], []).append((form[1:], term))
    for forms in by_first_word.values():
        forms.sort(key=lambda form: -len(form[0]))
    return by_first_word


def _words(entry: Entry) -> list[str]:
    return [element.text().lower() for element in entry.elements()]


def _key(word: str) -> str:
    # Red and reds, morning and mornings, 红 and 红色 have one key.
    if has_han(word):
        return word.removesuffix("色") or word
    return " ".join(read(word).stems)


_VERSION = 11
"""Version of this parser. Increment it with every change of what it returns."""
_LONGEST = 4000
_HAN_RUN = re.compile(f"([{HAN}]+)")
_HAN_NUMBER = re.compile(
    "(第?)([一二两三四五六七八九十百千]+)(?=[点个次米秒分小天号度厘毫公牛倍层楼间把张只台辆周年月日位条根块件步级档排盒箱瓶桶袋本套桌人名])"
)
_CAPITAL = re.compile(r"(?<![\w.'’])[B-HJ-Z](?![\w'’.])|(?<=[a-z] )A(?=$|[ .,;:!?])", re.ASCII)
_DIGIT = re.compile(r"\d")
_PIECE = re.compile(r"[^\s,;!?，。；！？]+")
_EDGE = " \t\n.,;:!?…\"'“”‘’()[]。，；：！？、·"
_LEADING_POINT = re.compile(r"(?<![\w.])\.(?=\d)")

Values = tuple[tuple[float, float, str], ...]


class Claim(NamedTuple):
    """The claim that a text makes of its subject."""

    values: Values
    """Numbers with their units as (from, to, unit), ascending."""
    polarities: frozenset[str]
    """Signed opposites, such as `outcome+`."""
    negations: int
    """Number of negations that inverted no polarity."""


@dataclass(frozen=True)
class Statement:
    """The statement of a text."""

    words: frozenset[str]
    """Stems of the words of the subject, with one key for synonyms; includes the names."""
    names: frozenset[str]
    """Identifiers, part numbers, colours, directions, rooms: texts with other names have another subject."""
    claim: Claim
    state: State | None = None
    """Where the subject is, whose it is, and the like."""

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return the terms by which statements are compared: the words, and each part of the claim."""
        values, polarities, negations = self.claim
        parts = {*polarities, *map(repr, values), *(f"not {n}" for n in range(negations))}
        return frozenset({*self.words, *parts})

    @cached_property
    def state_terms(self) -> frozenset[str]:
        """Return what facts have in common that each tell one state of one subject; empty if this tells none."""
        if self.state is None:
            return frozenset()
        return frozenset({f"{self.state.kind} of {' '.join(sorted(statement(self.state.subject).terms))}"})


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Parse a text; one of more than 4000 characters becomes a single word, the digest of its normal form."""
    if len(text) > _LONGEST:
        whole = frozenset({digest(text)})
        return Statement(whole, whole, Claim((), frozenset(), 0))
    plain = _in_digits(simplify(unicodedata.normalize("NFKC", text)))
    numbers = quantities(plain)
    values = [(item.value, item.value if item.upper is None else item.upper, _unit(item)) for item in numbers]
    names_in_text = scope(plain)
    rest = _without(plain, [(item.start, item.end) for item in numbers])
    labels = [label.lower() for label in _CAPITAL.findall(rest)]
    if _DIGIT.search(rest):
        labels += [piece.strip(_EDGE).lower() for piece in _PIECE.findall(rest) if _DIGIT.search(piece)]
    terms = list(_terms(rest))
    polarities, negations = _polarities(terms)
    names = {name.lower() for name in (*names_in_text.entities, *names_in_text.files)}.union(labels)
    names |= {term.key for term in terms if term.kind == "contrast"}
    words = {term.key for term in terms if term.kind in ("word", "synonym")}
    claim = Claim(tuple(sorted(values)), frozenset(polarities), negations)
    return Statement(frozenset(words | names), frozenset(names), claim, read_state(plain))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets, in [0, 1]; 0 if both are empty.

    Jaccard: The distribution of the flora in the alpine zone, 1912.
    """
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0


def same_subject(first: frozenset[str], second: frozenset[str], limit: float) -> bool:
    """Return whether one set of words has all of the other, and their Jaccard similarity is a limit or more."""
    smaller, larger = (first, second) if len(first) <= len(second) else (second, first)
    return bool(larger) and smaller <= larger and len(smaller) / len(larger) >= limit


@cache
def scheme() -> str:
    """Name the way in which texts are read; what another scheme has read must be read again."""
    content = b"".join(file.read_bytes() for file in (STATEMENT_FILE, QUANTITIES_FILE))
    return f"{_VERSION} {'jieba' if has_jieba() else 'pairs'} {hashlib.sha256(content).hexdigest()[:12]}"


def _unit(quantity: Quantity) -> str:
    # max_retries=3 has no unit, but is more than a plain number.
    return f"{quantity.name} =" if quantity.rule == "written" and not quantity.unit else quantity.unit


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]} {text[end:]}"
    return text


def _in_digits(text: str) -> str:
    # Numbers in words, English and Chinese, as digits. 一个 is an article and no number.
    text = _LEADING_POINT.sub("0.", text)
    text = _HAN_NUMBER.sub(lambda match: "" if match[0] == "一" else f"{chinese_number(match[2]):g}", text)
    numbers = load_terms().numbers
    return re.sub(r"[A-Za-z]+", lambda match: f"{numbers.get(match[0].lower(), match[0])}", text)


def _terms(text: str) -> Iterator[Term]:
    terms = load_terms()
    for piece in _HAN_RUN.split(text):
        yield from _chinese(terms, piece) if _HAN_RUN.fullmatch(piece) else _latin(terms, piece)


def _latin(terms: Terms, text: str) -> Iterator[Term]:
    reading = read(text)
    # What is a word of English may be another one elsewhere: the Portuguese `no` negates nothing.
    is_english = not language_of(map(fold, reading.words))
    index = 0
    while index < len(reading.stems):
        term, length = terms.latin(reading.words, reading.stems, index) if is_english else (None, 1)
        if term is not None:
            yield term
        elif len(word := reading.words[index]) > 1 and word not in STOP_WORDS:
            yield Term("word", reading.stems[index])
        index += length


def _chinese(terms: Terms, run: str) -> Iterator[Term]:
    start = index = 0
    while index < len(run):
        term, length = terms.chinese(run, index)
        if term is not None:
            yield from _cut(run[start:index])
            yield term
            start = index + length
        index += length or 1
    yield from _cut(run[start:])


def _cut(run: str) -> Iterator[Term]:
    terms = load_terms()
    for word in dict.fromkeys(chinese_words(run)) if run else ():
        if word not in STOP_WORDS and word not in terms.fillers:
            yield Term("word", word)


def _polarities(terms: list[Term]) -> tuple[set[str], int]:
    # A negation inverts the next polarity within three terms; one that inverts none is counted.
    polarities: Counter[str] = Counter()
    negations = 0
    open_negation = 0
    for term in terms:
        if term.kind == "negation":
            negations += 1
            open_negation = 3
        elif term.kind == "polarity":
            key, sign = term.key[:-1], term.key[-1]
            if open_negation:
                sign, open_negation, negations = ("-" if sign == "+" else "+"), 0, negations - 1
            polarities[key + sign] += 1
        else:
            open_negation = max(open_negation - 1, 0)
    return set(polarities) - load_terms().defaults, negations
