"""The results as one table, ours beside the peer's, in Markdown that reads well in a terminal too."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
from contextlib import suppress
from typing import NamedTuple

from bench.markdown import markdown
from bench.peer import REQUIREMENT
from bench.recall import EMPTY, IN_PROCESS, LEAST, NEAREST, PEER, SERVICE, Recalls
from bench.saves import Filled, SaveRates

_HEAD = ("", "in process", "through ROS", REQUIREMENT, "ours / robotmem")


class Results(NamedTuple):
    """All that was measured in one run."""

    memories: int
    ours: Filled
    theirs: Filled
    recalls: Recalls
    rates: SaveRates


def rows(results: Results) -> list[tuple[str, ...]]:
    """The rows of the table, without its head."""
    ours, theirs, recalls, rates = results.ours, results.theirs, results.recalls, results.rates
    topic = results.memories / ours.topic_seconds
    right = {name: series.right(recalls.nearest_questions) for name, series in recalls.nearest.items()}
    table = []
    for what, answers in (("recall", recalls.plain), ("recall with filter and spatial sort", recalls.conditional)):
        for name, of in (("p50", "median"), ("p95", "p95")):
            mine, served, peer = (getattr(answers[system], of)() for system in (IN_PROCESS, SERVICE, PEER))
            ratio = f"{mine / peer:.2f}, {served / peer:.2f}"
            table.append((f"{what}, {name}, ms", f"{mine:.1f}", f"{served:.1f}", f"{peer:.1f}", ratio))
    return [
        *table,
        (f"nearest is the true one, of {NEAREST}", *(str(right[name]) for name in (IN_PROCESS, SERVICE, PEER)), ""),
        ("perceptions saved a second", "", f"{topic:.0f}", f"{rates.peer_save:.0f}", f"{topic / rates.peer_save:.1f}"),
        (
            "facts learned a second, one by one",
            f"{rates.learn:.0f}",
            "",
            f"{rates.peer_learn:.0f}",
            f"{rates.learn / rates.peer_learn:.1f}",
        ),
        (
            "bytes on disk a memory",
            f"{ours.bytes_each:.0f}",
            "the same",
            f"{theirs.bytes_each:.0f}",
            f"{ours.bytes_each / theirs.bytes_each:.2f}",
        ),
        ("the service adds, median, ms", "", f"{recalls.adds(SERVICE):.2f}", "", ""),
        ("the same with filter and spatial sort, ms", "", f"{recalls.adds_conditional(SERVICE):.2f}", "", ""),
        ("the least service adds, median, ms", "", f"{recalls.adds(LEAST):.2f}", "", ""),
        ("the same with filter and spatial sort, ms", "", f"{recalls.adds_conditional(LEAST):.2f}", "", ""),
        ("an empty rclpy service, median, ms", "", f"{recalls.plain[EMPTY].median():.2f}", "", ""),
    ]


def notes(results: Results) -> list[str]:
    """How to read the table."""
    ours, theirs, recalls, rates = results.ours, results.theirs, results.recalls, results.rates
    count = len(recalls.conditional_questions)
    right = {
        name: recalls.conditional[name].right(recalls.conditional_questions) for name in (IN_PROCESS, SERVICE, PEER)
    }
    per_second = results.memories / ours.vector_seconds
    return [
        (
            f"Questions: {count} a row after a warm-up, in blocks that alternate between the systems; five answers. "
            "No text is asked twice, so every query is embedded. Times are the caller's; robotmem's within its process."
        ),
        (
            "Nearest: the true one comes from a scan over all memories; half of the questions have a filter too. Of "
            f"the {count} questions with filter and spatial sort, {right[IN_PROCESS]} (in process), {right[SERVICE]} "
            f"(through ROS) and {right[PEER]} (robotmem) first answers were the true ones."
        ),
        (
            f"Perceptions: ours through the topic into an empty database, {results.memories} committed after "
            f"{ours.topic_seconds:.1f} s; the node computes their vectors in the background and had all after "
            f"{ours.vector_seconds:.1f} s ({per_second:.0f} a second). robotmem's save_perception embeds within the "
            f"call ({rates.sample} calls, the world stored before)."
        ),
        (
            "Facts: one call after the other, the world stored before. Ours are on disk when the call returns "
            "(synchronous=full), classified, embedded and compared with those before; what repeats one of them "
            "strengthens it instead, as by default. robotmem's are embedded within the "
            "call (synchronous=normal), its search for similar memories switched off; as published, with that search, "
            f"learn() kept {rates.peer_published} of {rates.sample} further memories of this world."
        ),
        (
            "The world was loaded into robotmem by its learn(), that search off, with the vectors that our node had "
            "computed for the same texts by the same model; without the model that makes "
            f"{results.memories / theirs.topic_seconds:.0f} a second."
        ),
        (
            "The service adds: median, over the same questions, of the time through the service less that in process. "
            "Everybody is asked after a short pause, as by a planner: a process that has slept is slower than one that "
            "has not, and that of a service sleeps between two requests. The empty service is of the same type and "
            "gives back nothing; the least service calls the same recall in its callback and does nothing else."
        ),
    ]


def text(results: Results, command: str, when: str, load: str) -> str:
    """The whole page."""
    return "\n".join(
        [
            f"# {results.memories} memories beside {REQUIREMENT}",
            "",
            f"{when}, {os.cpu_count()} cores ({platform.machine()}), load average {load}, `{command}`. {_versions()}.",
            "",
            *markdown(_HEAD, rows(results)),
            "",
            *(f"- {note}" for note in notes(results)),
            "",
        ]
    )


def _versions() -> str:
    packages = {name: _version(name) for name in ("fastembed", "onnxruntime", "numpy", "rclpy")}
    found = [f"{name} {version}" for name, version in packages.items() if version]
    return ", ".join([f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}", *found])


def _version(package: str) -> str:
    # ROS wheels carry the distribution in their name.
    for name in (package, f"ros-kilted-{package}", f"ros-jazzy-{package}"):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return "unknown"
