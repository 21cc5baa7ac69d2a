"""Hurt a fleet of real robots and servers in every way, and count what is lost, doubled or left behind.

Robots are killed by SIGKILL at random, their network is cut within batches and delayed, the clocks of some are an hour
ahead or behind. The primary is killed under load, and its synchronous standby takes over; the server is restored from a
backup that is older than what robots believe to be stored, and so is the file of a robot. In the end all are in step by
themselves, a hundredth is purged, and each memory of each file is compared with that of the fleet.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.internals.fleet_faults import weather


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robots", type=int, default=10, help="robots, each a process")
    parser.add_argument("--memories", type=int, default=100_000, help="memories that each of them makes")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of all chance")


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as name:
        result = weather(Path(name), options.robots, options.memories, options.seed, print)
    for field, value in asdict(result).items():
        print(f"{field}: {value}")
    wrong = (result.lost, result.extra, result.twice, result.revived, result.traces, result.unacknowledged)
    return int(any(wrong))
