"""Measure our memory at one size: fill its database once, and start `bench.peers.ours` on it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from bench import ROOT
from bench.internals.database import SCHEMA_VERSION, fill, perception
from bench.suites.scale.truth import Truth
from bench.worlds.site import SiteMemory, memories, vectors
from bench.worlds.site_queries import NEAREST, NEAREST_TEXT
from robotmem_ros.memory import Pose

_BLOCK = 20_000


def measure_ours(truth: Truth, options: argparse.Namespace) -> dict[str, Any]:
    """Fill a database if the cache has none, measure it in another process, and judge what it found."""
    database = _filled(truth, options.cache)
    arguments = [truth.world, str(truth.size), str(options.queries), str(database), options.model]
    command = [sys.executable, "-m", "bench.peers.ours", *arguments]
    process = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    # Ids count from 1 in the order of the memories.
    for sort in (NEAREST, NEAREST_TEXT):
        result["sorts"][sort]["right"] = truth.right_share(sort, [key - 1 for key in result["sorts"][sort]["first"]])
    for sort, id_lists in result.pop("nearest_vectors").items():
        result["sorts"][sort]["recall"] = truth.recall_at_10(sort, [[key - 1 for key in ids] for ids in id_lists])
    return result


def _filled(truth: Truth, cache: Path) -> Path:
    folder = cache / f"{truth.world.replace(' ', '-')}-{truth.size}-v{SCHEMA_VERSION}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        source = map(_perception, memories(truth.parts, truth.size))
        blocks = ((list(islice(source, _BLOCK)), block) for block in vectors(truth.parts, truth.size, _BLOCK))
        fill(folder / "memory.db", blocks, truth.model)
        (folder / "done").touch()
    return folder / "memory.db"


def _perception(memory: SiteMemory) -> Any:
    return perception(
        memory.content, int(memory.stamp * 1e9), context=memory.context(), pose=Pose(*memory.position, 0.5),
        perception_type="visual", label=memory.label,
    )  # fmt: skip
