"""What an import did, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .bag import Bag
from .config import ReplayConfig
from .replay import Result

_HEAD = ("topic", "type", "messages", "observations", "stored", "left out")
_NUMBERS = {2, 3, 4}


def summary(bag: Bag, config: ReplayConfig, result: Result, *, dry_run: bool, seconds: float) -> str:
    """The table, and what else is to be said; ends with a line break."""
    rows: list[Sequence[str]] = [(*_HEAD[:4], "would store" if dry_run else "stored", _HEAD[5])]
    by_name = {topic.name: topic for topic in config.topics}
    for name, counts in result.counts.items():
        topic = by_name[name]
        left_out = ", ".join(f"{count} {reason.value}" for reason, count in counts.left_out.most_common())
        numbers = (str(counts.received), str(counts.observations), str(counts.stored))
        rows.append((topic.topic, topic.type, *numbers, left_out))
    lines = [*_table(rows)] if len(rows) > 1 else ["none of the configured topics is in the recording"]
    lines += [f"{topic.topic} ({topic.name}) is configured, and not in the recording" for topic in result.missing]
    refusals = [counts.last_refusal for counts in result.counts.values() if counts.last_refusal]
    lines += [f"for example {refusal}" for refusal in refusals]
    lines += [
        f"{by_name[name].topic}: {counts.views} messages told what is gone, {counts.views_left_out} could not"
        for name, counts in result.counts.items()
        if counts.views or counts.views_left_out
    ]
    if result.refused_transforms:
        lines.append(f"{result.refused_transforms} transforms could not be used")
    if dry_run:
        configured = {topic.topic for topic in config.topics} | {"/tf", "/tf_static"}
        others = [(name, found) for name, found in sorted(bag.topics.items()) if name not in configured]
        if others:
            lines.append("not configured:")
            lines += _table([(f"  {name}", found.type_name, str(found.messages)) for name, found in others])
    rate = result.read / seconds if seconds > 0 else 0.0
    multiple = f", {result.span / seconds:,.0f} times real time" if seconds > 0 else ""
    lines.append(f"{result.read:,} messages in {seconds:.2f} s: {rate:,.0f}/s{multiple}")
    return "\n".join(lines) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if index in _NUMBERS else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
