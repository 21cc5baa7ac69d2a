"""Worlds of any size from a seed, and the database that holds one: of varied text, or of few words.

The varied world draws from the words of the model's own vocabulary, which stand in the order of how common they are,
with natural (Zipf) frequencies: each memory is a scene and a remark. The vectors of the scenes and the remarks are the
model's; that of a memory is the unit vector of their sum, since a million texts would take the model an hour. The few
words make 300 texts, whose vectors are the model's own. Questions are always embedded by it.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.world import ACTIONS, COLOURS, MATERIALS, ROOMS, SPOTS, THINGS
from robotmem_ros.memory.embedding import Embedder, Vectors

VARIED, FEW_WORDS = "varied", "few words"
WORLDS = (VARIED, FEW_WORDS)
AREA = (200.0, 150.0)
"""Size of the site in metres."""
PERIOD = 0.33
START = 1_760_000_000
ROBOTS = 20
"""One robot has 5 % of the memories."""
RARE = 100_000
"""One memory in so many belongs to one task."""
_PARTS = 8000
_FEW = (THINGS[:10], COLOURS[:5], ROOMS[:6])


class ScaleMemory(NamedTuple):
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
        """Its context as JSON."""
        return json.dumps(
            {"robot": {"id": self.robot}, "task": {"id": self.task, "success": self.success}}, separators=(",", ":")
        )


class Parts(NamedTuple):
    """What the texts of a world are made of, and the vectors of these pieces."""

    scenes: Sequence[tuple[str, str]]
    """Text and thing."""
    remarks: Sequence[str]
    scene_vectors: Vectors
    remark_vectors: Vectors


def parts(world: str, tokenizer: Path, embedder: Embedder, cache: Path) -> Parts:
    """The pieces of a world, embedded once and then kept in the cache."""
    dice = random.Random(11)
    scenes = _few_scenes() if world == FEW_WORDS else _varied_scenes(dice)
    remarks = [""] if world == FEW_WORDS else _remarks(dice, _words(tokenizer))
    file = cache / f"parts-{world.replace(' ', '-')}-{embedder.name}.npz"
    if not file.exists():
        print(f"embedding {len(scenes) + len(remarks)} pieces of text", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        known = embedder.embed_batch([text for text, _ in scenes])
        said = embedder.embed_batch(remarks) if remarks != [""] else np.zeros((1, embedder.dim), np.float32)
        np.savez(file, scenes=known, remarks=said)
    stored = np.load(file)
    return Parts(scenes, remarks, stored["scenes"], stored["remarks"])


def memories(pieces: Parts, count: int) -> Iterator[ScaleMemory]:
    """The memories of a world, in the order of their times; the first are the same at every size."""
    choices = _choices(pieces, count)
    places = np.random.default_rng(5).random((count, 2)) * AREA
    successes = np.random.default_rng(6).random(count) < 0.7
    group = max(1, count // RARE)
    for number in range(count):
        scene, remark = choices[number]
        text, thing = pieces.scenes[scene]
        said = pieces.remarks[remark]
        x, y = (round(float(part), 3) for part in places[number])
        yield ScaleMemory(
            f"{text}, {said}" if said else text, thing, (x, y), START + number * PERIOD,
            f"r{number % ROBOTS}", f"t{number // group}", bool(successes[number]),
        )  # fmt: skip


def vectors(pieces: Parts, count: int, block: int = 20_000) -> Iterator[Vectors]:
    """The vectors of the memories of a world, in blocks."""
    choices = _choices(pieces, count)
    for first in range(0, count, block):
        scenes, remarks = choices[first : first + block].T
        summed = pieces.scene_vectors[scenes] + pieces.remark_vectors[remarks]
        yield (summed / np.linalg.norm(summed, axis=1, keepdims=True)).astype(np.float32)


def holding(pieces: Parts, count: int, word: str) -> npt.NDArray[np.bool_]:
    """Which memories of a world have a word in their texts, in any of its forms, as SQLite's stemmer tells."""
    scenes = _having([text for text, _ in pieces.scenes], word)
    remarks = _having(pieces.remarks, word)
    scene, remark = _choices(pieces, count).T
    named: npt.NDArray[np.bool_] = scenes[scene] | remarks[remark]
    return named


def _having(texts: Sequence[str], word: str) -> npt.NDArray[np.bool_]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
        connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
        found = connection.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (word,)).fetchall()
    rows = np.zeros(len(texts), bool)
    rows[[row for (row,) in found]] = True
    return rows


def _choices(pieces: Parts, count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(4).integers(0, (len(pieces.scenes), len(pieces.remarks)), (count, 2))


def _few_scenes() -> list[tuple[str, str]]:
    things, colours, rooms = _FEW
    return [
        (f"the robot saw a {colour} {thing} in the {room} during patrol", thing)
        for thing in things
        for colour in colours
        for room in rooms
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


def _words(tokenizer: Path) -> list[str]:
    # Those of BERT's vocabulary that are whole words, the most common first.
    vocabulary: dict[str, int] = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    by_rank = sorted(vocabulary, key=lambda word: vocabulary[word])
    return [word for word in by_rank if word.isascii() and word.isalpha() and len(word) > 2]
