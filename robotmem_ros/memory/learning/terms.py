"""The words that matter when two texts are compared: negations, sides, contrasts, synonyms, numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .data_file import Entry, read_data_file
from .reading import has_han, read

WORDING_FILE = Path(__file__).with_name("wording.yaml")
_SECTIONS = frozenset({"negations", "no_negations", "sides", "contrasts", "synonyms", "fillers", "numbers", "unmarked"})


class Term(NamedTuple):
    """A word of a text and what it is: `word`, `synonym`, `contrast`, `side`, `negation`, `place` or `filler`."""

    kind: str
    key: str


@dataclass(frozen=True)
class Terms:
    """All terms, by how they are written."""

    english: dict[str, list[tuple[tuple[str, ...], Term]]]
    """By the first word; the longest first."""
    han: dict[str, Term]
    lengths: tuple[int, ...]
    """Of Chinese terms, the longest first."""
    fillers: frozenset[str]
    unmarked: frozenset[str]
    """Sides that need not be said."""
    numbers: dict[str, str]
    """Words for numbers, as digits."""

    def latin(self, words: tuple[str, ...], stems: tuple[str, ...], index: int) -> tuple[Term | None, int]:
        """The term at a word and how many words it has; None for a word that is no term."""
        for written in (words, stems):
            for rest, term in self.english.get(written[index], ()):
                end = index + 1 + len(rest)
                if written[index + 1 : end] == rest:
                    return term, end - index
        return None, 1

    def chinese(self, run: str, index: int) -> tuple[Term | None, int]:
        """The term at a place in a run of Chinese and its length; None and 0 where there is none."""
        for length in self.lengths:
            term = self.han.get(run[index : index + length])
            if term is not None:
                return term, len(run[index : index + length])
        return None, 0


@cache
def load_terms() -> Terms:
    """The terms of the package."""
    parts = read_data_file("wording", WORDING_FILE).parts(_SECTIONS)
    terms: dict[str, Term] = {}
    for index, group in enumerate(parts["synonyms"].elements()):
        terms |= {word: Term("synonym", f"synonym {index}") for word in _words(group)}
    for group in parts["contrasts"].elements():
        terms |= {word: Term("contrast", _key(word)) for word in _words(group)}
    for name, pair in parts["sides"].items():
        for sign, side in zip("+-", pair.elements(), strict=True):
            terms |= {word: Term("side", f"{name}{sign}") for word in _words(side)}
    terms |= {word: Term("negation", "not") for word in _words(parts["negations"])}
    fillers = frozenset(_words(parts["fillers"]))
    terms |= {word: Term("filler", word) for word in fillers if word not in terms and not has_han(word)}
    terms |= {word: Term("word", word) for word in _words(parts["no_negations"])}
    numbers = {word: f"{entry.number(0, 1e6):g}" for word, entry in parts["numbers"].items()}
    unmarked = frozenset(_words(parts["unmarked"]))
    return _indexed(terms, fillers, unmarked, numbers)


def _indexed(
    terms: dict[str, Term], fillers: frozenset[str], unmarked: frozenset[str], numbers: dict[str, str]
) -> Terms:
    english: dict[str, list[tuple[tuple[str, ...], Term]]] = {}
    han: dict[str, Term] = {}
    for written, term in terms.items():
        if has_han(written):
            han[written] = term
            continue
        reading = read(written)
        # As it is written, and by its stems where that is no other term.
        for form in dict.fromkeys((reading.words, reading.stems)):
            if form == reading.words or " ".join(form) not in terms:
                english.setdefault(form[0], []).append((form[1:], term))
    for forms in english.values():
        forms.sort(key=lambda form: -len(form[0]))
    lengths = tuple(sorted({len(written) for written in han}, reverse=True))
    return Terms(english, han, lengths, fillers, unmarked, numbers)


def _words(entry: Entry) -> list[str]:
    return [element.text().lower() for element in entry.elements()]


def _key(word: str) -> str:
    # Red and reds, morning and mornings; 红 and 红色 are one.
    if has_han(word):
        return word.removesuffix("色") or word
    return " ".join(read(word).stems)
