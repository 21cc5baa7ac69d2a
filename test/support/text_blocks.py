"""Random texts, the blocks of their postings, and what brute force says of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hypothesis import strategies as st

from robotmem_ros.memory.search.text_index.bm25 import Formula
from robotmem_ros.memory.search.text_index.postings import Block, BlockBuilder

WORDS = ("red", "blue", "mug", "grip", "forc", "12", "5", "杯子", "杯", "käse")
Texts = Mapping[int, Sequence[str]]
"""The words of each memory, by id."""

FORMULA = Formula(1.2, 0.3, 0.9 / 4.0)

texts_behind_three = st.dictionaries(st.integers(4, 63), st.lists(st.sampled_from(WORDS), max_size=9), max_size=40).map(
    lambda found: dict(sorted(found.items()))
)
"""Texts of some ids behind 3, with gaps between them."""


def block_of(texts: Texts, low: int, high: int, *, piece: int = 5, revision: int = 0) -> Block:
    """Make the block of the ids in (`low`, `high`] of pieces of so many texts."""
    ids = [one for one in texts if low < one <= high]
    pieces = (ids[start : start + piece] for start in range(0, len(ids), piece))
    return build(low, high, [(part, [" ".join(texts[one]) for one in part]) for part in pieces], revision=revision)


def build(low: int, high: int, pieces: Iterable[tuple[Sequence[int], Sequence[str]]], *, revision: int = 0) -> Block:
    """Make the block of the ids in (`low`, `high`] of pieces of ids and texts."""
    builder = BlockBuilder(low, high, revision)
    for ids, texts in pieces:
        builder.add(ids, [f"{text} | | |" for text in texts])
    return builder.block()


def score(
    words: Sequence[str], weights: Mapping[str, float], compounds: Mapping[str, float], formula: Formula
) -> float:
    """Return the BM25 score of a text, term by term; a compound counts as a further term."""
    norm = formula.base + formula.per_word * len(words)
    total = sum(_term(weight, words.count(word), norm, formula) for word, weight in weights.items())
    for compound, weight in compounds.items():
        wanted = compound.split()
        together = sum(list(words[at : at + len(wanted)]) == wanted for at in range(len(words)))
        total += _term(weight, together, norm, formula)
    return total


def _term(weight: float, count: int, norm: float, formula: Formula) -> float:
    return weight * count * (formula.k1 + 1) / (count + norm)
