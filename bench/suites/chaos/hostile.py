"""Storms of hostile input: rows of an export that no memory ever wrote, and files of every kind that are damaged."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import ROOT
from robotmem_ros.cli.main import main as run_command
from robotmem_ros.memory import RobotMemory

from .crew import PATIENCE
from .ledger import Result

VALUES: tuple[object, ...] = (
    None, "", "x", "active", "vxx", "1e999", "\ud800", "\0", "0" * 5000, True, False, 0, -1, 1, 2**31, 2**63 - 1,
    -(2**63), 2**64, 10**400, 0.5, -0.0, 5.0, 1e-320, 1e308, float("nan"), float("inf"), float("-inf"), [], [[]],
    [None], ["x", 1], {}, {"a": {"b": []}}, {"": 0}, "2026-13-45", "0001-01-01T00:00:00+00:00",
    "9999-12-31T23:59:59.999999+00:00",
)  # fmt: skip
"""Values that fields of rows are given."""
_MAP = """\
image: map.pgm
resolution: 0.05
origin: [-1.0, -2.0, 0.0]
occupied_thresh: 0.65
free_thresh: 0.25
negate: 0
"""
_NOTE = """\
# Rules

The *stairs* are closed.

## Charging

- at bay 7
- `never` at night

| a | b |
|---|---|
| 1 | 2 |
"""
_PARAMETERS = """\
/**:
  ros__parameters:
    collection: site
    memory_frame: map
    min_relevance: 0.2
"""


def rows(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Import exports of which one field of one row is hostile; what was stored must not keep anything from working."""
    result = Result()
    make_memory(folder / "good.db")
    _run("export", folder / "good.jsonl", "--db", folder / "good.db")
    lines = (folder / "good.jsonl").read_text().splitlines()
    with _reader(result) as ask:
        for number in result.repeat(seconds):
            export, database = folder / f"{number}.jsonl", folder / f"{number}.db"
            changed = list(lines)
            index = chance.randrange(len(lines))
            row = json.loads(lines[index])
            what = poison(row, chance)
            changed[index] = json.dumps(row)
            export.write_text("\n".join(changed) + "\n")
            ask([["import", str(export), "--db", str(database)]], [database], what)
            for file in (export, *folder.glob(f"{database.name}*")):
                file.unlink()
    return result


def poison(row: dict[str, Any], chance: random.Random) -> str:
    """Give one field of a row, at any depth, a hostile value, or take it away; return what was done."""
    places = list(_places(row))
    holder, key = chance.choice(places)
    if chance.random() < 0.1:
        del holder[key]
        return f"without {key!r}"
    holder[key] = chance.choice(VALUES)
    return f"{key!r}: {str(holder[key])[:40]!r} in a row {row.get('unit', '')!r}"


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def files(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Damage files of every kind at random, and give them to the commands that read them."""
    result = Result()
    kinds = _make_files(folder / "good")
    with _reader(result) as ask:
        for number in result.repeat(seconds):
            kind = chance.choice(sorted(kinds))
            work = folder / str(number)
            shutil.copytree(folder / "good", work)
            damaged, commands = kinds[kind](work)
            what = _damage(damaged, chance)
            # Notes are read beside a memory; whatever else is damaged may be refused.
            ask(commands, [work / "memory.db"] if kind == "note" else [], f"{kind}: {what}")
            shutil.rmtree(work)
    return result


def _damage(file: Path, chance: random.Random) -> str:
    """Flip bits, overwrite, cut, insert or empty; return what was done."""
    data = bytearray(file.read_bytes())
    act = chance.choice(("flip", "overwrite", "cut", "insert", "empty", "swap"))
    at = chance.randrange(len(data))
    if act == "flip":
        for _ in range(chance.choice((1, 4, 64))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif act == "overwrite":
        length = chance.choice((1, 16, 4096))
        data[at : at + length] = chance.choice((bytes(length), b"\xff" * length, chance.randbytes(length)))
    elif act == "cut":
        del data[at:]
    elif act == "insert":
        data[at:at] = chance.randbytes(chance.choice((1, 100, 5000)))
    elif act == "swap":
        half = len(data) // 2
        data = data[half:] + data[:half]
    else:
        data.clear()
    file.write_bytes(data)
    return f"{act} at {at}"


_Kind = Callable[[Path], tuple[Path, list[list[str]]]]
"""From a folder with good files to the one that is damaged, and the commands that read it."""


def _make_files(folder: Path) -> dict[str, _Kind]:
    """Write a good file of each kind."""
    folder.mkdir()
    make_memory(folder / "memory.db")
    _run("export", folder / "export.jsonl", "--db", folder / "memory.db")
    (folder / "map.yaml").write_text(_MAP)
    (folder / "map.pgm").write_bytes(b"P5\n40 30\n255\n" + bytes(range(240)) * 5)
    (folder / "notes").mkdir()
    (folder / "notes" / "rules.md").write_text(_NOTE)
    (folder / "parameters.yaml").write_text(_PARAMETERS)
    subprocess.run(
        [sys.executable, ROOT / "demo" / "record_patrol.py", folder / "bag"], check=True, capture_output=True
    )
    (bag,) = (folder / "bag").glob("*.mcap")
    shutil.copy(ROOT / "demo" / "patrol.yaml", folder / "patrol.yaml")

    def commands(work: Path, name: str, *lines: str) -> tuple[Path, list[list[str]]]:
        places = {"db": str(work / "memory.db"), "new": str(work / "new.db"), "at": str(work)}
        return work / name, [[word.format(**places) for word in line.split()] for line in lines]

    asked = "recall red_box --no-model --db {db}", "doctor --fix --no-model --db {db}", "status --db {db}"
    return {
        "database": lambda work: commands(work, "memory.db", *asked, "export {at}/all.jsonl --db {db}"),
        "export": lambda work: commands(work, "export.jsonl", "import {at}/export.jsonl --db {new}"),
        "map": lambda work: commands(work, "map.yaml", "map import {at}/map.yaml --db {new}"),
        "image": lambda work: commands(work, "map.pgm", "map import {at}/map.yaml --db {new}"),
        "note": lambda work: commands(work, "notes/rules.md"),
        "parameters": lambda work: commands(
            work, "parameters.yaml", "recall red_box --no-model --config {at}/parameters.yaml --db {db}"
        ),
        "recording": lambda work: commands(
            work, f"bag/{bag.name}", "replay {at}/bag --config {at}/patrol.yaml --no-model --duration 20 --db {new}"
        ),
        "metadata": lambda work: commands(
            work, "bag/metadata.yaml",
            "replay {at}/bag --config {at}/patrol.yaml --no-model --duration 20 --db {new}",
        ),
    }  # fmt: skip


def make_memory(path: Path) -> None:
    """Store a memory of each kind, with sightings, history, tags, sessions and an object."""
    with RobotMemory(path, embedding_model="") as memory:
        session = memory.start_session({"task": {"name": "tidy"}}).session_id
        fact = memory.learn("a grip force of 12.5 N holds a glass", {"task": {"success": True}}, session_id=session)
        memory.learn("a grip force of 3 N drops a glass", {"task": {"success": False}}, session_id=session)
        for _ in range(4):
            lamp = memory.save_perception("a lamp", label="lamp", pose=(1, 2, 0), data=b"\x89PNG", metadata={"a": 1})
        memory.save_perception("a red box", pose=(3, 4, 0, 0, 0, 0, 1), context={"spatial": {"target": [1, 2, 3]}})
        memory.update(lamp.memory_id, add_tags=["x"])
        memory.update(fact.memory_id, confidence=0.7)
        memory.end_session(session, 0.5)
        memory.forget(memory.save_perception("a shadow").memory_id, "it was none")


def _run(*arguments: object) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        is_refused = run_command(list(map(str, arguments)))
    if is_refused:
        raise AssertionError(f"robotmem {arguments} failed on what is good")


Ask = Callable[[list[list[str]], list[Path], str], None]


@contextmanager
def _reader(result: Result) -> Iterator[Ask]:
    """Give a function that runs commands in a process of its own, and counts how they end."""
    process = _start()

    def ask(commands: list[list[str]], read: list[Path], what: str) -> None:
        nonlocal process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"commands": commands, "read": list(map(str, read))}) + "\n")
        process.stdin.flush()
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        text = process.stdout.readline()
        is_late = not timer.is_alive()
        timer.cancel()
        if text.startswith("raw"):
            result.raw += 1
            result.complain(f"{what}: {text}")
        elif not text:
            result.hangs += is_late
            result.raw += not is_late
            result.complain(f"{what}: {'no answer' if is_late else 'the process ended'}")
            _end(process)
            process = _start()
        else:
            result.acknowledged += text == "ok\n"

    try:
        yield ask
    finally:
        _end(process)


def _start() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.suites.chaos.reader"]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
