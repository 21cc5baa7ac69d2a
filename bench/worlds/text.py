"""Make meaningless texts by the million for the text search alone, and queries on them.

The first world is as varied as language: tens of thousands of words with frequencies 1 / rank, stop words first. The
second has so few words that no single word tells a memory from others.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from bench.internals.stages import STOP_WORDS
from bench.worlds.house import COLOURS, ROOMS, THINGS

_VOCABULARY = 40_000
_THINGS, _COLOURS, _PLACES = THINGS[:10], COLOURS[:5], ROOMS[:6]
_SYLLABLES = tuple(map("".join, itertools.product("bdfgklmnprtvz", "aeiou")))


def varied_memories(count: int, seed: int) -> Iterator[str]:
    """Make texts of 6 to 25 words."""
    dice = random.Random(seed)
    words = _vocabulary()
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for _ in range(count):
        yield " ".join(dice.choices(words, cum_weights=weights, k=dice.randint(6, 25)))


def varied_queries(memories: list[str], count: int, seed: int) -> list[str]:
    """Make queries of some words of one memory each, between stop words."""
    dice = random.Random(seed)
    queries: list[str] = []
    while len(queries) < count:
        words = [word for word in dice.choice(memories).split() if word not in STOP_WORDS]
        if words:
            sample = dice.sample(words, min(len(words), dice.randint(1, 5)))
            queries.append(f"where was the {' '.join(sample)}")
    return queries


def few_words_memories(count: int, seed: int) -> Iterator[str]:
    """Make texts such as "the robot saw a red mug in the kitchen during patrol"."""
    dice = random.Random(seed)
    for _ in range(count):
        thing, colour, place = dice.choice(_THINGS), dice.choice(_COLOURS), dice.choice(_PLACES)
        yield f"the robot saw a {colour} {thing} in the {place} during patrol"


def few_words_queries(memories: list[str], count: int, seed: int) -> list[str]:
    """Make queries of two or three of the words in which memories differ, or of all, or of whole memories."""
    dice = random.Random(seed)
    queries = []
    for _ in range(count):
        thing, colour, place = dice.choice(_THINGS), dice.choice(_COLOURS), dice.choice(_PLACES)
        queries.append(
            dice.choice(
                (
                    f"where is the {colour} {thing}",
                    f"{thing} in the {place}",
                    f"did the robot see a {colour} {thing} in the {place}",
                    f"the {colour} one in the {place} during the patrol",
                    dice.choice(memories),
                )
            )
        )
    return queries


def _vocabulary() -> list[str]:
    lengths = itertools.chain.from_iterable(itertools.product(_SYLLABLES, repeat=length) for length in (2, 3))
    words_made = ("".join(parts) + "x" for parts in lengths)
    return [*sorted(STOP_WORDS), *itertools.islice(words_made, _VOCABULARY)]
