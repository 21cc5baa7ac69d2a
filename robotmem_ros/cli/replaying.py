"""Import a recording: `robotmem replay`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from textwrap import indent

from ..memory import RobotMemory, open_memory
from ..replay import (
    RECORDING,
    Bag,
    DryRun,
    Proposal,
    Replay,
    ReplayConfig,
    Result,
    config_of,
    load_config,
    parameter_file,
    proposals,
    proposed_parameters,
)
from .command import DRY_RUN, Command, within
from .listing import CommandError, option, table
from .output import write_notice, write_result

_ON_TERMINAL, _ELSEWHERE = 0.2, 5.0
"""Seconds between two reports of progress."""
_BAR = 20


def _replay(arguments: argparse.Namespace) -> int:
    settings = {"db_path": arguments.db, "collection": arguments.collection}
    overrides: dict[str, object] = {name: value for name, value in settings.items() if value is not None}
    if arguments.no_model:
        overrides["embedding_model"] = ""
    # A recording can wait, so a full queue must not drop any of it.
    overrides["queue_policy"] = "block"
    if arguments.config:
        config = load_config(arguments.config, overrides)
        _check_topics(config, arguments.topics)
    with Bag(arguments.bag, definitions=arguments.definitions) as bag:
        if not arguments.config:
            taken = _taken(bag, arguments)
            if taken is None:
                return 0
            parameters = proposed_parameters(taken)
            config = config_of(parameters, overrides)
            _check_topics(config, arguments.topics)
            # The names of parameters that options gave, which belong into the file, too.
            text = parameter_file({**{name: value for name, value in settings.items() if value}, **parameters})
            write_result(f"# configuration used; save it, edit it, and give it as --config\n{text}\n")
        if arguments.dry_run:
            return _run(bag, config, DryRun(config.parameters), arguments)
        with open_memory(**config.options) as memory:
            return _run(bag, config, memory, arguments)


def _check_topics(config: ReplayConfig, names: Sequence[str]) -> None:
    unknown = set(names) - {name for topic in config.topics for name in (topic.name, topic.topic)}
    if unknown:
        known = ", ".join(topic.topic for topic in config.topics) or "none"
        raise CommandError(f"--topics: {', '.join(sorted(unknown))} not configured; configured: {known}")


def _taken(bag: Bag, arguments: argparse.Namespace) -> list[Proposal] | None:
    """Show the topics of a recording and return those to take; None if nobody says that they shall be taken."""
    found = proposals(bag)
    rows = [(one.topic, one.type_name, one.messages, one.note or "preset") for one in found]
    write_result(table(("topic", "type", "messages", "read as"), rows) + "\n")
    taken = [one for one in found if one.name]
    if not arguments.take and not _agrees(f"Take the {len(taken)} topics that have a preset?"):
        write_notice("robotmem: nothing was imported; --take takes what has a preset, --config what a file names\n")
        return None
    names = set(arguments.topics)
    return [one for one in taken if not names or names & {one.name, one.topic}]


def _agrees(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    write_notice(f"{question} Type yes to take them: ")
    return sys.stdin.readline().strip().lower() == "yes"


def _run(bag: Bag, config: ReplayConfig, memory: RobotMemory | DryRun, arguments: argparse.Namespace) -> int:
    line = _ProgressLine()
    replay = Replay(
        bag, config, memory,
        start=arguments.start, duration=arguments.duration, only=arguments.topics, progress=line.show,
    )  # fmt: skip
    start = time.monotonic()
    interrupted = False
    try:
        replay.run()
        if isinstance(memory, RobotMemory):
            # Wait for the vectors as well.
            memory.flush()
            replay.finish()
    except KeyboardInterrupt:
        interrupted = True
        if isinstance(memory, RobotMemory):
            memory.store_sightings(()).result()
    line.end()
    result = replay.result()
    seconds = time.monotonic() - start
    write_result(_summary(bag, config, result, dry_run=arguments.dry_run, seconds=seconds))
    if interrupted:
        write_notice("robotmem: what was read so far is stored; the same command goes on from there\n")
        raise KeyboardInterrupt
    if result.damage:
        write_notice(f"robotmem: recording {str(bag.path)!r} {result.damage}; what could be read was used\n")
        write_notice("robotmem: if there is another copy of the recording, compare the two\n")
        return 1
    return 0


class _ProgressLine:
    """Progress on stderr: one line that changes on a terminal, else a line from time to time."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._start = self._last = time.monotonic()
        self._is_drawn = False

    def show(self, read: int, part: float) -> None:
        """Show how many messages were read, and which share of the recording that is, in [0, 1]."""
        now = time.monotonic()
        if now - self._last < (_ON_TERMINAL if self._terminal else _ELSEWHERE):
            return
        self._last = now
        part = min(1.0, max(0.0, part))
        elapsed = now - self._start
        minutes, rest = divmod(round(elapsed * (1 - part) / part), 60) if part > 0 else (0, 0)
        remaining = (f"{minutes} min " if minutes else "") + (f"{rest} s left" if part > 0 else "? left")
        text = f"{part:4.0%} {read:,} messages, {read / elapsed:,.0f}/s, {remaining}"
        length = round(part * _BAR)
        bar = f"\r\x1b[K[{'#' * length}{'.' * (_BAR - length)}] {text}"
        write_notice(bar if self._terminal else f"{text}\n")
        self._is_drawn = True

    def end(self) -> None:
        """Clear the line."""
        if self._terminal and self._is_drawn:
            write_notice("\r\x1b[K")


