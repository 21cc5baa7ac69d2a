"""Find many phrases in a text at once, in a time that does not grow with the number of phrases.

English phrases match word by word in all forms; `*` at the end of a word matches any ending. Chinese phrases match
anywhere, because Chinese has no spaces.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ..text.reading import Reading, has_han, read, stems

_SHORTEST_PREFIX = 3


class PhraseIndex:
    """An index of phrases by their first word, prefix or character."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._by_prefix: dict[str, list[str]] = {}
        self._han: dict[str, str] = {}
        for phrase in dict.fromkeys(phrases):
            self._add(phrase)
        # Lengths of phrases by first character, so that most characters, which begin none, cost one look-up.
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for phrase in self._han:
            lengths[phrase[0]].add(len(phrase))
        self._han_lengths = {first: tuple(sorted(of_first)) for first, of_first in lengths.items()}

        starts: defaultdict[str, set[int]] = defaultdict(set)
        for prefix in self._by_prefix:
            starts[prefix[:_SHORTEST_PREFIX]].add(len(prefix))
        self._prefix_lengths = {start: tuple(sorted(of_start)) for start, of_start in starts.items()}

    def found(self, reading: Reading) -> set[str]:
        """Return the phrases that occur in a text."""
        english = (phrase for phrase, *_ in self.places(reading))
        return {*english, *self._beginnings(reading), *self._chinese(reading)}

    def places(self, reading: Reading) -> Iterator[tuple[str, int, int]]:
        """Return the English phrases in a text, with the indexes of its first word and of the word after it."""
        forms = reading.stems
        for index, one in enumerate(forms):
            for rest, phrase in self._by_first.get(one, ()):
                end = index + 1 + len(rest)
                if not rest or forms[index + 1 : end] == rest or _ends_openly(reading.words[index + 1 : end], rest):
                    yield phrase, index, end

    def _beginnings(self, reading: Reading) -> Iterator[str]:
        for word in reading.words if self._by_prefix else ():
            for length in self._prefix_lengths.get(word[:_SHORTEST_PREFIX], ()):
                yield from self._by_prefix.get(word[:length], ())

    def _chinese(self, reading: Reading) -> Iterator[str]:
        for run in reading.runs if self._han else ():
            for start, first in enumerate(run):
                for length in self._han_lengths.get(first, ()):
                    phrase = self._han.get(run[start : start + length])
                    if phrase is not None:
                        yield phrase

    def _add(self, phrase: str) -> None:
        if has_han(phrase):
            self._han["".join(phrase.split())] = phrase
        elif phrase.endswith("*") and " " not in phrase:
            self._by_prefix.setdefault(phrase[:-1].lower(), []).append(phrase)
        else:
            first, *rest = read(phrase).stems
            if phrase.endswith("*"):
                rest[-1] = f"{phrase.rsplit(maxsplit=1)[-1].lower()}"
            self._by_first.setdefault(first, []).append((tuple(rest), phrase))


def _ends_openly(words: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    if rest[-1][-1] != "*" or len(words) != len(rest):
        return False
    return words[-1].startswith(rest[-1][:-1]) and stems(words[:-1]) == rest[:-1]


def why_no_phrase(phrase: object) -> str:
    """Return what is wrong with a phrase of a file; empty if nothing is."""
    if not isinstance(phrase, str):
        return "must be text; words such as no, on and true want quotes"
    if phrase.endswith("*"):
        core = phrase[:-1].split()[-1] if phrase[:-1].split() else ""
        good = core.isalnum() and len(core) >= _SHORTEST_PREFIX and not has_han(core)
        return "" if good else f"is no beginning of a word of {_SHORTEST_PREFIX} letters or more"
    reading = read(phrase)
    return "" if reading.words or reading.runs else "has no word in it"
