"""Read the words of a query as the text search does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .reference_model import ReferenceMemory

STOP_WORDS = frozenset({"the", "where", "is", "nearest"})
"""Those of the function words that the queries of these tests use."""


def query_phrases(query: str) -> list[list[str]]:
    """Return the compounds of a query, and its numbers and letters with the word before them, or else behind them."""
    units = [word.split("_") for word in query.lower().split()]
    phrases = [tuple(unit) for unit in units if len(unit) > 1]
    for index, unit in enumerate(units):
        if _is_number(unit):
            before, after = units[max(index - 1, 0)], units[min(index + 1, len(units) - 1)]
            if not _is_number(before) and STOP_WORDS.isdisjoint(before if len(before) == 1 else ()):
                phrases.append((before[-1], *unit))
            elif not _is_number(after) and STOP_WORDS.isdisjoint(after if len(after) == 1 else ()):
                phrases.append((*unit, after[0]))
    return [list(phrase) for phrase in dict.fromkeys(phrases)]


def _is_number(unit: list[str]) -> bool:
    return all(len(word) == 1 for word in unit)


def query_words(query: str, stop_words: frozenset[str]) -> list[str]:
    """Return the words of a query but the stop words, unless it has no others."""
    words = list(dict.fromkeys(query.lower().replace("_", " ").split()))
    return [word for word in words if word not in stop_words] or words


def holding(
    memories: Iterable[ReferenceMemory], words: Sequence[str], phrases: Sequence[Sequence[str]] = ()
) -> list[ReferenceMemory]:
    """Keep the memories that hold all of some words and phrases."""
    wanted = (*([word] for word in words), *phrases)
    return [memory for memory in memories if words and all(map(memory.frequency, wanted))]
