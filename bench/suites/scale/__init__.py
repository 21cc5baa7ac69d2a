"""Compare with sqlite-vec, Chroma, LanceDB, eMEM and robotmem from 10,000 memories to a million.

Writes one table and one plot. Worlds are made from a seed and kept with our databases in a cache folder; the peers are
installed into virtual environments of their own. A peer that takes too long is cut off, and the table says so.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.internals.stages import load_model
from bench.options import add_environments, add_model, add_results
from bench.peers import environment
from bench.peers.robotmem_client import Robotmem
from bench.plot import plot
from bench.report import Report
from bench.suites.scale import page
from bench.suites.scale.ours import measure_ours
from bench.suites.scale.peers import measure_peer
from bench.suites.scale.truth import Truth
from bench.worlds.site import VARIED, WORLDS

OWN_NAME = "ours"
SYSTEMS = (OWN_NAME, *environment.VECTOR_STORES, Robotmem.name)
_MILLION = 1_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="numbers of memories")
    parser.add_argument("--million", action="store_true", help="a million too: an hour, half of it only once")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS), help="worlds to measure in")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="systems to measure")
    parser.add_argument("--go-on", action="store_true", help="keep what earlier runs measured, add what is missing")
    parser.add_argument("--queries", type=int, default=100, help="queries of each sort")
    parser.add_argument("--cut-off", type=float, default=300.0, help="seconds that a peer may take to be filled")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds that a peer may take for one sort")
    parser.add_argument("--peers-up-to", type=int, default=_MILLION, help="largest size that peers are measured at")
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/robotmem-bench").expanduser(), help="cache folder")
    add_model(parser)
    add_environments(parser)
    add_results(parser)


def run(options: argparse.Namespace) -> None:
    sizes = sorted({*options.sizes, *([_MILLION] if options.million else [])})
    python = environment.of_vector_stores(options.environments)
    report = Report(options.results, "scale")
    results = [_measure(world, size, options) for world in options.worlds for size in sizes]
    report.write(page.title(results), page.table(results), page.NOTES)
    plot(page.panels(results), 3, report.file(".png"), python)


def _measure(world: str, size: int, options: argparse.Namespace) -> page.Result:
    file = options.cache / "results" / f"{world.replace(' ', '-')}-{size}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    systems: dict[str, Any] = json.loads(file.read_text()) if options.go_on and file.exists() else {}
    systems_left = [
        name for name in options.systems if name not in systems and _is_measured(name, world, size, options)
    ]
    if systems_left:
        print(f"{size} memories, {world}: {', '.join(systems_left)}", flush=True)
        with closing(load_model(options.model)) as embedder:
            truth = Truth.of(world, size, options.queries, embedder, options)
        for name in systems_left:
            print(f"  {name}", flush=True)
            systems[name] = measure_ours(truth, options) if name == OWN_NAME else measure_peer(name, truth, options)
            file.write_text(json.dumps(systems))
    return {"world": world, "size": size, "systems": {name: systems[name] for name in SYSTEMS if name in systems}}


def _is_measured(name: str, world: str, size: int, options: argparse.Namespace) -> bool:
    return name == OWN_NAME or (world == VARIED and size <= options.peers_up_to)
