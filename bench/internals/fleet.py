"""Measure how a fleet answers and keeps up, with what has no public interface."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import numpy as np

from bench.table import show
from bench.timing import run_in_turns
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.batches import apply
from robotmem_ros.fleet.connection import Connection, connect, open_database
from robotmem_ros.fleet.push import Follower, Push
from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import Batch
from robotmem_ros.memory.embedding import Vector, Vectors

_THINGS = ("mug", "box", "cable", "drone", "crate", "lamp", "shelf", "door", "chair", "plant", "book", "pan")
_ADJECTIVES = ("red", "blue", "green", "old", "heavy", "small", "wet", "broken", "new", "empty")
_ROOMS = 400
_DAY = 24 * 3600 * 10**9
_DIMENSIONS = 384
_PATIENCE = 60.0
_SIZES = "SELECT pg_total_relation_size('robotmem.memories'), pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
Ask = Callable[[random.Random], dict[str, object]]


class _Words:
    """An embedding of texts by their words, each of which has a direction of its own."""

    dim = _DIMENSIONS
    name = "words"
    batch = 64
    available = True

    def embed_one(self, text: str) -> Vector:
        vector = sum((self._direction(word) for word in text.split()), np.zeros(self.dim))
        return np.asarray(vector / (np.linalg.norm(vector) or 1.0), np.float32)

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_one(text) for text in texts])

    def close(self) -> None:
        """Do nothing."""

    def _direction(self, word: str) -> np.ndarray:
        return np.random.default_rng(hash(word) % 2**32).standard_normal(self.dim)


@contextmanager
def running_fleet(url: str) -> Iterator[str]:
    """Make a fleet in an empty database, or in one of a server that runs for the time of the block."""
    with nullcontext(url) if url else _server() as database:
        with closing(open_database(database)) as connection:
            administration.initialize(connection)
        yield database


@contextmanager
def _server() -> Iterator[str]:
    from demo.postgres import server

    with server() as running:
        yield running.url("postgres")


def _as(url: str, role: str) -> str:
    # The server trusts whoever reaches its socket.
    return url.replace("//postgres@", f"//{role}@")


def measure_pushes(options: argparse.Namespace, url: str, folder: Path) -> None:
    """Show how long after it was made what many robots push is stored."""
    with RobotMemory(folder / "template.db", embedding_model="") as memory:
        draw = random.Random(1)
        memory.save_many([_perception(draw, number) for number in range(options.rate)])
        batch = memory.changes_since(n=options.rate)
    assert batch is not None
    with closing(connect(url)) as connection:
        roles = [administration.add_robot(connection, f"r{n}", folder / f"r{n}") for n in range(options.robots)]
    start = time.time() + 2.0
    work = partial(_push, url=url, template=batch, start=start, seconds=options.seconds)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        shares = [range(first, len(roles), options.processes) for first in range(options.processes)]
        parts = pool.map(work, shares)
    lags = sorted(lag for part in parts for lag in part)
    total = options.robots * options.rate
    # The last tenth, since one slow second is no backlog that grows.
    last = sorted(lag for part in parts for lag in part[-len(part) // 10 :])
    kept_up = "yes" if _part(last, 0.5) < 1.0 else "no"
    head = ("robots", "memories a second", "lag p50", "p95", "most", "kept up")
    show(
        head,
        [(str(options.robots), str(total), *(f"{1e3 * _part(lags, at):.0f} ms" for at in (0.5, 0.95, 1)), kept_up)],
    )


def _push(robots: Sequence[int], url: str, template: Batch, start: float, seconds: int) -> list[float]:
    lags = []
    with closing(connect(url)) as connection:
        for second in range(1, seconds + 1):
            time.sleep(max(0.0, start + second - time.time()))
            for robot in robots:
                rows = tuple({**row, "uuid": uuid4().hex, "revision": second} for row in template.rows)
                with connection.transaction():
                    apply(connection, robot + 1, replace(template, rows=rows), "*")
                lags.append(time.time() - start - second)
    return lags


def measure_recalls(options: argparse.Namespace, url: str, folder: Path) -> None:
    """Show how a robot catches up, and how long recalls of its file and of the fleet take."""
    with closing(connect(url)) as connection:
        own = _as(url, administration.add_robot(connection, "asked", folder / "asked"))
    draw = random.Random(2)
    with open_memory(folder / "asked.db", fleet_url=own, embedder=_Words(), recall_log=0) as memory:
        for first in range(0, options.memories, 5000):
            size = min(5000, options.memories - first)
            memory.save_many([_perception(draw, first + number) for number in range(size)])
        memory.flush()
        with closing(Push(memory, own)) as push, closing(connect(url)) as connection:
            _show_catch_up(push, connection, options.memories)
            connection.execute("VACUUM ANALYZE robotmem.memories")
        head = ("recall, in ms", "file p50", "p95", "fleet p50", "p95")
        show(head, [_row(memory, name, ask, options) for name, ask in _KINDS.items()])


def _show_catch_up(push: Push, connection: Connection, number: int) -> None:
    rows: list[tuple[str, float, int, int]] = []
    begin, before = time.perf_counter(), _sizes(connection)

    def add(name: str) -> None:
        seconds = time.perf_counter() - begin
        size, log = _sizes(connection)
        rows.append((name, seconds, size - before[0], log - before[1]))

    for _ in push.pieces():
        if not push.backlog and not rows:
            add("memories")
    add("and vectors")
    head = (f"catching up with {number:,}", "seconds", "memories a second", "bytes of each", "in the log")
    show(
        head,
        [
            (name, f"{seconds:.1f}", f"{number / seconds:,.0f}", f"{size / number:,.0f}", f"{log / number:,.0f}")
            for name, seconds, size, log in rows
        ],
    )


def _sizes(connection: Connection) -> tuple[int, int]:
    """Return the bytes of all memories with their indexes, and those that were written to the write-ahead log."""
    row = connection.execute(_SIZES).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def measure_robot(options: argparse.Namespace, url: str, folder: Path) -> None:
    """Show how long saves and recalls of a robot take while a fleet follows it, and without one."""
    with closing(connect(url)) as connection:
        own = _as(url, administration.add_robot(connection, "followed", folder / "followed"))
    with ExitStack() as stack:
        calls: dict[str, Callable[[int], tuple[float, float]]] = {}
        for name in ("without a fleet", "with a fleet"):
            memory = stack.enter_context(RobotMemory(folder / f"{name}.db", embedder=_Words(), recall_log=0))
            draw = random.Random(4)
            memory.save_many([_perception(draw, number) for number in range(1000)])
            memory.flush()
            calls[name] = partial(_save_and_recall, memory, draw)
        with closing(Push(memory, own)) as push:
            list(push.pieces())
        stack.enter_context(closing(Follower(memory, own)))
        times = run_in_turns(calls, range(options.saves))
    rows = []
    for name, pairs in times.items():
        columns = [sorted(column) for column in zip(*pairs, strict=True)]
        rows.append((name, *(f"{1e3 * _part(column, at):.1f}" for column in columns for at in (0.5, 0.95))))
    show(("a robot, in ms", "save p50", "p95", "recall p50", "p95"), rows)


def _save_and_recall(memory: RobotMemory, draw: random.Random, number: int) -> tuple[float, float]:
    begin = time.perf_counter()
    memory.save_perception(**_perception(draw, 1000 + number))  # type: ignore[arg-type]
    between = time.perf_counter()
    memory.recall(_text(draw), count_usage=False)
    return between - begin, time.perf_counter() - between


def _row(memory: RobotMemory, name: str, ask: Ask, options: argparse.Namespace) -> tuple[str, ...]:
    draw = random.Random(3)
    questions = [ask(draw) for _ in range(options.queries)]
    calls = {scope: partial(_seconds, memory, scope) for scope in ("robot", "fleet")}
    for call in calls.values():
        call(questions[0])
    times = run_in_turns(calls, questions)
    cells = [f"{1e3 * _part(sorted(times[scope]), at):.1f}" for scope in calls for at in (0.5, 0.95)]
    return name, *cells


def _seconds(memory: RobotMemory, scope: str, question: dict[str, object]) -> float:
    begin = time.perf_counter()
    result = memory.recall(scope=scope, deadline=_PATIENCE, count_usage=False, fold=False, **question)  # type: ignore[arg-type]
    seconds = time.perf_counter() - begin
    assert "what the robot knows" not in result.reason, result.reason
    return seconds


def _perception(draw: random.Random, number: int) -> dict[str, object]:
    label = draw.choice(_THINGS)
    return {
        "description": f"a {draw.choice(_ADJECTIVES)} {label} {number} in room {draw.randrange(_ROOMS)}",
        "label": label, "as_object": False, "pose": (draw.uniform(0, 100), draw.uniform(0, 100), 0.0),
        "context": {"task": {"lot": number % 100}}, "observed_at": 10**18 + draw.randrange(30 * _DAY),
    }  # fmt: skip


def _text(draw: random.Random) -> str:
    return f"{draw.choice(_ADJECTIVES)} {draw.choice(_THINGS)} room {draw.randrange(_ROOMS)}"


def _window(draw: random.Random) -> dict[str, object]:
    after = 10**18 + draw.randrange(29 * _DAY)
    return {"query": _text(draw), "after": after, "before": after + _DAY}


_KINDS: dict[str, Ask] = {
    "words": lambda draw: {"query": _text(draw)},
    "words, a filter that keeps 1 %": lambda draw: {
        "query": _text(draw), "context_filter": {"task.lot": draw.randrange(100)}
    },
    "words, a day of 30": _window,
    "nearest with a label": lambda draw: {
        "spatial_sort": (draw.uniform(0, 100), draw.uniform(0, 100)), "labels": draw.choice(_THINGS)
    },
}  # fmt: skip


def _part(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]
