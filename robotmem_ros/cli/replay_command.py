"""`robotmem replay`: a recording into a memory."""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import fields
from typing import Any

from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from ..replay import Bag, Rehearsal, Replay, ReplayConfig, ReplayError, Window, load_config
from ..replay.report import ProgressLine, summary


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("replay", help="import a recording", description=_WHAT)
    parser.add_argument("bag", help="folder of a rosbag2 recording, or a .mcap, .db3 or ROS 1 .bag file")
    parser.add_argument("--config", required=True, help="parameter file of the node, with perception_topics")
    parser.add_argument("--db", help="database file; in place of db_path in the parameter file")
    parser.add_argument("--start", type=_seconds, default=0.0, help="seconds of the recording to leave out")
    parser.add_argument("--duration", type=_seconds, help="seconds of the recording to read")
    parser.add_argument("--topics", nargs="+", default=[], help="topics to read, of those configured")
    parser.add_argument("--collection", help="namespace of the memories")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be stored")
    parser.add_argument("--no-model", action="store_true", help="store without vectors; they can be made later")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Imports; 1 when the recording is damaged, else 0.

    Raises:
        RobotMemoryError: what is asked for cannot be done.
    """
    given = {"db_path": arguments.db, "collection": arguments.collection}
    overrides: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    if arguments.no_model:
        overrides["embedding_model"] = ""
    # A recording can wait, so nothing of it is lost to a full queue.
    config = load_config(arguments.config, {**overrides, "queue_policy": "block"})
    unknown = set(arguments.topics) - {name for topic in config.topics for name in (topic.name, topic.topic)}
    if unknown:
        known = ", ".join(topic.topic for topic in config.topics) or "none"
        raise ReplayError(f"--topics: {', '.join(sorted(unknown))} not configured; configured: {known}")
    with Bag(arguments.bag) as bag:
        if arguments.dry_run:
            return _replayed(bag, config, Rehearsal(config.parameters), arguments)
        options = {entry.name: getattr(config.parameters, entry.name) for entry in fields(Parameters)}
        with RobotMemory(**options) as memory:
            return _replayed(bag, config, memory, arguments)


def _replayed(bag: Bag, config: ReplayConfig, memory: RobotMemory | Rehearsal, arguments: argparse.Namespace) -> int:
    line = ProgressLine(sys.stderr)
    replay = Replay(
        bag,
        config,
        memory,
        window=Window(arguments.start, arguments.duration),
        only=arguments.topics,
        progress=line.show,
    )
    start = time.monotonic()
    interrupted = False
    try:
        replay.run()
    except KeyboardInterrupt:
        interrupted = True
    if isinstance(memory, RobotMemory):
        interrupted = _moment(memory, replay, interrupted)
    line.end()
    result = replay.result()
    seconds = time.monotonic() - start
    sys.stdout.write(summary(bag, config, result, dry_run=arguments.dry_run, seconds=seconds))
    sys.stdout.flush()
    if interrupted:
        sys.stderr.write("robotmem: what was read so far is stored; the same command goes on from there\n")
        raise KeyboardInterrupt
    if result.damage:
        sys.stderr.write(f"robotmem: recording {str(bag.path)!r} {result.damage}; what could be read was used\n")
        return 1
    return 0


def _moment(memory: RobotMemory, replay: Replay, interrupted: bool) -> bool:
    """Waits until all is written, and has its vectors unless it is interrupted; whether it was."""
    if interrupted:
        memory.store_sightings(()).result()
        return True
    try:
        memory.flush()
    except KeyboardInterrupt:
        return True
    replay.finished()
    return False


def _seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value >= 0.0):
        raise argparse.ArgumentTypeError(f"{text} must be seconds, 0 or more")
    return value


_WHAT = "Imports a recording; what was imported before is left out, so an interrupted import can simply be run again."
