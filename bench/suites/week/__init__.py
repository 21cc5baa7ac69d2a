"""Ask a memory about generated weeks of a service robot in a house where things are carried about.

Each row is a kind of week, answered by the memory and, beside it, by the last sighting of each label within a metre.
Asked is for what the messages tell:

- where: where a thing was at a time, between two sightings of one stay (%)
- gone: the same for a thing whose place was seen to be empty, and that was not seen elsewhere: unknown is right (%)
- any time: the same for any time of the days, which nobody can know always (%)
- usually: where a thing is at 9, 12 and 18 on most days (%)
- changes: what came to a place or left it since the evening before, that is told (%); too many: told, but not true,
  an evening
- last seen: when, within a minute, and where a thing was detected last (%)
- found: of 24 movable things that were detected where they are, at the end
- ghosts: objects that are believed in an evening where nothing of their label is, as looks have shown; persons: those
  and dogs that are believed where none is
- error: of the probabilities from 0.5 up, at five hours of a day, the mean distance from the share of what is there,
  by tenths
- ms: CPU of a message, in all threads

In small worlds one thing happens: what is believed too much and what is missing at the end, in the mean. `--room` takes
a recording of a real room, `--year` a year of weeks in place of all that.

Tune on seeds 0 to 9 alone: those from 100 on are held out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from bench.plot import Panel, plot
from bench.table import show
from bench.worlds.week import DAY, HOUR, MINUTE, MONDAY, Detector, Settings, Slip, make_week
from bench.worlds.week.small import SMALL_WORLDS
from bench.worlds.week.truth import Truth

from . import room, small, year
from .answers import LastSightings, MemoryAnswers
from .measure import Score, measure, reliability

_NOON = MONDAY + 2 * DAY + round(11.77 * HOUR)
"""A minute after a drive of Wednesday has begun."""
VARIANTS = {
    "week": Settings(),
    "no-view": Settings(view=0.0),
    "long-view": Settings(view=4.0),
    "long-view-no-map": Settings(view=4.0, has_map=False),
    "two-detectors": Settings(detectors=(Detector("/front", (0.02, 0.25)), Detector("/side", (0.25, 0.02)))),
    "late": Settings(delay=60.0),
    "missed": Settings(misses=2.0),
    "jump": Settings(slips=(Slip(_NOON, _NOON + 3 * MINUTE, 1.1 + 0.8j),)),
    "drift": Settings(slips=(Slip(_NOON - HOUR, _NOON + round(1.5 * HOUR), 0.9 - 0.9j, is_drift=True),)),
}
"""Kinds of weeks; each has the life of its seed."""
_HEAD = (
    "week", "answered by", "where", "gone", "any time", "usually", "changes", "too many", "last seen", "found",
    "ghosts", "persons", "error", "ms",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=_span, default=range(10), help="seeds, first:end")
    parser.add_argument("--days", type=int, help="days of a week, or of a year")
    parser.add_argument("--variant", nargs="*", choices=VARIANTS, default=list(VARIANTS), help="kinds of weeks")
    parser.add_argument("--small", nargs="*", choices=SMALL_WORLDS, default=list(SMALL_WORLDS), help="small worlds")
    parser.add_argument("--room", type=Path, help="train.npz of the Perpetua room")
    parser.add_argument("--plot", type=Path, help="file of a reliability diagram, which needs matplotlib")
    parser.add_argument(
        "--year", action="store_true", help="a year of the first seed: what it keeps and windows over it"
    )


def run(options: argparse.Namespace) -> None:
    if options.year:
        show(year.HEAD, year.rows(options.days or 365, options.seeds[0]))
        return
    scores: dict[str, Score] = {}
    if options.variant:
        show(_HEAD, _rows(options, scores))
    for name, score in scores.items():
        tenths = ((f"{given:.2f}", f"{there:.2f}", str(count)) for given, there, count in reliability(score))
        show((f"{name}: probability given", "there", "objects"), tenths)
    if options.small:
        show(small.HEAD, small.rows(options.small, options.seeds))
    if options.room:
        show(room.HEAD, room.rows(options.room))
    if options.plot and not plot([_panel(scores)], 1, options.plot):
        print("no plot: matplotlib is not installed")


def _span(text: str) -> range:
    first, _, end = text.partition(":")
    try:
        seeds = range(int(first), int(end) if end else int(first) + 1)
    except ValueError:
        seeds = range(0)
    if not seeds:
        raise argparse.ArgumentTypeError(f"{text!r} names no seeds; a span such as 0:10, or one seed, does")
    return seeds


def _rows(options: argparse.Namespace, scores: dict[str, Score]) -> Iterator[tuple[str, ...]]:
    for variant in options.variant:
        total, reference = Score(), Score()
        cpu, count = 0.0, 0
        for seed in options.seeds:
            world = make_week(seed, VARIANTS[variant], options.days or 7)
            truth = Truth(world)
            answers = MemoryAnswers(world.settings)
            with answers.memory:
                total.merge(measure(world, truth, answers, seed))
            reference.merge(measure(world, truth, LastSightings(), seed))
            cpu, count = cpu + answers.cpu, count + len(world.messages)
        scores[variant] = total
        yield _row(variant, "memory", total, f"{1000 * cpu / count:.2f}")
        yield _row("", "last sightings", reference, "")


def _row(variant: str, answered_by: str, score: Score, cpu: str) -> tuple[str, ...]:
    def percent(kind: str) -> str:
        return f"{100 * score.share(kind):.1f}"

    def each(kind: str, of: str) -> str:
        return f"{score.counts[kind] / max(score.counts[of], 1):.1f}"

    return (
        variant, answered_by, *map(percent, ("where", "gone", "any time", "usually", "changes")),
        each("too many", "comparisons"), percent("last seen"), f"{24 * score.share('found'):.1f}",
        each("ghosts", "evenings"), each("persons", "evenings"), f"{_calibration_error(score):.2f}", cpu,
    )  # fmt: skip


def _calibration_error(score: Score) -> float:
    bins = [(given, there, count) for given, there, count in reliability(score) if given >= 0.5]
    total = sum(count for *_, count in bins)
    return sum(abs(given - there) * count for given, there, count in bins) / total if total else float("nan")


def _panel(scores: dict[str, Score]) -> Panel:
    """Return a reliability diagram: over the probability that was given, the share of what was there."""
    lines = [{"x": [0, 1], "y": [0, 1], "color": "grey", "linestyle": ":", "label": "calibrated"}]
    for name, score in scores.items():
        given, there, _ = zip(*reliability(score), strict=True)
        lines.append({"x": given, "y": there, "marker": ".", "label": name})
    return Panel(
        lines, {"xlabel": "probability given", "ylabel": "share that was there", "xlim": [0, 1], "ylim": [0, 1]}
    )
