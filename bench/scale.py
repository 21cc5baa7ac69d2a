"""The benchmark of size: ours beside robotmem, sqlite-vec, Chroma and LanceDB, from ten thousand memories to a million.

    python3 bench/scale.py [--sizes 10000 100000] [--million]

One run writes one table and one plot. The worlds are made from a seed and kept with our databases in a cache folder;
the peers are installed into an environment of their own. A peer that takes too long is cut off, and shown so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

# The benchmark is a package, and it measures the source beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import peer as robotmem
from bench import scale_table
from bench.measure import load
from bench.scale_database import filled
from bench.scale_peers import PEERS, measure_peer, measure_robotmem, prepare
from bench.scale_truth import Truth
from bench.scale_world import VARIED, WORLDS, parts
from robotmem_ros.memory.database.migrations import MIGRATIONS
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder

ROOT = Path(__file__).resolve().parent.parent
OURS = "ours"
SYSTEMS = (OURS, *PEERS, robotmem.REQUIREMENT)
_MILLION = 1_000_000


def main() -> int:
    """Measures and writes the table and the plot."""
    options = _options()
    model = Path(os.environ.get("ROBOTMEM_MODEL", "")).expanduser()
    if not (model / "config.json").is_file():
        print("bench: ROBOTMEM_MODEL names no folder of a model; run `make bench`", file=sys.stderr)
        return 1
    sizes = sorted({*options.sizes, *([_MILLION] if options.million else [])})
    python = prepare(options.environments / "scale")
    when, before = datetime.now(timezone.utc), load()
    results = [_measure(world, size, options, model, python) for world in options.worlds for size in sizes]
    stem = options.results / f"{when:%Y-%m-%d}-scale"
    stem.parent.mkdir(parents=True, exist_ok=True)
    run = {"when": f"{when:%Y-%m-%d %H:%M} UTC", "load": f"{before} before, {load()} after", "results": results}
    page = scale_table.page(run)
    stem.with_suffix(".md").write_text(page)
    stem.with_suffix(".json").write_text(json.dumps(scale_table.points(run)))
    subprocess.run(
        [python, ROOT / "bench" / "scale_plot.py", stem.with_suffix(".json"), stem.with_suffix(".png")], check=True
    )
    stem.with_suffix(".json").unlink()
    print(f"\n{page}\nwritten to {stem}.md and {stem}.png")
    return 0


def _measure(world: str, size: int, options: argparse.Namespace, model: Path, python: Path) -> dict[str, Any]:
    parts_file = options.cache / "results" / f"{world.replace(' ', '-')}-{size}.json"
    systems: dict[str, Any] = json.loads(parts_file.read_text()) if options.go_on and parts_file.exists() else {}
    wanted = [name for name in options.systems if name not in systems and _is_asked(name, world, size, options)]
    if wanted:
        print(f"{size} memories, {world}: {', '.join(wanted)}", flush=True)
        embedder = FastEmbedEmbedder(str(model))
        pieces = parts(world, model / "tokenizer.json", embedder, options.cache)
        folder = options.cache / f"{world.replace(' ', '-')}-{size}-v{len(MIGRATIONS)}"
        database = filled(folder, pieces, size, embedder.name)
        truth = Truth.of(pieces, world, size, count=options.questions, embedder=embedder, cache=options.cache)
        embedder.close()
        for name in wanted:
            print(f"  {name}", flush=True)
            if name == OURS:
                systems[name] = truth.judged(_ours(world, size, options.questions, database, model))
            elif name == robotmem.REQUIREMENT:
                there = robotmem.prepare(options.environments / robotmem.REQUIREMENT.replace("==", "-"))
                systems[name] = measure_robotmem(there, model, truth, options)
            else:
                systems[name] = measure_peer(name, python, truth, options)
            parts_file.parent.mkdir(parents=True, exist_ok=True)
            parts_file.write_text(json.dumps(systems))
    in_order = {name: systems[name] for name in SYSTEMS if name in systems}
    return {"world": world, "size": size, "systems": in_order}


def _is_asked(name: str, world: str, size: int, options: argparse.Namespace) -> bool:
    return name == OURS or (world == VARIED and size <= options.peers_up_to)


def _ours(world: str, size: int, questions: int, database: Path, model: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.scale_ours", world, str(size), str(questions), str(database), str(model)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures ours beside other stores at several sizes.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="numbers of memories")
    parser.add_argument("--million", action="store_true", help="a million too: an hour, half of it only once")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS), help="both by default")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="all by default")
    parser.add_argument("--go-on", action="store_true", help="keep what runs before have measured, add what is missing")
    parser.add_argument("--questions", type=int, default=100, help="questions of each sort (100)")
    parser.add_argument("--cut-off", type=float, default=300.0, help="seconds that a peer may take to be filled (300)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds a peer may take for one sort (60)")
    parser.add_argument(
        "--peers-up-to", type=int, default=_MILLION, help="largest size that peers are asked for (1000000)"
    )
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/robotmem-bench").expanduser())
    parser.add_argument(
        "--environments", type=Path, default=robotmem.DEFAULT_ENVIRONMENT.expanduser().parent,
        help="folder of the peers' virtual environments, made where they are missing",
    )  # fmt: skip
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", help="where table and plot go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
