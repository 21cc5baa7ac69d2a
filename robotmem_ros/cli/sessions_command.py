"""`robotmem sessions`: the episodes that a memory knows."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..memory.models import Session
from .database import opened
from .moment import moment
from .options import add_database, add_json
from .table import table

_HEAD = ("session", "collection", "started", "duration", "end", "outcome", "memories", "superseded", "context")
_SHOWN = 60


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("sessions", help="list sessions", description="Lists sessions, the latest first.")
    add_database(parser)
    parser.add_argument("--collection", default="", help="only those of this namespace")
    parser.add_argument("--n", type=int, default=20, help="how many at most")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the sessions.

    Raises:
        RobotMemoryError: the database cannot be used.
    """
    with opened(arguments.db, read_only=True) as memory:
        found = memory.sessions(arguments.collection, arguments.n)
    sys.stdout.write(_as_json(found) if arguments.json else _as_text(found))
    return 0


def _as_json(found: tuple[Session, ...]) -> str:
    told = [
        {
            "session_id": one.session_id,
            "collection": one.collection,
            "started_at": one.started_at,
            "ended_at": one.ended_at,
            "end_reason": one.end_reason,
            "outcome": one.outcome,
            "memories": one.memories,
            "superseded": one.superseded,
            "expires_at": one.expires_at,
            "context": one.context,
        }
        for one in found
    ]
    return json.dumps({"sessions": told}, ensure_ascii=False, indent=2) + "\n"


def _as_text(found: tuple[Session, ...]) -> str:
    return table(_HEAD, [_row(one) for one in found]) if found else "no sessions\n"


def _row(one: Session) -> tuple[object, ...]:
    context = one.context_json
    return (
        one.session_id,
        one.collection,
        moment(one.started_at),
        "" if one.duration is None else f"{one.duration:.1f} s",
        one.end_reason or "open",
        "" if one.outcome is None else f"{one.outcome:.2f}",
        one.memories,
        "" if one.superseded is None else one.superseded,
        context if len(context) <= _SHOWN else f"{context[:_SHOWN]}...",
    )
