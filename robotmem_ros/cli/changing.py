"""Change a memory: learn, save, update, forget, restore, consolidate, retention, purge."""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from typing import Any

from ..memory.clocks import DAY
from ..memory.config.parameters import Parameters
from ..memory.display import time_text
from ..memory.learning.learning import Learned
from ..memory.learning.vocabulary import Retagged
from ..memory.models import Stored
from ..memory.retention import Report
from ..memory.sessions.consolidation import Consolidation, Group
from ..memory.storage.purge_rows import Purged
from ..memory.verbs.requests import PurgeRequest
from ..replay import load_config
from .command import (
    DATABASE,
    DRY_RUN,
    YES,
    Command,
    confirm,
    of_verb,
    open_memory,
    options_of,
    values_of,
    within,
)
from .listing import JSON, CommandError, option, show, table

_WITHOUT_MODEL = option("--no-model", action="store_true", help="compare no meanings, and store no vector yet")


def _learned(learned: Learned, arguments: argparse.Namespace) -> str:
    tags = f", tags {', '.join(learned.tags)}" if learned.tags else ""
    text = f"{learned.status}: {learned.memory_id} ({learned.category}, confidence {learned.confidence:.2f}{tags})\n"
    for name, ids in {"similar to": learned.similar_ids, "contradicts": learned.contradicts}.items():
        text += f"{name}: {', '.join(map(str, ids))}\n" if ids else ""
    return text


def _saved(stored: Stored, arguments: argparse.Namespace) -> str:
    seen = f", seen {stored.times_seen} times" if stored.times_seen > 1 else ""
    reason = f" ({stored.reason})" if stored.reason else ""
    return f"saved: {stored.memory_id}{seen}{reason}\n"


def _consolidated(report: Consolidation, arguments: argparse.Namespace) -> str:
    would = "would be" if report.dry_run else "were"
    return "".join(_group_text(group) for group in report.groups) + (
        f"{report.grouped} of {report.considered} facts {would} represented by another one, "
        f"{report.superseded} {would} superseded\n"
    )


def _group_text(group: Group) -> str:
    lines = [f"{group.representative.id}  {group.representative.content}"]
    lines += [f"  {fact.id}  {fact.content}" for fact in group.members]
    lines += [f"  {fact.id}  {fact.content} (superseded)" for fact in group.superseded]
    return "\n".join(lines) + "\n"


def _retagged(result: Retagged, arguments: argparse.Namespace) -> str:
    new_tag, would = getattr(arguments, "new_tag", ""), "would be " if arguments.dry_run else ""
    done = "removed" if not new_tag else f"merged into {new_tag}" if result.merged else f"renamed {new_tag}"
    return f"{arguments.tag} {would}{done}, in {result.memories:,} memories\n"


_BUDGETS = {
    "rows": "max_memories", "bytes": "retention_bytes", "age": "retention_age", "budgets": "retention_budgets",
    "sightings": "retention_sightings", "export": "retention_export",
}  # fmt: skip
"""Options, each with the parameter that it overrides."""
_PARAMETERS = {entry.name: entry for entry in fields(Parameters)}


def _retention(arguments: argparse.Namespace) -> None:
    parameters = load_config(arguments.config).parameters if arguments.config else Parameters()
    overrides = {name: getattr(arguments, name) for name in _BUDGETS.values()}
    budgets: dict[str, Any] = {
        name: getattr(parameters, name) if value is None else value for name, value in overrides.items()
    }
    with open_memory(arguments.db, read_only=True, **budgets) as memory:
        plan = memory.retain(dry_run=True)
    empty = not (plan.memories or plan.sightings or plan.path_points)
    if arguments.dry_run or empty or not arguments.json:
        show(arguments, _report_fields(plan), _report_text(plan, "would go"))
    if arguments.dry_run or empty:
        return
    # Nothing is open while the user decides: a memory with budgets enforces them by itself.
    path = f", {plan.path_points:,} points of the path" if plan.path_points else ""
    confirm(f"Remove {plan.memories:,} memories and {plan.sightings:,} sightings{path}?", yes=arguments.yes)
    with open_memory(arguments.db) as memory:
        # Maintenance enforces budgets too; it must not come first, or nothing is left to report.
        memory.flush()
        memory.parameters = memory.parameters.changed(**budgets)
        report = memory.retain()
    show(arguments, _report_fields(report), _report_text(report, "went"))


def _report_text(report: Report, verb: str) -> str:
    shares = [
        (share.reason.value, share.collection, share.kind.value, share.memories, share.payload)
        for share in report.shares
    ]
    first = [
        (str(row.memory_id), row.protection, f"{row.usefulness:.3f}", row.collection, row.content[:60])
        for row in report.examples
    ]
    text = table(("budget", "collection", "kind", "memories", "bytes"), shares)
    path = f", {report.path_points:,} points of the path" if report.path_points else ""
    text += f"{verb}: {report.memories:,} memories, {report.sightings:,} sightings{path}\n"
    if first:
        text += f"\nfirst:\n{table(('id', 'protection', 'usefulness', 'collection', 'content'), first)}\n"
    return text


