"""Fill the systems with a site, and query them: ours, and the stores of other environments."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bench.internals.database import SCHEMA_VERSION, fill, perception
from bench.internals.stages import Embedder, query_vector
from bench.peers import environment
from bench.peers.channel import Peer
from bench.suites.scale.truth import Truth
from bench.worlds.site import YEAR, SiteMemory, memories, period, vectors
from bench.worlds.site_queries import FEW_PERCENT, NEAREST, RARE, SiteQuery
from robotmem_ros.memory import Pose

OURS = {"ours": 0.0, "ours, a third fresh": 0.01, "ours, all faded": 0.9}
"""Our systems with their rates of decay.

The memories of a year are on 365 lived days, and the run is on the next: with 0.01 a memory fades after 109.
"""
_BLOCK = 20_000
_NOT_OF = {"emem": (FEW_PERCENT, RARE)}
"""Sorts that a store has no condition for."""


class Reply(NamedTuple):
    """Seconds that a query took, the rows that it found, best first, and the RAM of the process."""

    seconds: float
    found: list[int]
    rss: int = 0


class Ours(Peer):
    """Our memory, which embeds the queries itself."""

    def __init__(self, name: str, truth: Truth, options: argparse.Namespace) -> None:
        database = _filled(truth, options.cache)
        path = os.environ.get("PYTHONPATH", "")
        super().__init__(
            "ours", Path(sys.executable), options.cache / f"{name}.log",
            str(database), options.model, str(OURS[name]), PYTHONPATH=path,
        )  # fmt: skip
        self._truth, self._count = truth, options.queries
        self.measures: dict[str, Any] = self.call("start")

    def has(self, sort: str) -> bool:
        """Tell whether there is such a query."""
        return bool(sort)

    def query(self, query: SiteQuery) -> Reply:
        """Run a query."""
        reply = Reply(**self.call("query", query=query.json()))
        return reply._replace(found=_rows(reply.found))

    def nearest(self, query: SiteQuery) -> list[int]:
        """Search the vectors alone."""
        return _rows(self.call("nearest", query=query.json()))

    def finish(self) -> None:
        """Measure saves."""
        if self._truth.world != YEAR:
            self.measures |= self.call("saves", world=self._truth.world, size=self._truth.size, count=self._count)


class Store(Peer):
    """Another store: the time to embed a query, by the same model but here, is added."""

    def __init__(self, name: str, truth: Truth, embedder: Embedder, options: argparse.Namespace) -> None:
        self._name, self._embedder = name, embedder
        self._work = tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=options.cache)
        folder = Path(self._work.name)
        rows = folder / "rows.jsonl"
        with rows.open("w") as lines:
            lines.writelines(json.dumps(_row(memory)) + "\n" for memory in truth.memories())
        self._folder = folder / "store"
        self._folder.mkdir()
        python = environment.of_vector_stores(options.environments)
        log = options.cache / f"{name}.log"
        super().__init__(name.replace("-", "_"), python, log, str(self._folder), LANCEDB_LOG="error")
        report = self.load(rows, truth.vectors, truth.size, options.cut_off)
        self.measures: dict[str, Any] = {}
        if report.cut_off:
            self.measures["cut_off"] = f"{report.rows} stored in {report.seconds:.0f} s"
        else:
            self.measures["saved"] = report.rows / (report.seconds + self.call("finish"))

    def has(self, sort: str) -> bool:
        """Tell whether the store has a condition for a sort, and was filled."""
        return "cut_off" not in self.measures and sort not in {NEAREST, *_NOT_OF.get(self._name, ())}

    def query(self, query: SiteQuery) -> Reply:
        """Embed and run a query."""
        start = time.perf_counter()
        vector = query_vector(self._embedder, query.text)
        embedding = time.perf_counter() - start
        reply = Reply(**self.call("query", query=query.json(), vector=vector.tolist()))
        return reply._replace(seconds=reply.seconds + embedding)

    def nearest(self, query: SiteQuery) -> list[int]:
        """Search the vectors alone."""
        vector = query_vector(self._embedder, query.text)
        found: list[int] = self.call("nearest", query=query.json(), vector=vector.tolist())
        return found

    def finish(self) -> None:
        """Measure the files."""
        self.measures["disk"] = sum(file.stat().st_blocks * 512 for file in self._folder.rglob("*"))

    def close(self) -> None:
        """End the process and delete its files."""
        super().close()
        self._work.cleanup()


def _rows(ids: list[int]) -> list[int]:
    # Ids count from 1 in the order of the memories.
    return [key - 1 for key in ids]


def _row(memory: SiteMemory) -> dict[str, Any]:
    x, y = memory.position
    return {
        "text": memory.content, "robot": memory.robot, "task": memory.task, "label": memory.label,
        "stamp": memory.stamp, "x": x, "y": y,
    }  # fmt: skip


def _filled(truth: Truth, cache: Path) -> Path:
    folder = cache / f"{truth.world.replace(' ', '-')}-{truth.size}-{truth.model}-v{SCHEMA_VERSION}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        block = -(-truth.size // 365) if truth.world == YEAR else _BLOCK
        source = map(_perception, memories(truth.parts, truth.size, period(truth.world, truth.size)))
        blocks = ((list(islice(source, block)), rows) for rows in vectors(truth.parts, truth.size, block))
        fill(folder / "memory.db", blocks, truth.identity)
        (folder / "done").touch()
    return folder / "memory.db"


def _perception(memory: SiteMemory) -> Any:
    return perception(
        memory.content, int(memory.stamp * 1e9), context=memory.context(), pose=Pose(*memory.position, 0.5),
        perception_type="visual", label=memory.label,
    )  # fmt: skip