def _summary(bag: Bag, config: ReplayConfig, result: Result, *, dry_run: bool, seconds: float) -> str:
    by_name = {topic.name: topic for topic in config.topics}
    rows = []
    notes = [*bag.notes, *_definition_notes(bag, config)]
    notes += [
        f"{topic.topic} ({topic.name}) is configured, and not in the recording" for topic in result.missing_topics
    ]
    notes += result.transform_problems
    notes += [f"for example {counts.last_drop}" for counts in result.counts.values() if counts.last_drop]
    for name, counts in result.counts.items():
        topic = by_name[name]
        drops = ", ".join(f"{count} {reason.value}" for reason, count in counts.drops.most_common())
        rows.append((topic.topic, topic.type, counts.messages, counts.observations, counts.stored_count, drops))
        if counts.fields_of_view or counts.fields_of_view_dropped:
            views = f"{counts.fields_of_view} messages told what is gone, {counts.fields_of_view_dropped} could not"
            notes.append(f"{topic.topic}: {views}")
    if result.path_points:
        notes.append(f"path of the robot: {result.path_points:,} points")
    if result.map:
        notes.append(f"{config.parameters.map_topic}: {result.map}")
    if result.unusable_transforms:
        notes.append(f"{result.unusable_transforms} transforms could not be used")
    head = ("topic", "type", "messages", "observations", "would store" if dry_run else "stored", "dropped")
    text = table(head, rows) or "none of the configured topics is in the recording\n"
    text += "".join(f"{note}\n" for note in notes)
    unread = [(entry.topic, entry.type_name, entry.messages, entry.why) for entry in result.unread if entry.messages]
    if unread:
        text += "not read:\n" + indent(table((), unread), "  ")
    rate = f"{result.read / seconds:,.0f}/s, {result.span / seconds:,.0f} times real time"
    return f"{text}{result.read:,} messages in {seconds:.2f} s: {rate}\n"


def _definition_notes(bag: Bag, config: ReplayConfig) -> list[str]:
    """Say by whose definitions types were read, unless by those of the recording."""
    configured = {topic.type for topic in config.topics}
    notes = []
    for definition in bag.types.chosen:
        if definition.type_name in configured and definition.source != RECORDING:
            why = "the recording has none that can be used"
            notes.append(f"{definition.type_name}: as {definition.source} defines it; {why}")
        if definition.type_name in configured and definition.fits is False:
            notes.append(f"{definition.type_name}: no definition fits its hash in the recording")
    return notes


COMMANDS = (
    Command(
        "replay", "import a recording",
        "Import a recording. What was imported before is skipped, so an interrupted import can simply be run again.",
        _replay,
        (
            option("bag", help="folder of a rosbag2 recording, or a .mcap, .db3 or ROS 1 .bag file"),
            option("--config", help="parameter file of the node, with perception_topics; without, topics are listed"),
            option("--take", action="store_true", help="without --config: take the topics that have a preset"),
            option("--db", help="database file; overrides db_path of the parameter file"),
            option("--start", type=within(0.0, 1e9), default=0.0, help="seconds of the recording to skip"),
            option("--duration", type=within(0.0, 1e9), help="seconds of the recording to read"),
            option("--topics", nargs="+", default=[], help="topics to read, of those configured"),
            option("--collection", help="namespace of the memories"),
            option(
                "--definitions", metavar="FOLDER",
                help="folder of .msg files, for types that neither the recording nor this machine defines",
            ),
            DRY_RUN,
            option("--no-model", action="store_true", help="store without vectors; they can be computed later"),
        ),
    ),
)  # fmt: skip
"""The command, as the other modules give theirs."""
