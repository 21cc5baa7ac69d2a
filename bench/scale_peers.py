"""The peers: their environment, and each in a process of its own, filled with a world and asked its questions."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import peer as robotmem
from bench.questions import FIELD, Question
from bench.scale_questions import NEAREST, NEAREST_TEXT, SORTS, TEXT_ONLY, WINDOW
from bench.scale_truth import MEANING, Truth
from bench.scale_world import ScaleMemory

PEERS = {"sqlite-vec": "sqlite-vec==0.1.9", "chroma": "chromadb==1.5.9", "lancedb": "lancedb==0.40.0"}
_OTHERS = ("numpy", "matplotlib")
_ADAPTER = Path(__file__).resolve().with_name("scale_peer.py")

_LABEL = "task.label"
"""Where robotmem has the label."""


class CutOffError(Exception):
    """A peer took too long."""


def prepare(folder: Path) -> Path:
    """The interpreter of the peers' environment, which is made first where it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making an environment for the peers in {folder}; once, some minutes", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    imports = "import sqlite_vec, chromadb, lancedb, matplotlib"
    if subprocess.run([python, "-c", imports], check=False, capture_output=True).returncode != 0:
        install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *PEERS.values(), *_OTHERS]
        subprocess.run(install, check=True)
    return python


def measure_peer(name: str, python: Path, truth: Truth, options: argparse.Namespace) -> dict[str, Any]:
    """Fills one peer with the world and asks it; where it is too slow, its result says so."""
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=options.cache) as folder:
        rows = Path(folder) / "rows.jsonl"
        rows.write_text("".join(json.dumps(_row(memory)) + "\n" for memory in truth.memories()))
        store = Path(folder) / "store"
        store.mkdir()
        with (
            (options.cache / f"{name}.log").open("w") as log,
            subprocess.Popen(
                [python, _ADAPTER, name, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            ) as child,
        ):
            load = {"do": "load", "vectors": str(truth.vectors), "rows": str(rows), "limit": options.cut_off}
            loaded = _call(child, load)
            result: dict[str, Any] = {"saves_repeated": loaded["stored"] / loaded["seconds"], "sorts": {}}
            if loaded["stored"] < truth.size:
                result["cut_off"] = f"{loaded['stored']} stored in {loaded['seconds']:.0f} s"
            else:
                result["sorts"] = {sort: _ask(child, truth, sort, options, result) for sort in SORTS if _can(sort)}
            assert child.stdin is not None
            child.stdin.close()
        result["disk"] = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    return result


def measure_robotmem(python: Path, model: Path, truth: Truth, options: argparse.Namespace) -> dict[str, Any]:
    """The same with the published robotmem, which embeds the questions itself."""
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=options.cache) as folder:
        peer = robotmem.Peer(python, Path(folder), model)
        try:
            rows, vectors = Path(folder) / "world.jsonl", Path(folder) / "vectors.npy"
            known = truth.memories()
            # It keeps a text only once; the few that come twice here are left out.
            numbers = {memory.content: number for number, memory in reversed(list(enumerate(known)))}
            chosen = sorted(numbers.values())
            rows.write_text("".join(json.dumps(_learned(known[number])) + "\n" for number in chosen))
            np.save(vectors, np.load(truth.vectors, mmap_mode="r")[chosen])
            peer.open(Path(folder) / "peer.db")
            seconds, kept = peer.load(rows, vectors, _deadline(options.cut_off))
            result: dict[str, Any] = {"saves_repeated": kept / seconds, "sorts": {}}
            for sort in SORTS:
                if sort not in (TEXT_ONLY, WINDOW, NEAREST):  # it has no such questions
                    result["sorts"][sort] = _ask_robotmem(peer, truth, sort, numbers, options)
        except CutOffError as error:
            return {"cut_off": str(error), "sorts": {}}
        finally:
            peer.end()
        result["disk"] = sum(file.stat().st_size for file in Path(folder).glob("peer.db*"))
    return result


def _deadline(limit: float) -> Callable[[int], None]:
    began = time.perf_counter()

    def check(stored: int) -> None:
        if time.perf_counter() - began > limit:
            raise CutOffError(f"{stored} stored in {limit:.0f} s")

    return check


def _ask_robotmem(
    peer: robotmem.Peer, truth: Truth, sort: str, numbers: dict[str, int], options: argparse.Namespace
) -> dict[str, Any]:
    seconds, first = [], list[int | None]()
    began = time.perf_counter()
    for question in truth.questions[sort]:
        given = question.recall()
        place = {"field": FIELD, "target": [*question.target, 0.5]} if question.target else None
        conditions = given["context_filter"] or {}
        seen = {_LABEL if path == "label" else path: value for path, value in conditions.items()}
        asked = Question(question.query, seen or None, place)
        answer = peer.ask(asked)
        seconds.append(answer.seconds)
        first.append(numbers.get(answer.contents[0]) if answer.contents else None)
        if time.perf_counter() - began > options.patience:
            return {"seconds": seconds, "cut_off": f"{len(seconds)} questions in {options.patience:.0f} s"}
    told: dict[str, Any] = {"seconds": seconds}
    if sort == NEAREST_TEXT:
        told["right"] = truth.right_share(sort, first)
    return told


def _learned(memory: ScaleMemory) -> dict[str, Any]:
    # It has no labels and no poses but those of the context, and a filter of it sees params, spatial, robot and task.
    context = json.loads(memory.context())
    context["task"] = {**context.get("task", {}), "label": memory.label}
    return {"content": memory.content, "context": context | {"spatial": {"object_position": [*memory.position, 0.5]}}}


def _can(sort: str) -> bool:
    # None of them has a search by words or by place alone in the form that is used here.
    return sort not in (TEXT_ONLY, NEAREST)


def _ask(
    child: subprocess.Popen[str], truth: Truth, sort: str, options: argparse.Namespace, result: dict[str, Any]
) -> dict[str, Any]:
    seconds, found = [], list[list[int]]()
    began = time.perf_counter()
    for question, vector, embedding in zip(
        truth.questions[sort], truth.embedded[sort], truth.embedding_seconds[sort], strict=True
    ):
        answer = _call(child, {"do": "ask", "question": question.json(), "vector": vector.tolist()})
        # Asked by the same model: what it took here counts, as in ours.
        seconds.append(answer["seconds"] + embedding)
        found.append(answer["found"])
        result["rss"] = answer["rss"]
        if time.perf_counter() - began > options.patience:
            return {"seconds": seconds, "cut_off": f"{len(seconds)} questions in {options.patience:.0f} s"}
    told: dict[str, Any] = {"seconds": seconds}
    if sort == NEAREST_TEXT:
        told["right"] = truth.right_share(sort, [rows[0] if rows else None for rows in found])
    if sort in MEANING:
        told["recall"] = truth.recall_at_10(sort, found)
    return told


def _row(memory: ScaleMemory) -> dict[str, Any]:
    return {
        "robot": memory.robot, "task": memory.task, "label": memory.label, "stamp": memory.stamp,
        "position": memory.position,
    }  # fmt: skip


def _call(child: subprocess.Popen[str], request: dict[str, Any]) -> dict[str, Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(request) + "\n")
    child.stdin.flush()
    answer: dict[str, Any] = json.loads(child.stdout.readline())
    return answer
