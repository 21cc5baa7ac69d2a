"""Hurt a memory in every way, and count what is lost, found again after a purge, hangs, or ends in a raw exception.

Workers save, learn, correct, forget, purge, recall and retain, and say what was acknowledged. Afterwards the file is
compared with that: by SQLite alone, and byte for byte for what was purged. Every count but those of rounds,
acknowledged changes and purges should be 0. The same seed draws the same acts; what meets what is up to the machine.
"""

from __future__ import annotations

import argparse
import logging
import random
import tempfile
from pathlib import Path

from bench.report import Conditions
from bench.table import show

from .ledger import Result, UnavailableError
from .storms import STORMS

_HEAD = ("storm", "rounds", "acknowledged", "lost", "purged", "found", "hangs", "raw exceptions")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=120.0, help="duration of each storm, about")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of all chance")
    parser.add_argument("--only", nargs="+", choices=list(STORMS), default=list(STORMS), help="some storms")


def run(options: argparse.Namespace) -> int:
    logging.disable(logging.CRITICAL)  # what a storm does is logged by the thousand
    conditions = Conditions()
    results: list[Result] = []
    print(f"seed {options.seed}", flush=True)
    show(_HEAD, (_row(name, options, results) for name in options.only))
    for complaint in (complaint for result in results for complaint in result.complaints):
        print(complaint)
    print(conditions)
    return int(any(result.wrong for result in results))


def _row(name: str, options: argparse.Namespace, results: list[Result]) -> tuple[str, ...]:
    storm = STORMS[name]
    try:
        with tempfile.TemporaryDirectory(prefix=f"robotmem-{name}-") as folder:
            result = storm.run(Path(folder), random.Random(f"{options.seed}{name}"), options.seconds)
    except UnavailableError as error:
        return storm.title, str(error)
    results.append(result)
    counts = (result.rounds, result.acknowledged, result.lost, result.purged, result.found, result.hangs, result.raw)
    return storm.title, *(f"{count:,}" for count in counts)
