"""Compare with zvec, Qdrant Edge, LanceDB, eMEM, Chroma and sqlite-vec from 10,000 memories to a million.

All are queried in turns, each in a process: on a quiet machine, while another program takes a core, and beside eight
busy programs. Writes one table and one plot. Worlds are made from a seed and kept with our databases in a cache folder;
the peers are installed into a virtual environment. A peer that takes too long to be filled is cut off, and the table
says so.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from bench.internals.stages import load_model
from bench.load import cores_taken
from bench.options import add_environments, add_model, add_results
from bench.peers import environment
from bench.plot import plot
from bench.report import Report
from bench.suites.scale import page
from bench.suites.scale.systems import OURS, Ours, Reply, Store
from bench.suites.scale.truth import Truth
from bench.timing import run_in_turns
from bench.worlds.site import FEW_WORDS, TEMPLATED, VARIED, WORLDS, YEAR
from bench.worlds.site_queries import SORTS, WARM_UP

_OWN = next(iter(OURS))
_SYSTEMS = {
    VARIED: (_OWN, *environment.VECTOR_STORES), FEW_WORDS: (_OWN,), YEAR: tuple(OURS),
    TEMPLATED: (_OWN, *environment.WITH_WORDS),
}  # fmt: skip
_MILLION = 1_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    names = (*OURS, *environment.VECTOR_STORES)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="numbers of memories")
    parser.add_argument("--million", action="store_true", help="a million too: some hours, half of it only once")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS), help="worlds to measure in")
    parser.add_argument("--systems", nargs="+", choices=names, default=list(names), help="systems to measure")
    parser.add_argument("--queries", type=int, default=100, help="queries of each sort, quiet and with each load")
    parser.add_argument("--cut-off", type=float, default=300.0, help="seconds that a peer may take to be filled")
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
    report.write(page.title(results), page.tables(results), page.NOTES)
    if panels := page.panels(results):
        plot(panels, 3, report.file(".png"), python)


def _measure(world: str, size: int, options: argparse.Namespace) -> page.Result:
    names = [
        name for name in _SYSTEMS[world] if name in options.systems and (name in OURS or size <= options.peers_up_to)
    ]
    print(f"{size} memories, {world}", flush=True)
    with ExitStack() as stack:
        embedder = stack.enter_context(closing(load_model(options.model)))
        truth = Truth.of(world, size, options.queries, embedder, options)
        systems: dict[str, Ours | Store] = {}
        for name in names:
            print(f"  {name} is filled", flush=True)
            system = Ours(name, truth, options) if name in OURS else Store(name, truth, embedder, options)
            systems[name] = stack.enter_context(closing(system))
        for sort in SORTS[world]:
            print(f"  {sort}", flush=True)
            able = {name: system for name, system in systems.items() if system.has(sort)}
            for name, measures in _measure_sort(able, sort, truth, options.queries).items():
                systems[name].measures.setdefault("sorts", {})[sort] = measures
        for name, system in systems.items():
            print(f"  {name} at the end", flush=True)
            system.finish()
        return {"world": world, "size": size, "systems": {name: system.measures for name, system in systems.items()}}


def _measure_sort(systems: dict[str, Ours | Store], sort: str, truth: Truth, count: int) -> dict[str, dict[str, Any]]:
    queries = truth.queries[sort]
    calls = {name: system.query for name, system in systems.items()}
    run_in_turns(calls, queries[:WARM_UP])
    quiet: dict[str, list[Reply]] = run_in_turns(calls, queries[WARM_UP : WARM_UP + count])
    with cores_taken():
        loaded: dict[str, list[Reply]] = run_in_turns(calls, queries[WARM_UP + count : WARM_UP + 2 * count])
    with cores_taken(page.BUSY):
        crowded: dict[str, list[Reply]] = run_in_turns(calls, queries[WARM_UP + 2 * count :])
    return {
        name: {
            "quiet": [reply.seconds for reply in quiet[name]],
            "loaded": [reply.seconds for reply in loaded[name]],
            "crowded": [reply.seconds for reply in crowded[name]],
            "right": truth.right_share(sort, [reply.found for reply in quiet[name]]),
            "recall": truth.recall_at_10(sort, [system.nearest(query) for query in queries[WARM_UP : WARM_UP + count]])
            if sort in truth.vectors_by_sort
            else None,
            "rss": quiet[name][-1].rss,
        }
        for name, system in systems.items()
    }
