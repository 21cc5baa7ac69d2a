"""Measure a peer on a site: fill it, then run the queries of every sort that it has."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.peers import environment
from bench.peers.channel import Peer
from bench.peers.robotmem_client import Robotmem
from bench.suites.scale.truth import Truth
from bench.worlds.house_queries import FIELD, Query
from bench.worlds.site import SiteMemory
from bench.worlds.site_queries import FEW_PERCENT, MEANING, NEAREST, NEAREST_TEXT, RARE, SORTS, TEXT_ONLY, WINDOW

_LABEL = "task.label"
"""Where robotmem has the label."""


_NOT_OF = {"emem": (FEW_PERCENT, RARE)}
"""Sorts that a store has no condition for."""


class _Reply(NamedTuple):
    seconds: float
    ids: list[int]
    rss: int = 0


def measure_peer(name: str, truth: Truth, options: argparse.Namespace) -> dict[str, Any]:
    """Measure a peer; if it is too slow, the result says so."""
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=options.cache) as work:
        create = _Robotmem if name == Robotmem.name else _VectorStore
        with closing(create(name, truth, Path(work), options)) as peer:
            result = _measure(peer, truth, options)
        result["disk"] = sum(file.stat().st_size for file in Path(work).rglob("store/**/*") if file.is_file())
    return result


class _VectorStore(Peer):
    """A store that searches vectors alone: the time to embed a query, by the same model but here, is added."""

    meaning: tuple[str, ...] = MEANING
    """The sorts with a recall@10."""

    def __init__(self, name: str, truth: Truth, work: Path, options: argparse.Namespace) -> None:
        self.sorts = tuple(sort for sort in SORTS if sort not in {TEXT_ONLY, NEAREST, *_NOT_OF.get(name, ())})
        self.count, self.vectors, self._truth = truth.size, truth.vectors, truth
        self.rows = _write(work / "rows.jsonl", map(_row, truth.memories()))
        (work / "store").mkdir()
        python = environment.of_vector_stores(options.environments)
        super().__init__(name.replace("-", "_"), python, options.cache / f"{name}.log", str(work / "store"))

    def query(self, sort: str, index: int) -> _Reply:
        query, vector = self._truth.queries[sort][index], self._truth.vectors_by_sort[sort][index]
        reply = _Reply(**self.call("query", query=query.json(), vector=vector.tolist()))
        return reply._replace(seconds=reply.seconds + self._truth.embedding_seconds[sort][index])


class _Robotmem(Robotmem):
    """The published robotmem, which embeds the queries itself and has none for a time or for a place alone."""

    sorts = tuple(sort for sort in SORTS if sort not in {TEXT_ONLY, NEAREST, WINDOW})
    meaning: tuple[str, ...] = ()

    def __init__(self, _: str, truth: Truth, work: Path, options: argparse.Namespace) -> None:
        self._queries, memories = truth.queries, truth.memories()
        # It keeps a text only once; the few that come twice here are left out.
        self._numbers = {memory.content: number for number, memory in reversed(list(enumerate(memories)))}
        numbers = sorted(self._numbers.values())
        self.count, self.rows = (
            len(numbers),
            _write(work / "rows.jsonl", (_columns(memories[number]) for number in numbers)),
        )
        self.vectors = work / "vectors.npy"
        np.save(self.vectors, np.load(truth.vectors, mmap_mode="r")[numbers])
        super().__init__(environment.of_robotmem(options.environments), work, options.model)
        (work / "store").mkdir()
        self.open(work / "store" / "peer.db")

    def query(self, sort: str, index: int) -> _Reply:
        query = self._queries[sort][index]
        place = {"field": FIELD, "target": [*query.target, 0.5]} if query.target else None
        conditions = query.arguments()["context_filter"] or {}
        conditions = {_LABEL if path == "label" else path: value for path, value in conditions.items()}
        result = self.recall(Query(query.text, conditions or None, place))
        return _Reply(result.seconds, [self._numbers[content] for content in result.contents])


def _measure(peer: _VectorStore | _Robotmem, truth: Truth, options: argparse.Namespace) -> dict[str, Any]:
    report = peer.load(peer.rows, peer.vectors, peer.count, options.cut_off)
    result: dict[str, Any] = {"saves_repeated": report.rows / report.seconds, "sorts": {}}
    if report.cut_off:
        return result | {"cut_off": f"{report.rows} stored in {report.seconds:.0f} s"}
    for sort in peer.sorts:
        replies, start = list[_Reply](), time.perf_counter()
        while len(replies) < len(truth.queries[sort]) and time.perf_counter() - start <= options.patience:
            replies.append(peer.query(sort, len(replies)))
        measures: dict[str, Any] = {"seconds": [reply.seconds for reply in replies]}
        if len(replies) < len(truth.queries[sort]):
            measures["cut_off"] = f"{len(replies)} queries in {options.patience:.0f} s"
        elif sort == NEAREST_TEXT:
            measures["right"] = truth.right_share(sort, [next(iter(reply.ids), None) for reply in replies])
        elif sort in peer.meaning:
            measures["recall"] = truth.recall_at_10(sort, [reply.ids for reply in replies])
        result["sorts"][sort] = measures
        if replies[-1].rss:
            result["rss"] = replies[-1].rss
    return result


def _row(memory: SiteMemory) -> dict[str, Any]:
    x, y = memory.position
    return {"robot": memory.robot, "task": memory.task, "label": memory.label, "stamp": memory.stamp, "x": x, "y": y}


def _columns(memory: SiteMemory) -> dict[str, Any]:
    # It has no labels and no poses but in the context, and its filter sees params, spatial, robot and task.
    context = json.loads(memory.context())
    context["task"] = {**context.get("task", {}), "label": memory.label}
    context["spatial"] = {"object_position": [*memory.position, 0.5]}
    return {"content": memory.content, "context": context}


def _write(file: Path, rows: Iterable[dict[str, Any]]) -> Path:
    with file.open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return file
