"""`robotmem purge`: deletes memories for good."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from datetime import datetime, timezone
from typing import Any

from ..memory.clocks import DAY
from ..memory.errors import RobotMemoryError
from ..memory.purge.preview import Preview
from .confirm import confirm
from .database import opened
from .moment import moment
from .options import add_database, add_json
from .table import table

_WHAT = (
    "Deletes memories, active or forgotten, and every trace of them in the file and in the backups of migrations "
    "beside it. There is no way back, so it asks first. Where several conditions are given, all must hold. Files that "
    "retention exported are left alone."
)


class NothingChosenError(RobotMemoryError):
    """A purge of everything is never meant."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("purge", help="delete memories without a trace", description=_WHAT)
    add_database(parser)
    parser.add_argument("--id", type=int, nargs="+", metavar="ID", help="these memories")
    parser.add_argument("--session", help="memories of this session, and the session")
    parser.add_argument("--collection", help="memories of this namespace, and its sessions")
    age = parser.add_mutually_exclusive_group()
    age.add_argument("--older-than", type=_days, metavar="DAYS", help="memories observed longer ago by the wall clock")
    age.add_argument("--before", type=_time, metavar="TIME", help="memories observed before, such as 2026-01-31T12:00")
    parser.add_argument("--finish", action="store_true", help="only finish a purge that could not overwrite its traces")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Deletes, after a yes.

    Raises:
        RobotMemoryError: the choice or the database cannot be used, or nobody said yes.
    """
    before = time.time_ns() - arguments.older_than if arguments.older_than is not None else arguments.before
    if arguments.finish:
        with opened(arguments.db) as memory:
            done: dict[str, object] = {"finished": memory.finish_purge()}
        return _say(arguments, done, "the traces are overwritten" if done["finished"] else "there are no traces")
    chosen = {
        "ids": arguments.id, "session_id": arguments.session, "collection": arguments.collection, "before": before,
    }  # fmt: skip
    if all(value is None for value in chosen.values()):
        raise NothingChosenError("nothing is chosen; give --id, --session, --collection, --older-than or --before")
    with opened(arguments.db, read_only=True) as memory:
        planned = memory.preview_purge(**chosen)
    if arguments.dry_run:
        return _say(arguments, _fields(planned), _shown(planned))
    if not arguments.json:
        sys.stdout.write(_shown(planned) + "\n")
        sys.stdout.flush()
    if planned.memories or planned.sightings or planned.sessions or planned.repetitions:
        confirm(f"Delete {planned.memories:,} memories for good?", yes=arguments.yes)
    with opened(arguments.db) as memory:
        purged = memory.purge(**chosen)
    summary = (
        f"deleted: {purged.memories:,} memories, {purged.sightings:,} sightings, {purged.sessions:,} sessions, "
        f"{purged.repetitions:,} repetitions; the file had {purged.bytes_before:,} bytes and has {purged.bytes_after:,}"
    )
    return _say(arguments, vars(purged), summary)


def _shown(planned: Preview) -> str:
    head = ("collection", "kind", "memories", "first observed", "last observed")
    body = [
        (share.collection, share.kind.value, share.memories, moment(share.first_observed), moment(share.last_observed))
        for share in planned.shares
    ]
    examples = table(("id", "content"), [(str(memory_id), content) for memory_id, content in planned.examples])
    more = planned.memories - len(planned.examples)
    lines = [
        table(head, body) or "no memories\n",
        f"\n{examples}" if examples else "",
        f"and {more:,} more\n" if more else "",
        f"\n{planned.sightings:,} sightings, {planned.sessions:,} sessions, {planned.repetitions:,} repetitions",
    ]
    return "".join(lines)


def _fields(planned: Preview) -> dict[str, object]:
    shares = [{**share._asdict(), "kind": share.kind.value} for share in planned.shares]
    examples = [{"id": memory_id, "content": content} for memory_id, content in planned.examples]
    return {**planned._asdict(), "shares": shares, "examples": examples}


def _say(arguments: argparse.Namespace, fields: dict[str, object], text: str) -> int:
    sys.stdout.write((json.dumps(fields, ensure_ascii=False, indent=2) if arguments.json else text) + "\n")
    return 0


def _days(text: str) -> int:
    value = float(text)
    if not (math.isfinite(value) and 0 <= value <= 100_000):
        raise argparse.ArgumentTypeError(f"{text} must be days, from 0 to 100000")
    return int(value * DAY)


def _time(text: str) -> int:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-01-31T12:00") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=timezone.utc)
    return max(round(found.timestamp()), 0) * 10**9
