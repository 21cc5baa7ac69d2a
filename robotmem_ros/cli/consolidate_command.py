"""`robotmem consolidate`: merges the lessons of a session that say the same, or shows what that would do."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..memory.sessions.consolidation import Consolidation, Lesson
from .database import opened
from .options import add_database, add_json
from .table import table

_HEAD = ("stays", "goes", "similarity", "category", "text")
_WHAT = """Merges the lessons of a session that say the same: one stays, the others are superseded. Nothing is deleted;
they come back when the one that stays is forgotten or reworded."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("consolidate", help="merge what a session learned twice", description=_WHAT)
    parser.add_argument("session", help="id of the session, as `robotmem sessions` lists it")
    add_database(parser)
    parser.add_argument("--collection", default="", help="namespace; that of the session where nothing is said")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be merged")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes what was merged.

    Raises:
        RobotMemoryError: the session or the database cannot be used.
    """
    with opened(arguments.db, read_only=arguments.dry_run) as memory:
        done = memory.consolidate(arguments.session, arguments.collection, dry_run=arguments.dry_run)
    sys.stdout.write(_as_json(done) if arguments.json else _as_text(done))
    return 0


def _as_json(done: Consolidation) -> str:
    merges = [
        {
            "kept": _fields(merge.kept),
            "superseded": [_fields(lesson) for lesson in merge.superseded],
            "category": merge.kept.category,
            "similarity": merge.similarity,
        }
        for merge in done.merges
    ]
    whole = {
        "session_id": done.session_id,
        "collection": done.collection,
        "dry_run": done.dry_run,
        "considered": done.considered,
        "superseded": done.superseded,
        "merges": merges,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _fields(lesson: Lesson) -> dict[str, object]:
    return {"id": lesson.id, "content": lesson.content, "confidence": lesson.confidence}


def _as_text(done: Consolidation) -> str:
    rows: list[tuple[object, ...]] = []
    for merge in done.merges:
        rows.append((merge.kept.id, "", f"{merge.similarity:.2f}", merge.kept.category, merge.kept.content))
        rows += [("", lesson.id, "", "", lesson.content) for lesson in merge.superseded]
    would = "would be superseded; nothing was changed" if done.dry_run else "superseded"
    line = f"{done.superseded} of {done.considered} lessons {would}\n"
    return table(_HEAD, rows) + line
