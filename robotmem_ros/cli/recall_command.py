"""`robotmem recall`: asks a memory."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..memory import Memory, RecallResult
from ..memory.config.parameters import Parameters
from .database import opened
from .moment import moment
from .options import add_database, add_json


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("recall", help="ask a memory", description="Finds memories, best first.")
    parser.add_argument("question", nargs="?", default="", help="words; may be left out with --where")
    add_database(parser)
    parser.add_argument("--n", type=int, default=5, help="how many memories at most")
    parser.add_argument("--where", metavar="JSON", help="conditions, such as '{\"task.success\": true}'")
    parser.add_argument("--collection", default="default", help="namespace to look in")
    parser.add_argument("--no-model", action="store_true", help="by words alone")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the result.

    Raises:
        RobotMemoryError: the question or the database cannot be used.
    """
    model = "" if arguments.no_model else Parameters().embedding_model
    options = {"collection": arguments.collection, "embedding_model": model}
    with opened(arguments.db, read_only=True, **options) as memory:
        result = memory.recall(arguments.question, n=arguments.n, context_filter=arguments.where)
    sys.stdout.write(_as_json(result) if arguments.json else _as_text(result))
    return 0


def _as_json(result: RecallResult) -> str:
    found = [_fields(one) for one in result]
    whole = {"mode": result.mode.value, "reason": result.reason, "memories": found}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _fields(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.id,
        "kind": memory.kind.value,
        "content": memory.content,
        "score": memory.score,
        "observed_at": memory.observed_at,
        "label": memory.label,
        "confidence": memory.confidence,
        "frame_id": memory.frame_id,
        "map_id": memory.map_id,
        "pose": memory.pose and list(memory.pose),
        "times_seen": memory.times_seen,
        "contradicted_by": memory.contradicted_by,
        "session_id": memory.session_id,
        "context": memory.context,
    }


def _as_text(result: RecallResult) -> str:
    lines = [_line(one) for one in result] or ["nothing found"]
    if result.reason:
        lines.append(f"({result.mode.value}: {result.reason})")
    return "\n".join(lines) + "\n"


def _line(memory: Memory) -> str:
    place = ""
    if memory.pose is not None:
        x, y, z = memory.pose[:3]
        place = f" at ({x:.2f}, {y:.2f}, {z:.2f}) in {memory.frame_id}"
    doubt = f", contradicted by {memory.contradicted_by}" if memory.contradicted_by else ""
    return f"{memory.score:.2f}  {memory.content}{place}  [{moment(memory.observed_at)}, id {memory.id}{doubt}]"