def _report_fields(report: Report) -> dict[str, object]:
    first = [
        {"id": row.memory_id, "protection": row.protection, "usefulness": row.usefulness, "content": row.content}
        for row in report.examples
    ]
    return {
        "memories": report.memories, "sightings": report.sightings, "path_points": report.path_points,
        "shares": report.shares, "first": first,
    }  # fmt: skip


def _purge(arguments: argparse.Namespace) -> None:
    if arguments.finish:
        with open_memory(arguments.db) as memory:
            is_finished = memory.finish_purge()
        text = "the traces are overwritten\n" if is_finished else "there are no traces\n"
        return show(arguments, {"finished": is_finished}, text)
    selection = values_of(arguments, PurgeRequest)
    del selection["dry_run"]  # first it is shown what would go
    if arguments.older_than is not None:
        selection["before"] = time.time_ns() - round(arguments.older_than * DAY)
    if all(value is None for value in selection.values()):
        raise CommandError("nothing is chosen; give --id, --session, --collection, --older-than or --before")
    with open_memory(arguments.db, read_only=True) as memory:
        preview = memory.purge(**selection, dry_run=True)
    if arguments.dry_run or not arguments.json:
        examples = [{"id": memory_id, "content": content} for memory_id, content in preview.examples]
        counts = {name: value for name, value in vars(preview).items() if not name.startswith("bytes")}
        show(arguments, {**counts, "examples": examples}, _preview_text(preview))
    if arguments.dry_run:
        return None
    parts = (preview.memories, preview.sightings, preview.sessions, preview.repetitions)
    if any((*parts, preview.path_points, preview.maps)):
        confirm(f"Delete {preview.memories:,} memories{_places(preview)} for good?", yes=arguments.yes)
    with open_memory(arguments.db) as memory:
        outcome = memory.purge(**selection)
    text = (
        f"deleted: {outcome.memories:,} memories, {_counts(outcome)}; "
        f"the file had {outcome.bytes_before:,} bytes and has {outcome.bytes_after:,}\n"
    )
    listed = {"shares", "examples"}
    return show(arguments, {name: value for name, value in vars(outcome).items() if name not in listed}, text)


def _preview_text(preview: Purged) -> str:
    shares = [
        (row.collection, row.kind.value, row.memories, time_text(row.first_observed), time_text(row.last_observed))
        for row in preview.shares
    ]
    text = table(("collection", "kind", "memories", "first observed", "last observed"), shares) or "no memories\n"
    if preview.examples:
        text += "\n" + table(("id", "content"), [(str(memory_id), content) for memory_id, content in preview.examples])
    if remainder := preview.memories - len(preview.examples):
        text += f"and {remainder:,} more\n"
    return f"{text}\n{_counts(preview)}\n"


def _counts(part: Purged) -> str:
    counts = f"{part.sightings:,} sightings, {part.sessions:,} sessions, {part.repetitions:,} repetitions"
    return f"{counts}{_places(part)}"


def _places(part: Purged) -> str:
    points = f", {part.path_points:,} points of the path" if part.path_points else ""
    return points + (f", {part.maps:,} maps" if part.maps else "")


COMMANDS = (
    of_verb("learn", "learn", _WITHOUT_MODEL, text=_learned, fills=True, insight="text"),
    of_verb("save_perception", "save", text=_saved, fills=True, description="text"),
    of_verb("update"),
    of_verb("forget"),
    of_verb("look", text=lambda gone, _: "" if gone else "nothing was believed to be there\n"),
    of_verb("restore"),
    of_verb("sessions.consolidate", "consolidate", text=_consolidated),
    Command(
        "retention", "delete the least useful memories",
        "Delete the least useful memories until the budgets hold, after asking. The node does the same in the "
        "background, by the same parameters: max_memories, retention_bytes and so on.", _retention,
        (
            DATABASE,
            option("--config", help="parameter file of the node, for the budgets that are not given here"),
            *(
                option(
                    f"--{name}", dest=parameter, type=type(_PARAMETERS[parameter].default),
                    help=f"override {parameter}: {_PARAMETERS[parameter].metadata['description']}",
                )
                for name, parameter in _BUDGETS.items()
            ),
            DRY_RUN,
            YES,
            JSON,
        ),
    ),
    Command(
        "purge", "delete memories without a trace",
        "Delete memories, active or forgotten, and every trace of them in the file and in the backups of migrations "
        "beside it. This cannot be undone, so it asks first. Of several conditions, all must hold. Files that "
        "retention exported are left alone.", _purge,
        (
            DATABASE,
            *options_of(PurgeRequest, but={"before"}, ids="--id", session_id="--session"),
            (
                option(
                    "--older-than", type=within(0.0, 100_000.0), metavar="DAYS",
                    help="memories observed at least so long ago",
                ),
                *options_of(PurgeRequest, but={"ids", "session_id", "collection", "dry_run"}),
            ),
            option("--finish", action="store_true", help="only finish a purge that could not overwrite its traces"),
            YES,
            JSON,
        ),
    ),
    of_verb("tags.all", "tag list", columns="tag,parent,display_name,memories"),
    of_verb("tags.add", "tag add"),
    of_verb("tags.rename", "tag rename", text=_retagged, new_tag="NEW_TAG"),
    of_verb("tags.remove", "tag remove", text=_retagged),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
