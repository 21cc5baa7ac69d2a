"""Make the memories of a fleet on a large site, up to a million: of varied text, of few words, or by a template.

In the varied world each memory is a scene and a remark. Remarks draw from the words of the model's vocabulary, which
are ordered by frequency, with natural (Zipf) frequencies. Scenes and remarks have vectors of the model; the vector of a
memory is their normalised sum, since a million texts would take the model an hour. The few words make 300 texts with
vectors of the model. Templated memories are as a robot writes them: the words of the template are in all of them, and
numbers tell them apart; their vectors are summed too. The year is varied text again, but spread over 365 days. Queries
are always embedded by the model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.internals.stages import Embedder, Vectors, passage_vectors, stems, whole_words
from bench.worlds.house import ACTIONS, COLOURS, MATERIALS, ROOMS, SPOTS, THINGS

VARIED, FEW_WORDS, TEMPLATED, YEAR = "varied", "few words", "templated", "a year"
WORLDS = (VARIED, FEW_WORDS, TEMPLATED, YEAR)
AREA = (200.0, 150.0)
"""Metres."""
PERIOD = 0.33
NUMBERED_ROOMS = range(1, 61)
START = 1_760_000_000
ROBOTS = 20
"""One robot has 5 % of the memories."""
RARE = 100_000
"""One memory in so many belongs to one task."""
_PARTS = 8000
_YEAR = 365 * 86_400.0
_SMALL_CHOICE = (THINGS[:10], COLOURS[:5], ROOMS[:6])


class SiteMemory(NamedTuple):
    """One memory of a world."""

    content: str
    label: str
    position: tuple[float, float]
    stamp: float
    """Seconds since the epoch."""
    robot: str
    task: str
    success: bool

    def context(self) -> str:
        """Return the context as JSON."""
        return json.dumps(
            {"robot": {"id": self.robot}, "task": {"id": self.task, "success": self.success}}, separators=(",", ":")
        )


class Parts(NamedTuple):
    """The pieces that texts are made of, and their vectors."""

    scenes: Sequence[tuple[str, str]]
    """Text and thing."""
    remarks: Sequence[str]
    scene_vectors: Vectors
    remark_vectors: Vectors
    joint: str = ", "
    """What stands between a scene and a remark."""


def make_parts(world: str, model: str, embedder: Embedder, cache: Path) -> Parts:
    """Make the pieces of a world; their vectors are computed once and then kept in the cache."""
    dice = random.Random(11)
    if world == FEW_WORDS:
        scenes, remarks = _few_scenes(), [""]
    elif world == TEMPLATED:
        scenes, remarks = _templated_scenes(), [f"beside thing {number}" for number in range(1, _PARTS + 1)]
    else:
        scenes, remarks = _varied_scenes(dice), _remarks(dice, _words(model))
    file = cache / f"parts-{(VARIED if world == YEAR else world).replace(' ', '-')}-{embedder.name}.npz"
    if not file.exists():
        print(f"embedding {len(scenes) + len(remarks)} pieces of text", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        scene_vectors = passage_vectors(embedder, [text for text, _ in scenes])
        nothing = np.zeros((1, embedder.dim), np.float32)
        remark_vectors = passage_vectors(embedder, remarks) if remarks != [""] else nothing
        np.savez(file, scenes=scene_vectors, remarks=remark_vectors)
    rows = np.load(file)
    return Parts(scenes, remarks, rows["scenes"], rows["remarks"], " " if world == TEMPLATED else ", ")


def period(world: str, count: int) -> float:
    """Return the seconds from a memory of a world of a size to the next."""
    return _YEAR / count if world == YEAR else PERIOD


def memories(parts: Parts, count: int, seconds: float = PERIOD) -> Iterator[SiteMemory]:
    """Make the memories of a world, ordered by time, `seconds` apart."""
    choices = _choices(parts, count)
    places = np.random.default_rng(5).random((count, 2)) * AREA
    successes = np.random.default_rng(6).random(count) < 0.7
    group = max(1, count // RARE)
    for number in range(count):
        scene, remark = choices[number]
        text, thing = parts.scenes[scene]
        remark_text = parts.remarks[remark]
        x, y = (round(float(part), 3) for part in places[number])
        yield SiteMemory(
            f"{text}{parts.joint}{remark_text}" if remark_text else text, thing, (x, y), START + number * seconds,
            f"r{number % ROBOTS}", f"t{number // group}", bool(successes[number]),
        )  # fmt: skip


def vectors(parts: Parts, count: int, block: int = 20_000) -> Iterator[Vectors]:
    """Make the vectors of the memories of a world, in blocks."""
    choices = _choices(parts, count)
    for first in range(0, count, block):
        scenes, remarks = choices[first : first + block].T
        summed = parts.scene_vectors[scenes] + parts.remark_vectors[remarks]
        yield (summed / np.linalg.norm(summed, axis=1, keepdims=True)).astype(np.float32)


def naming(parts: Parts, count: int, word: str) -> npt.NDArray[np.bool_]:
    """Tell for each memory of a world whether its text has a word in any of its forms."""
    scene, remark = _choices(parts, count).T
    scenes = np.array([stems(word) <= stems(text) for text, _ in parts.scenes])
    remarks = np.array([stems(word) <= stems(text) for text in parts.remarks])
    return np.asarray(scenes[scene] | remarks[remark])


def _choices(parts: Parts, count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(4).integers(0, (len(parts.scenes), len(parts.remarks)), (count, 2))


def _few_scenes() -> list[tuple[str, str]]:
    things, colours, rooms = _SMALL_CHOICE
    return [
        (f"the robot saw a {colour} {thing} in the {room} during patrol", thing)
        for thing in things
        for colour in colours
        for room in rooms
    ]


def _templated_scenes() -> list[tuple[str, str]]:
    return [
        (f"a {colour} {thing} stood in room {room}", thing)
        for thing in THINGS
        for colour in COLOURS
        for room in NUMBERED_ROOMS
    ]


def _varied_scenes(dice: random.Random) -> list[tuple[str, str]]:
    scenes: dict[str, tuple[str, str]] = {}
    while len(scenes) < _PARTS:
        thing, colour = dice.choice(THINGS), dice.choice(COLOURS)
        text = (
            f"{dice.choice(ACTIONS)} the {colour} {dice.choice(MATERIALS)} {thing} {dice.choice(SPOTS)} "
            f"in the {dice.choice(ROOMS)}"
        )
        scenes[text] = (text, thing)
    return list(scenes.values())


def _remarks(dice: random.Random, words: Sequence[str]) -> list[str]:
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    remarks: dict[str, None] = {}
    while len(remarks) < _PARTS:
        remarks.setdefault(" ".join(dice.choices(words, cum_weights=weights, k=dice.randint(4, 8))))
    return list(remarks)


def _words(model: str) -> list[str]:
    return [word for word in whole_words(model) if word.isascii() and word.isalpha() and len(word) > 2]
