"""Memories by the million without a meaning, for the text search alone, and the questions that are asked of them.

The first world is as varied as language: tens of thousands of words, the r-th of them as frequent as 1 / r, function
words before all. The second has few words, and every memory holds seven of them: no word tells it from others.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from robotmem_ros.memory.language.stop_words import ENGLISH

VOCABULARY = 40_000
THINGS = ("mug", "bottle", "bowl", "plate", "kettle", "vase", "lamp", "book", "towel", "basket")
COLOURS = ("red", "blue", "green", "yellow", "white")
PLACES = ("kitchen", "hallway", "bathroom", "bedroom", "office", "garage")
_SYLLABLES = tuple(map("".join, itertools.product("bdfgklmnprtvz", "aeiou")))


def varied_memories(count: int, seed: int) -> Iterator[str]:
    """Texts of 6 to 25 words."""
    dice = random.Random(seed)
    words = _vocabulary()
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for _ in range(count):
        yield " ".join(dice.choices(words, cum_weights=weights, k=dice.randint(6, 25)))


def varied_questions(memories: list[str], count: int, seed: int) -> list[str]:
    """Some words of one memory each, between function words."""
    dice = random.Random(seed)
    questions: list[str] = []
    while len(questions) < count:
        words = [word for word in dice.choice(memories).split() if word not in ENGLISH]
        if words:
            chosen = dice.sample(words, min(len(words), dice.randint(1, 5)))
            questions.append(f"where was the {' '.join(chosen)}")
    return questions


def few_words_memories(count: int, seed: int) -> Iterator[str]:
    """Texts such as "the robot saw a red mug in the kitchen during patrol"."""
    dice = random.Random(seed)
    for _ in range(count):
        thing, colour, place = dice.choice(THINGS), dice.choice(COLOURS), dice.choice(PLACES)
        yield f"the robot saw a {colour} {thing} in the {place} during patrol"


def few_words_questions(memories: list[str], count: int, seed: int) -> list[str]:
    """Two or three of the words in which memories differ, or all, or whole memories."""
    dice = random.Random(seed)
    questions = []
    for _ in range(count):
        thing, colour, place = dice.choice(THINGS), dice.choice(COLOURS), dice.choice(PLACES)
        questions.append(
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
    return questions


def _vocabulary() -> list[str]:
    lengths = itertools.chain.from_iterable(itertools.product(_SYLLABLES, repeat=length) for length in (2, 3))
    made = ("".join(parts) + "x" for parts in lengths)
    return [*sorted(ENGLISH), *itertools.islice(made, VOCABULARY)]
