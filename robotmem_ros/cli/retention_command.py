"""`robotmem retention`: what goes when there is room for less."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..memory.config.parameters import Parameters
from ..memory.retention.report import Report
from ..replay import load_config
from .confirm import confirm
from .database import opened
from .options import add_database, add_json
from .table import table

_OPTIONS = {
    "rows": ("max_memories", int, "largest number of memories"),
    "bytes": ("retention_bytes", int, "largest size of the database"),
    "age": ("retention_age", float, "days after which unused memories are deleted"),
    "budgets": ("retention_budgets", str, "budgets such as 'lab: 5000 rows, */perception: 30 days'"),
    "sightings": ("retention_sightings", int, "largest number of sightings of all objects"),
    "export": ("retention_export", str, "file for the deleted memories, as JSON lines"),
}
"""The options, each with the parameter that it overrides, its type and its meaning."""
_WHAT = (
    "Removes the least useful memories until the budgets hold, after asking. The node does the same in the background, "
    "by the same parameters: max_memories, retention_bytes and so on."
)


def add_to(commands: Any) -> None:
    """Adds the command to those of `robotmem`."""
    parser = commands.add_parser("retention", help="remove the least useful memories", description=_WHAT)
    add_database(parser)
    parser.add_argument("--config", help="parameter file of the node, for the budgets that are not given here")
    for name, (overridden, kind, meaning) in _OPTIONS.items():
        parser.add_argument(f"--{name}", dest=overridden, type=kind, help=f"{meaning}; overrides {overridden}")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Removes, after a yes.

    Raises:
        RobotMemoryError: a budget or the database cannot be used, nobody said yes, or the export cannot be written.
    """
    options = _options(arguments)
    with opened(arguments.db, read_only=True, **options) as memory:
        planned = memory.retain(dry_run=True)
    if arguments.dry_run:
        return _say(arguments, planned, "would go")
    if not arguments.json:
        sys.stdout.write(_shown(planned, "would go"))
        sys.stdout.flush()
    if not (planned.memories or planned.sightings):
        return _say(arguments, planned, "went") if arguments.json else 0
    # Nothing is open while somebody thinks about it: a memory with budgets keeps them by itself.
    confirm(f"Remove {planned.memories:,} memories and {planned.sightings:,} sightings?", yes=arguments.yes)
    with opened(arguments.db, **options) as memory:
        return _say(arguments, memory.retain(), "went")


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    parameters = load_config(arguments.config).parameters if arguments.config else Parameters()
    names = [overridden for overridden, *_ in _OPTIONS.values()]
    given = {name: getattr(arguments, name) for name in names}
    return {name: getattr(parameters, name) if given[name] is None else given[name] for name in names}


def _say(arguments: argparse.Namespace, report: Report, how: str) -> int:
    text = json.dumps(_fields(report), ensure_ascii=False, indent=2) + "\n" if arguments.json else _shown(report, how)
    sys.stdout.write(text)
    return 0


def _shown(report: Report, how: str) -> str:
    shares = [(one.reason.value, one.collection, one.kind.value, one.memories, one.payload) for one in report.shares]
    first = [
        (str(one.memory_id), one.protection, f"{one.usefulness:.3f}", one.collection, one.content[:60])
        for one in report.examples
    ]
    lines = [
        table(("budget", "collection", "kind", "memories", "bytes"), shares),
        f"{how}: {report.memories:,} memories, {report.sightings:,} sightings\n",
    ]
    if first:
        lines.append(f"\nfirst:\n{table(('id', 'protection', 'usefulness', 'collection', 'content'), first)}\n")
    return "".join(lines)


def _fields(report: Report) -> dict[str, object]:
    return {
        "memories": report.memories,
        "sightings": report.sightings,
        "shares": [{**one._asdict(), "reason": one.reason.value, "kind": one.kind.value} for one in report.shares],
        "first": [
            {"id": one.memory_id, "protection": one.protection, "usefulness": one.usefulness, "content": one.content}
            for one in report.examples
        ],
    }
