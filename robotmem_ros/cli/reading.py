"""Read a memory, in brief and in full, and tell how it is: recall, status, timeline, get, list, notes, doctor, ..."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from ..memory import BriefMemory, Hit, Kind, Memory, MemoryDetails, Mode, PerceptionData
from ..memory.display import json_values, place_text, position_text, time_text
from ..memory.doctor import Finding, Severity, unopened, worst
from ..memory.errors import DatabaseUnusableError, MemoryNotFoundError, StorageError
from ..memory.intake_report import IntakeReport
from ..memory.new_file import new_file
from ..memory.robot_memory import RobotMemory
from ..memory.search.request import CountsRequest, RecallRequest, TimelineRequest
from ..memory.verbs.requests import GetMemoriesRequest
from .command import (
    AREAS_FILE,
    DATABASE,
    FLEET_URL,
    NO_MODEL,
    Command,
    Shown,
    of_verb,
    on_memory,
    opened,
    options_of,
    values_of,
)
from .listing import LISTING, CommandError, option, show, table, text_of
from .output import write_notice

_INTAKE_COLUMNS = "role,received,received_per_second,last_received_at,stored,drops,publishers"
_EXIT_CODES = {Severity.OK: 0, Severity.WARN: 1, Severity.ERROR: 2}
_SIGNS = {"add": "+ {:.3f}", "multiply": "x {:.3f}"}


RECALL = (
    *options_of(RecallRequest, but={"query"}),
    option("--brief", action="store_true", help="the part of each text that answers the query, marked"),
    NO_MODEL,
)
"""Options of a recall."""
_QUERY = option("query", nargs="?", default="", help="words; optional with a condition or --spatial-sort")
_ID = option("id", type=int, metavar="ID", help="the memory, forgotten or not")


def recalled(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    """Recall by the options of RECALL."""
    result = memory.recall(**values_of(arguments, RecallRequest))
    if arguments.brief:
        brief = result.brief()
        memories: Sequence[object] = brief
        lines = [_brief_line(memory) for memory in brief]
    else:
        memories = result.to_dicts()
        lines = [line for hit in result for line in _hit_lines(hit)]
    if not result:
        lines.append("nothing found")
    if result.reason:
        lines.append(f"({result.mode.value}: {result.reason})")
    fields = {"mode": result.mode, "reason": result.reason, "relevant": result.relevant, "memories": memories}
    return Shown(fields, "\n".join(lines) + "\n")


_recall = on_memory(
    "recall",
    "query a memory",
    "Find memories, best first.",
    _QUERY,
    *RECALL,
    FLEET_URL,
    verb="recall",
    lists="memories",
)(recalled)


def _brief_line(memory: BriefMemory) -> str:
    faded = ", faded" if memory.faded else ""
    details = f"{time_text(memory.observed_at)}, id {memory.id}{faded}{_folded(memory)}"
    return f"{memory.score:.2f}  {memory.snippet}{place_text(memory.pose, memory.frame_id)}  [{details}]"


def _folded(hit: Hit | BriefMemory) -> str:
    return f", and {hit.folded_count} older of the same text" if hit.folded_count else ""


def _hit_lines(hit: Hit) -> Iterator[str]:
    yield _note_line(hit) if hit.memory.kind is Kind.NOTE else _hit_line(hit)
    explanation = hit.explanation
    if explanation is None:
        return
    ranks = ((explanation.text_rank, "in words"), (explanation.vector_rank, "in meaning"))
    ranks_text = "".join(f", number {rank} {search}" for rank, search in ranks if rank)
    words = "holds no word"
    if hit.matched_terms:
        bm25 = f" (BM25 {explanation.bm25:.2f}, {explanation.bm25_share:.0%} of each word once)"
        words = f"holds {' '.join(hit.matched_terms)}{'' if hit.robot else bm25}"
    meaning = "no vector" if math.isnan(hit.similarity) else f"cosine {hit.similarity:.3f}"
    yield f"      {words}, {meaning}{ranks_text}"
    rows = [
        (part.name, _SIGNS[part.operation].format(part.value), f"= {part.score:.3f}", part.reason)
        for part in explanation.parts
    ]
    yield from (f"      {line}" for line in table((), rows).splitlines())


def _note_line(hit: Hit) -> str:
    note = hit.memory.context["note"]
    place = f"{note['path']}:{note['first_line']}-{note['last_line']}, id {hit.id}{_folded(hit)}"
    return f"{hit.score:.2f}  {' '.join(hit.memory.content.split())}  [relevance {hit.relevance:.2f}, {place}]"


def _hit_line(hit: Hit) -> str:
    memory = hit.memory
    doubt = f", contradicted by {memory.contradicted_by}" if memory.contradicted_by else ""
    similar = f", similar to {', '.join(map(str, memory.similar_ids))}" if memory.similar_ids else ""
    faded = f", faded to confidence {memory.confidence:.2f}" if memory.faded else ""
    robot = f", robot {hit.robot}" if hit.robot else ""
    change = _change_text(memory)
    about = f"{time_text(memory.observed_at)}, id {memory.id}{robot}{change}{faded}{doubt}{similar}{_folded(hit)}"
    place = place_text(memory.pose, memory.frame_id)
    return f"{hit.score:.2f}  {memory.content}{place}  [relevance {hit.relevance:.2f}, {about}]"


def _change_text(memory: Memory) -> str:
    # What became of an object, if that was asked.
    origin = f" from {position_text(memory.moved_from[:3])}" if memory.moved_from else ""
    left = memory.change == "left" and memory.first_absent
    absence = f", found gone {time_text(left)}" if left else ""
    return f", {memory.change}{origin}{absence}" if memory.change else ""


@on_memory(
    "status",
    "show what a memory contains",
    "Show what a memory contains, by which searches `robotmem recall` finds it, what is missing for them, and what "
    "nodes reported of their intake; with a fleet also what it lacks.",
    NO_MODEL,
    FLEET_URL,
)
def _status(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    memory.wait_for_model()
    status = memory.status()
    fields = {name: getattr(status, name) for name in status.__dataclass_fields__} | {"mode": status.mode.value}
    del fields["write_error"]  # nothing is written here
    if not memory.parameters.fleet_url:
        del fields["fleet_backlog"], fields["fleet_trouble"]
    if status.mode is Mode.HYBRID and status.pending_vectors and not status.vectors:
        reason = "no memory has a vector yet (a program that keeps the file open computes them)"
        fields |= {"mode": Mode.BM25_ONLY.value, "reason": "; ".join(filter(None, (reason, status.reason)))}
    text = text_of({**fields, "intake": status.intake.words, "intake_problem": status.intake.trouble})
    return Shown(fields, text + "".join(map(_intake_text, status.intake.reports)))


def _intake_text(report: IntakeReport) -> str:
    topics = [{report.node: topic["topic"], **topic} for topic in json_values(report)["topics"]]
    return indent(text_of({"topics": topics}, {"topics": f"{report.node},{_INTAKE_COLUMNS}"}), "  ")


@on_memory(
    "history", "show what a memory was before", "List the changes of a memory, newest first.", _ID, lists="changes"
)
def _history(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    changes = memory.history(arguments.id)
    return Shown({"changes": changes}, "" if changes else "never changed\n")


@on_memory(
    "explain", "show why a memory is what it is", "Show what was decided about a memory, and by which rule.", _ID
)
def _explain(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    return Shown(memory.explain(arguments.id))


@on_memory(
    "data",
    "show or write the raw data of a perception",
    "Show the metadata of a perception; with --out, write its raw data or thumbnail.",
    _ID,
    option("--out", type=Path, metavar="FILE", help="new file to write the data to"),
    verb="data",
)
def _data(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    record = memory.data(arguments.id)
    if arguments.out is not None:
        if not record.data:
            raise MemoryNotFoundError(record.memory_id, "it has metadata and no data")
        try:
            with new_file(arguments.out) as file:
                file.write(record.data)
        except OSError as cause:
            problem = f"cannot be written ({cause.strerror or cause}); give the path of a new file"
            raise CommandError(f"--out: {str(arguments.out)!r} {problem}") from cause
    return Shown({"id": record.memory_id, "perception_type": record.perception_type, **_about(record)})


def _about(data: PerceptionData) -> dict[str, object]:
    # The bytes are written by the command `data`.
    return {"bytes": len(data.data), "data_format": data.data_format, "metadata": data.metadata}


@on_memory(
    "timeline", "list memories by time", "List memories in brief, page by page, newest first.",
    *options_of(TimelineRequest), FLEET_URL, verb="timeline", lists="entries",
    columns="observed_at,id,kind,category,label,change,snippet,tags,status,robot",
)  # fmt: skip
def _timeline(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    page = dataclasses.asdict(memory.timeline(**values_of(arguments, TimelineRequest)))
    if not page["entries"] and (collections := memory.counts("collections")):
        write_notice(f"robotmem: there are the collections {', '.join(f'{name!r} ({n})' for name, n in collections)}\n")
    return Shown(page)


@on_memory(
    "get", "show memories in full", "Show memories in full, with sightings and history.",
    *options_of(GetMemoriesRequest), verb="get_memories", lists="memories",
)  # fmt: skip
def _get(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    memories = memory.get_memories(**values_of(arguments, GetMemoriesRequest))
    if memories.reason:
        write_notice(f"robotmem: not found: {memories.reason}\n")
    records = [_values(details) for details in memories]
    return Shown({"memories": records}, "\n".join(map(text_of, records)) or "\n", 1 if memories.reason else 0)


def _values(details: MemoryDetails) -> dict[str, Any]:
    values: dict[str, Any] = json_values(dataclasses.replace(details, data=None))
    values["data"] = details.data and _about(details.data)
    return {**values.pop("memory"), **values}


@on_memory(
    "list", "count the memories of each value", "List the values of a field with the number of their memories.",
    *options_of(CountsRequest), AREAS_FILE, FLEET_URL, verb="counts",
    lists=lambda arguments: str(arguments.field), columns="value,memories",
)  # fmt: skip
def _list(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    counts = memory.counts(**values_of(arguments, CountsRequest))
    if counts.reason:
        write_notice(f"robotmem: {counts.reason}\n")
    return Shown({arguments.field: counts})


@on_memory(
    "notes", "list folders of notes, and files that cannot be read",
    "List the folders of notes with what was read of them, and the files that could not be read.",
    option("--files", action="store_true", help="list all files"),
    lists=lambda arguments: "files" if arguments.files else "folders",
)  # fmt: skip
def _notes(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    state: dict[str, Any] = json_values(memory.notes.state())
    shown = {**state, "files": [file for file in state["files"] if arguments.files or file["error"]]}
    return Shown(state, text_of(shown) or "no folders of notes (parameter notes_folders)\n")


def _examined(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    return _shown_findings(memory.doctor(fix=arguments.fix))


def _shown_findings(findings: Sequence[Finding]) -> Shown:
    severity = worst(findings)
    rows = [
        (finding.severity.value, finding.name, f"{finding.seen}{f' [{finding.remedy}]' if finding.remedy else ''}")
        for finding in findings
    ]
    return Shown({"severity": severity, "findings": findings}, table((), rows), _EXIT_CODES[severity])


def _doctor(arguments: argparse.Namespace) -> int:
    try:
        with opened(arguments, read_only=not arguments.fix) as memory:
            shown = _examined(memory, arguments)
    except (DatabaseUnusableError, StorageError) as error:
        shown = _shown_findings([unopened(error)])
    show(arguments, shown.result, shown.text, "findings")
    return shown.exit_code


COMMANDS = (
    _recall,
    _status,
    of_verb(
        "sessions.latest", "sessions",
        columns="session_id,collection,started_at,ended_at,end_reason,outcome,memories,superseded,context",
    ),
    _history, _explain, _data, _timeline, _get, _list,
    of_verb(
        "objects",
        columns="memory_id,label,position,frame_id,confidence,presence,times_seen,last_seen,collection",
    ),
    of_verb("notes.lines", "note", text=lambda note, _: f"{note.text}\n" if note.text else "\n", first_line="--from"),
    _notes,
    Command(
        "doctor", "examine a memory, and mend it",
        "Examine a memory: its file, indexes, model, disk, clock and recalls. The exit code is 0 if all is well, 1 if "
        "the worst finding is a warning, 2 if it is an error.", _doctor,
        (
            option("--fix", action="store_true", help="mend what can be mended without a loss"),
            DATABASE, NO_MODEL, *LISTING,
        ),
        _examined, "doctor", "findings",
    ),
    of_verb(
        "recalls", lists="recalls", columns="recalled_at,caller,mode,hits,relevance,milliseconds,query,digest",
        defaults={"n": 20},
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
