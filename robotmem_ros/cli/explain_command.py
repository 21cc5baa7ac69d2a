"""`robotmem explain`: why a memory is what it is."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from ..memory import Explanation
from .database import opened
from .options import add_database, add_json


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser(
        "explain", help="why a memory is what it is", description="What was decided about a memory, and by which rule."
    )
    parser.add_argument("id", type=int, help="the memory")
    add_database(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the explanation.

    Raises:
        RobotMemoryError: there is no such memory, or the database cannot be used.
    """
    with opened(arguments.db, read_only=True) as memory:
        explanation = memory.explain(arguments.id)
    if arguments.json:
        sys.stdout.write(json.dumps(_fields(explanation), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(explanation)))
    return 0


def _fields(explanation: Explanation) -> dict[str, object]:
    fields = dataclasses.asdict(explanation)
    fields["decisions"] = [decision._asdict() for decision in explanation.decisions]
    fields["repetitions"] = [repetition._asdict() for repetition in explanation.repetitions]
    fields["contradictions"] = [contradiction._asdict() for contradiction in explanation.contradictions]
    return fields


def _lines(explanation: Explanation) -> Iterator[str]:
    times = explanation.times_learned
    yield f"memory {explanation.memory_id}, {explanation.status}, learned {'once' if times == 1 else f'{times} times'}"
    if explanation.reason:
        yield f"  {explanation.status}: {explanation.reason}"
    widths = [max((len(decision[part]) for decision in explanation.decisions), default=0) for part in (0, 1)]
    for field, value, rule in explanation.decisions:
        yield f"  {field:{widths[0]}}  {value:{widths[1]}}  by {rule}"
    if not explanation.decisions:
        yield "  nothing was decided by rules"
    for one in explanation.contradictions:
        yield f"  {'contradicted by' if one.is_newer else 'contradicts'} {one.memory_id} ({one.reason}): {one.content}"
    for again in explanation.repetitions:
        yield f"  again at {_time(again.repeated_at)} ({again.method} {again.similarity:.2f}): {again.content}"
        for name, given in again.gave.items():
            yield f"    gave {name}: {given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)}"


def _time(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / 1e9, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
