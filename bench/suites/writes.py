"""Count the bytes that a save puts into the write-ahead log, by table.

Each row is a file that had 300 such saves before; without the model, so without vectors. A reader keeps the log from
being begun anew, so that every page that was committed is still in it. The last column names the tables that most
pages belong to, and how many of each a save writes.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from bench.internals.learning import as_fact
from bench.table import show
from robotmem_ros.memory import RobotMemory

_HEAD = ("save", "pages", "kB", "commits", "pages by table")
_LOG_HEAD, _FRAME_HEAD = 32, 24
_BEFORE, _SIMILAR_FACTS = 300, 2000
_TABLES = 12
_ADJECTIVES, _THINGS = ("red", "blue", "old", "heavy"), ("mug", "box", "cable", "drone", "crate")
Save = Callable[[RobotMemory, random.Random, int], object]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--saves", type=int, default=300, help="saves that are counted")


def run(options: argparse.Namespace) -> None:
    saves: dict[str, Save] = {
        "a perception": _save_perception,
        "a repeated sighting": _save_sighting,
        f"a fact among {_SIMILAR_FACTS:,} similar ones": _learn,
    }
    show(_HEAD, (_row(name, save, options.saves) for name, save in saves.items()))


def _row(name: str, save: Save, count: int) -> Sequence[str]:
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with RobotMemory(path, embedding_model="") as memory:
            if save is _learn:
                for stored in [memory.store(as_fact(_fact(draw, number))) for number in range(_SIMILAR_FACTS)]:
                    stored.result()
            for number in range(_BEFORE):
                save(memory, draw, _SIMILAR_FACTS + number)
            memory.flush()
            with closing(sqlite3.connect(path)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT 1 FROM memories").fetchone()
                first = len(_frames(path)[1])
                for number in range(count):
                    save(memory, draw, _SIMILAR_FACTS + _BEFORE + number)
                size, frames = _frames(path)
            with closing(sqlite3.connect(path)) as reader:
                tables = dict(reader.execute("SELECT pageno, name FROM dbstat"))
    pages = [page for page, _ in frames[first:]]
    commits = sum(1 for _, pages_of_file in frames[first:] if pages_of_file)
    counts = Counter(tables.get(page, "free") for page in pages).most_common(_TABLES)
    return (
        name, f"{len(pages) / count:.1f}", f"{len(pages) * size / count / 1e3:.1f}", f"{commits / count:.2f}",
        ", ".join(f"{table} {number / count:.1f}" for table, number in counts),
    )  # fmt: skip


def _frames(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Return the bytes of a frame, and of each its page and, if it ends a commit, the size of the file; else 0."""
    log = Path(f"{path}-wal").read_bytes()
    size = _FRAME_HEAD + struct.unpack_from(">I", log, 8)[0]
    salt = log[16:24]  # of the frames that are not from before the log was begun anew
    starts = range(_LOG_HEAD, len(log) - size + 1, size)
    return size, [struct.unpack_from(">II", log, start) for start in starts if log[start + 8 : start + 16] == salt]


def _save_perception(memory: RobotMemory, draw: random.Random, number: int) -> object:
    text = f"a {draw.choice(_ADJECTIVES)} {draw.choice(_THINGS)} {number} stood in room {draw.randrange(400)}"
    return memory.save_perception(text, context={"n": number}, pose=(draw.uniform(0, 99), draw.uniform(0, 99), 0.0))


def _save_sighting(memory: RobotMemory, draw: random.Random, _: int) -> object:
    return memory.save_perception("a mug", label="mug", confidence=0.8, pose=(draw.gauss(5, 0.01), 5.0, 1.0))


def _learn(memory: RobotMemory, draw: random.Random, number: int) -> object:
    return memory.learn(_fact(draw, number))


def _fact(draw: random.Random, number: int) -> str:
    thing = f"{draw.choice(_ADJECTIVES)} {draw.choice(_THINGS)}"
    return f"The gripper needs {draw.randrange(400)} N to hold the {thing} of room {number}"
