"""Make the days of a robot in a house: what happens on each, what is needed again, and by which queries.

Most of the 200 memories of a day are of no use later: sightings and small results, each with its own text. A few
are facts. Some of these are recalled again and again, in other words; others never. Constraints are not recalled
during the year and must be found at its end all the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bench.worlds.house import HouseMemory, make_world

_A_DAY = 200
_DIM = 384
_WORD = re.compile(r"\w+")
_ROOMS = ("kitchen", "workshop", "cellar", "pantry", "garage", "office")


@dataclass(frozen=True)
class UsefulFact:
    """One fact and the query for it."""

    content: str
    query: str
    category: str = ""


@dataclass(frozen=True)
class Day:
    """The events of one day."""

    lived: tuple[HouseMemory, ...]
    useful: tuple[UsefulFact, ...]
    unused: tuple[UsefulFact, ...]
    constraints: tuple[UsefulFact, ...]


def make_year(days: int, seed: int) -> list[Day]:
    """Make days: every second day a useful fact, on the others one that nobody needs, every week a constraint."""
    dice = random.Random(seed)
    lived = iter(make_world(days * _A_DAY, 0, seed).memories)
    numbers = iter(dice.sample(range(1000, 10_000), 3 * days))
    year = []
    for day in range(days):
        useful = tuple(_useful_fact(next(numbers), dice, "cabinet") for _ in range(day % 2 == 0))
        unused = tuple(_useful_fact(next(numbers), dice, "crate") for _ in range(day % 2 == 1))
        constraints = tuple(_constraint(next(numbers), dice) for _ in range(day % 7 == 0))
        rest = _A_DAY - len(useful) - len(unused) - len(constraints)
        year.append(Day(tuple(next(lived) for _ in range(rest)), useful, unused, constraints))
    return year


def _useful_fact(number: int, dice: random.Random, thing: str) -> UsefulFact:
    force, room = dice.randint(20, 150) / 10, dice.choice(_ROOMS)
    return UsefulFact(
        f"{thing} {number} in the {room} opens with a pull of {force} N at its left edge",
        f"how does {thing} {number} open?",
    )


def _constraint(number: int, dice: random.Random) -> UsefulFact:
    return UsefulFact(
        f"never enter zone {number} of the {dice.choice(_ROOMS)} while the press is running",
        f"may I enter zone {number}?",
        "constraint",
    )


class WordVectors:
    """An embedder whose vectors are as long as the default model's but free: a direction per word, a text is their sum.

    The model would take minutes for 73,000 texts, and its vectors would be stored and compared no differently.
    """

    available = True
    batch = 8
    name, dim = "bench-word-vectors", _DIM

    def embed_one(self, text: str) -> npt.NDArray[np.float32]:
        """Return the unit vector of one text."""
        total = np.sum([_direction(word) for word in _WORD.findall(text.lower())] or [_direction("")], axis=0)
        vector: npt.NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

    def embed_batch(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the unit vectors of texts, in their order."""
        return np.stack([self.embed_one(text) for text in texts])

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


@lru_cache(maxsize=50_000)
def _direction(word: str) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(word.encode()[:64], "big") % 2**63
    return np.random.default_rng(seed).standard_normal(_DIM, dtype=np.float32)
