"""Import a recording: `robotmem replay`."""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import fields

from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from ..replay import Bag, Rehearsal, Replay, ReplayConfig, Window, load_config
from ..replay.report import ProgressLine, summary
from .command import DRY_RUN, Command, CommandError, option


def _replay(arguments: argparse.Namespace) -> int:
    given = {"db_path": arguments.db, "collection": arguments.collection}
    overrides: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    if arguments.no_model:
        overrides["embedding_model"] = ""
    # A recording can wait, so a full queue must not drop any of it.
    config = load_config(arguments.config, {**overrides, "queue_policy": "block"})
    unknown = set(arguments.topics) - {name for topic in config.topics for name in (topic.name, topic.topic)}
    if unknown:
        known = ", ".join(topic.topic for topic in config.topics) or "none"
        raise CommandError(f"--topics: {', '.join(sorted(unknown))} not configured; configured: {known}")
    with Bag(arguments.bag) as bag:
        if arguments.dry_run:
            return _run(bag, config, Rehearsal(config.parameters), arguments)
        options = {entry.name: getattr(config.parameters, entry.name) for entry in fields(Parameters)}
        with RobotMemory(**options) as memory:
            return _run(bag, config, memory, arguments)


def _run(bag: Bag, config: ReplayConfig, memory: RobotMemory | Rehearsal, arguments: argparse.Namespace) -> int:
    line = ProgressLine(sys.stderr)
    window = Window(arguments.start, arguments.duration)
    replay = Replay(bag, config, memory, window=window, only=arguments.topics, progress=line.show)
    start = time.monotonic()
    interrupted = False
    try:
        replay.run()
        if isinstance(memory, RobotMemory):
            # Wait for the vectors as well.
            memory.flush()
            replay.finished()
    except KeyboardInterrupt:
        interrupted = True
        if isinstance(memory, RobotMemory):
            memory.store_sightings(()).result()
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


def _seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value >= 0.0):
        raise argparse.ArgumentTypeError(f"{text} must be seconds, 0 or more")
    return value


COMMANDS = (
    Command(
        "replay", "import a recording",
        "Import a recording. What was imported before is skipped, so an interrupted import can simply be run again.",
        _replay,
        (
            option("bag", help="folder of a rosbag2 recording, or a .mcap, .db3 or ROS 1 .bag file"),
            option("--config", required=True, help="parameter file of the node, with perception_topics"),
            option("--db", help="database file; overrides db_path of the parameter file"),
            option("--start", type=_seconds, default=0.0, help="seconds of the recording to skip"),
            option("--duration", type=_seconds, help="seconds of the recording to read"),
            option("--topics", nargs="+", default=[], help="topics to read, of those configured"),
            option("--collection", help="namespace of the memories"),
            DRY_RUN,
            option("--no-model", action="store_true", help="store without vectors; they can be computed later"),
        ),
    ),
)  # fmt: skip
"""The command, as the other modules give theirs."""
