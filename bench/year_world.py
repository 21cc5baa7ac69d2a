"""A year of a robot in a house: what it lives through each day, what of that it needs again, and what it is asked.

Of the 200 memories of a day most are of no use later: sightings and small results, each with a text of its own. A few
are lessons. Some of these the robot asks for again and again, in words of its own; others never. Constraints are never
asked for, and must be there all the same when they are.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bench.world import WorldMemory, make_world

DAYS, A_DAY = 365, 200
_DIM = 384
_WORD = re.compile(r"\w+")
_ROOMS = ("kitchen", "workshop", "cellar", "pantry", "garage", "office")


@dataclass(frozen=True)
class Lesson:
    """One lesson, and how it is asked for."""

    content: str
    question: str
    category: str = ""


@dataclass(frozen=True)
class Day:
    """What happens on one day."""

    lived: tuple[WorldMemory, ...]
    useful: tuple[Lesson, ...]
    unused: tuple[Lesson, ...]
    constraints: tuple[Lesson, ...]


def make_year(days: int, seed: int) -> list[Day]:
    """The days of a seed: every second day a useful lesson and one that nobody needs, every week a constraint."""
    dice = random.Random(seed)
    lived = iter(make_world(days * A_DAY, 0, seed).memories)
    numbers = iter(dice.sample(range(1000, 10_000), 3 * days))
    year = []
    for day in range(days):
        useful = tuple(_lesson(next(numbers), dice, "cabinet") for _ in range(day % 2 == 0))
        unused = tuple(_lesson(next(numbers), dice, "crate") for _ in range(day % 2 == 1))
        constraints = tuple(_constraint(next(numbers), dice) for _ in range(day % 7 == 0))
        rest = A_DAY - len(useful) - len(unused) - len(constraints)
        year.append(Day(tuple(next(lived) for _ in range(rest)), useful, unused, constraints))
    return year


def _lesson(number: int, dice: random.Random, thing: str) -> Lesson:
    force, room = dice.randint(20, 150) / 10, dice.choice(_ROOMS)
    return Lesson(
        f"{thing} {number} in the {room} opens with a pull of {force} N at its left edge",
        f"how does {thing} {number} open?",
    )


def _constraint(number: int, dice: random.Random) -> Lesson:
    return Lesson(
        f"never enter zone {number} of the {dice.choice(_ROOMS)} while the press is running",
        f"may I enter zone {number}?",
        "constraint",
    )


class WordVectors:
    """Vectors of the size of the default model's, at no cost: each word a direction, a text their sum.

    Computing 73,000 true ones takes minutes, and changes neither how many bytes they have nor how they are compared.
    """

    available = True
    name, dim = "bench-word-vectors", _DIM

    def embed_one(self, text: str) -> npt.NDArray[np.float32]:
        """The unit vector of one text."""
        total = np.sum([_direction(word) for word in _WORD.findall(text.lower())] or [_direction("")], axis=0)
        vector: npt.NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

    def embed_batch(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The unit vectors of texts, in their order."""
        return np.stack([self.embed_one(text) for text in texts])

    def close(self) -> None:
        """Holds nothing."""


@lru_cache(maxsize=50_000)
def _direction(word: str) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(word.encode()[:64], "big") % 2**63
    return np.random.default_rng(seed).standard_normal(_DIM, dtype=np.float32)
