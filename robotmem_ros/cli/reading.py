"""Read a memory, in brief and in full, and tell how it is: recall, status, timeline, get, list, notes, doctor, ..."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..memory import BriefMemory, Change, Explanation, Hit, Kind, Memory, MemoryDetails, Mode, TimelineEntry
from ..memory.display import json_values, place_text, position_text, time_text
from ..memory.doctor import Finding, Severity, unopened, worst
from ..memory.errors import DatabaseUnusableError, MemoryNotFoundError, StorageError
from ..memory.intake_report import PERCEPTIONS, Intake, TopicReport
from ..memory.models import SeenObject, Session
from ..memory.new_file import new_file
from ..memory.notes.lines import NoteLines
from ..memory.robot_memory import RobotMemory
from ..memory.search.counts import Counts
from ..memory.search.details import MemoriesInFull
from ..memory.search.request import CountsRequest, RecallRequest, TimelineRequest
from ..memory.search.usage import RecallLog
from ..memory.times import ago
from ..memory.verbs.requests import (
    GetMemoriesRequest,
    NoteLinesRequest,
    RecallsRequest,
    SeenObjectsRequest,
    SessionsRequest,
)
from .command import (
    AREAS_FILE,
    DATABASE,
    FLEET_URL,
    NO_MODEL,
    Command,
    Shown,
    on_memory,
    on_verb,
    opened,
    options_of,
    values_of,
)
from .listing import LISTING, CommandError, option, show, table
from .output import write_notice

_SESSION_HEAD = ("session", "collection", "started", "duration", "end", "outcome", "memories", "superseded", "context")
_INTAKE_HEAD = ("for", "received", "rate", "last message", "stored", "dropped", "publishers")
_ENTRY_HEAD = ("time", "id", "kind", "what", "")
_CONTEXT_SHOWN = 60
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
    lines = [f"{name.replace('_', ' ')}: {value}\n" for name, value in fields.items() if name != "intake"]
    return Shown(fields, "".join([*lines, *_intake_lines(status.intake)]))


def _intake_lines(intake: Intake) -> Iterator[str]:
    yield f"intake: {intake.words}\n"
    if intake.trouble:
        yield f"intake problem: {intake.trouble}\n"
    for report in intake.reports:
        rows = [_topic_row(topic, report.reported_at + round(report.age * 1e9)) for topic in report.topics]
        yield "".join(f"  {line}\n" for line in table((report.node, *_INTAKE_HEAD), rows).splitlines())


def _topic_row(topic: TopicReport, now: int) -> tuple[object, ...]:
    is_stored = topic.role == PERCEPTIONS
    drops = ", ".join(f"{number:,} {reason}" for reason, number in topic.drops.items())
    last = "never" if topic.last_received_at is None else ago(topic.last_received_at, now)
    return (
        topic.topic, "" if is_stored else topic.role, f"{topic.received:,}", f"{topic.received_per_second:.1f}/s", last,
        f"{topic.stored:,}" if is_stored else "", drops, topic.publishers,
    )  # fmt: skip


@on_verb(
    "sessions.latest", SessionsRequest, "sessions", "list sessions", "List sessions, the latest first.",
    lists="sessions",
)  # fmt: skip
def _sessions(sessions: Sequence[Session], arguments: argparse.Namespace) -> Shown:
    text = table(_SESSION_HEAD, [_session_row(session) for session in sessions]) or "no sessions\n"
    return Shown({"sessions": sessions}, text)


def _session_row(session: Session) -> tuple[object, ...]:
    context = session.context_json
    return (
        session.session_id,
        session.collection,
        time_text(session.started_at),
        "" if session.duration is None else f"{session.duration:.1f} s",
        session.end_reason or "open",
        "" if session.outcome is None else f"{session.outcome:.2f}",
        session.memories,
        "" if session.superseded is None else session.superseded,
        context if len(context) <= _CONTEXT_SHOWN else f"{context[:_CONTEXT_SHOWN]}...",
    )


@on_memory(
    "history", "show what a memory was before", "List the changes of a memory, newest first.", _ID, lists="changes"
)
def _history(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    changes = memory.history(arguments.id)
    text = table(("when (UTC)", "change", "reason", "before"), change_rows(changes)) or "never changed\n"
    return Shown({"id": arguments.id, "changes": changes}, text)


def change_rows(changes: Iterable[Change]) -> list[tuple[str, ...]]:
    """Return the rows of a table of changes."""
    return [(change.changed_at[:19], change.change, change.reason, _before(change.before)) for change in changes]


def _before(fields: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {_plain(value)}" for name, value in fields.items())


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@on_memory(
    "explain", "show why a memory is what it is", "Show what was decided about a memory, and by which rule.", _ID
)
def _explain(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    explanation = memory.explain(arguments.id)
    return Shown(explanation, "".join(f"{line}\n" for line in _explanation_lines(explanation)))


def _explanation_lines(explanation: Explanation) -> Iterator[str]:
    times = explanation.times_learned
    yield f"memory {explanation.memory_id}, {explanation.status}, learned {'once' if times == 1 else f'{times} times'}"
    if explanation.reason:
        yield f"  {explanation.status}: {explanation.reason}"
    if explanation.times_in_doubt:
        yield "  stored or changed while the robot's clock was in doubt: its times may be wrong"
    decisions = table((), [(field, value, f"by {rule}") for field, value, rule in explanation.decisions])
    yield from (f"  {line}" for line in decisions.splitlines())
    if not explanation.decisions:
        yield "  nothing was decided by rules"
    for link in explanation.similar:
        yield f"  similar to {link.memory_id} ({link.method} {link.similarity:.2f})"
    for fact in explanation.contradictions:
        relation = "contradicted by" if fact.is_newer else "contradicts"
        yield f"  {relation} {fact.memory_id} ({fact.reason}): {fact.content}"
    for repetition in explanation.repetitions:
        match = f"{repetition.method} {repetition.similarity:.2f}"
        yield f"  again at {time_text(repetition.repeated_at)} ({match}): {repetition.content}"
        for name, value in repetition.gave.items():
            yield f"    gave {name}: {_plain(value)}"


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
    fields = {
        "id": record.memory_id, "perception_type": record.perception_type, "bytes": len(record.data),
        "data_format": record.data_format, "metadata": record.metadata,
    }  # fmt: skip
    size = f"{len(record.data):,} bytes of {record.data_format or 'unknown format'}"
    return Shown(fields, f"{record.perception_type}, {size}\nmetadata: {record.metadata_json}\n")


@on_memory(
    "timeline", "list memories by time", "List memories in brief, page by page, newest first.",
    *options_of(TimelineRequest), FLEET_URL, verb="timeline", lists="entries",
)  # fmt: skip
def _timeline(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    page = memory.timeline(**values_of(arguments, TimelineRequest))
    collections = memory.counts("collections")
    text = table(_ENTRY_HEAD, [_entry_row(entry) for entry in page]) or "nothing found\n"
    if not page and collections:
        text += f"(there are the collections {', '.join(f'{name!r} ({n})' for name, n in collections)})\n"
    if page.cursor:
        text += f"(more: --cursor {page.cursor})\n"
    if page.reason:
        text += f"({page.reason})\n"
    return Shown(dataclasses.asdict(page), text)


def _entry_row(entry: TimelineEntry) -> tuple[object, ...]:
    description = " ".join(filter(None, (entry.category, entry.label)))
    status = "" if entry.status == "active" else f" [{entry.status}]"
    status += f" [{entry.robot}]" if entry.robot else ""
    tags = f" #{' #'.join(entry.tags)}" if entry.tags else ""
    return time_text(entry.observed_at), str(entry.id), entry.kind.value, description, f"{entry.snippet}{tags}{status}"


@on_verb(
    "get_memories", GetMemoriesRequest, "get", "show memories in full",
    "Show memories in full, with sightings and history.", lists="memories", ids="ID",
)  # fmt: skip
def _get(memories: MemoriesInFull, arguments: argparse.Namespace) -> Shown:
    lines = [line for details in memories for line in _lines(details)]
    if memories.reason:
        write_notice(f"robotmem: not found: {memories.reason}\n")
    result = {"memories": [_values(details) for details in memories]}
    return Shown(result, "".join(f"{line}\n" for line in lines), exit_code=1 if memories.reason else 0)


def _values(details: MemoryDetails) -> object:
    # The bytes are shown by the command `data`.
    values: Any = json_values(dataclasses.replace(details, data=None))
    data = details.data
    if data is not None:
        values["data"] = {"bytes": len(data.data), "data_format": data.data_format, "metadata": data.metadata}
    return {**values.pop("memory"), **values}


def _lines(details: MemoryDetails) -> Iterator[str]:
    memory = details.memory
    description = " ".join(filter(None, (memory.category, memory.label, memory.perception_type)))
    yield f"memory {memory.id}, {memory.kind.value}{f' ({description})' if description else ''}: {memory.content}"
    yield from (f"  {line}" for line in _detail_lines(details))
    for sighting in details.sightings:
        yield f"  seen {time_text(sighting.observed_at)} at {position_text(sighting.position)} as {sighting.label}"
    yield from (f"  {line}" for line in table((), change_rows(details.history)).splitlines())


def _detail_lines(details: MemoryDetails) -> Iterator[str]:
    memory, data = details.memory, details.data
    if details.status != "active":
        yield f"{details.status}: {details.status_reason}"
    place = place_text(memory.pose, memory.frame_id)
    session = f", session {memory.session_id}" if memory.session_id else ""
    yield f"{time_text(memory.observed_at)}{place}, collection {memory.collection}{session}"
    tags = f", tags {', '.join(memory.tags)}" if memory.tags else ""
    yield f"confidence {memory.confidence:.2f}{' (faded)' if memory.faded else ''}{tags}"
    if memory.times_seen:
        yield f"seen {memory.times_seen} times since {time_text(memory.first_seen or 0)}"
    if memory.size is not None:
        yield f"size {' x '.join(f'{edge:g}' for edge in memory.size)} m"
    if details.last_accessed is not None:
        yield f"recalled {details.access_count} times, last {time_text(details.last_accessed)}"
    if memory.context_json != "{}":
        yield f"context {memory.context_json}"
    if data is not None:
        yield f"{len(data.data):,} bytes of {data.data_format or 'unknown format'}, metadata {data.metadata_json}"


@on_verb(
    "counts", CountsRequest, "list", "count the memories of each value",
    "List the values of a field with the number of their memories.", AREAS_FILE, FLEET_URL,
    lists=lambda arguments: str(arguments.field), field="field",
)  # fmt: skip
def _list(counts: Counts, arguments: argparse.Namespace) -> Shown:
    if counts.reason:
        write_notice(f"robotmem: {counts.reason}\n")
    return Shown({arguments.field: counts}, table((), counts) or "none\n")


@on_verb(
    "notes.lines", NoteLinesRequest, "note", "print lines of a note",
    "Print lines of a note, as the memory read it last.", path="path", first_line="--from",
)  # fmt: skip
def _note(note: NoteLines, arguments: argparse.Namespace) -> Shown:
    return Shown(note, f"{note.text}\n" if note.text else "")


@on_memory(
    "notes", "list folders of notes, and files that cannot be read",
    "List the folders of notes with what was read of them, and the files that could not be read.",
    option("--files", action="store_true", help="list all files"),
    lists=lambda arguments: "files" if arguments.files else "folders",
)  # fmt: skip
def _notes(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    state = memory.notes.state()
    folders = [
        (folder.name, folder.path, folder.collection, folder.files, folder.notes, folder.errors, folder.error)
        for folder in state.folders
    ]
    head = ("folder", "path", "collection", "files", "notes", "unread", "error")
    text = table(head, folders) or "no folders of notes (parameter notes_folders)\n"
    files = [file for file in state.files if arguments.files or file.error]
    if files:
        text += "\n" + table(("file", "notes", "error"), [(file.path, file.notes, file.error) for file in files])
    return Shown(dataclasses.asdict(state), text)


@on_verb(
    "objects", SeenObjectsRequest, "objects", "list objects",
    "List the objects of the present map in all collections, those seen last first.", lists="objects",
)  # fmt: skip
def _objects(objects: Sequence[SeenObject], arguments: argparse.Namespace) -> Shown:
    rows = [
        (
            seen.memory_id, seen.label, f"{position_text(seen.position)} in {seen.frame_id}", f"{seen.confidence:.2f}",
            "" if math.isnan(seen.presence) else f"{seen.presence:.2f}", seen.times_seen, time_text(seen.last_seen),
            seen.collection,
        )
        for seen in objects
    ]  # fmt: skip
    head = ("id", "label", "place", "confidence", "presence", "seen", "last seen", "collection")
    return Shown({"objects": [seen._asdict() for seen in objects]}, table(head, rows) or "no objects\n")


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


@on_verb(
    "recalls", RecallsRequest, "recalls", "list the last recalls, and the memories that are recalled most",
    "List the last recalls of all programs that write to the file, and the memories that are recalled most often.",
    lists="recalls", defaults={"n": 20},
)  # fmt: skip
def _recalls(log: RecallLog, arguments: argparse.Namespace) -> Shown:
    recalls = [
        (
            time_text(entry.recalled_at), entry.caller, entry.mode, entry.hits,
            "" if entry.relevance is None else f"{entry.relevance:.2f}", f"{entry.milliseconds:.1f}",
            entry.query or entry.digest,
        )
        for entry in log.recalls
    ]  # fmt: skip
    text = table(("time", "caller", "mode", "hits", "relevance", "ms", "query"), recalls) or "no recalls\n"
    if log.most_used:
        used = [
            (entry.memory_id, entry.access_count, time_text(entry.last_accessed), entry.snippet)
            for entry in log.most_used
        ]
        text += "\n" + table(("id", "recalled", "last", "most used memories"), used)
    return Shown(log, text)


COMMANDS = (
    _recall, _status, _sessions, _history, _explain, _data, _timeline, _get, _list, _objects, _note, _notes,
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
    _recalls,
)  # fmt: skip
"""Commands, in the order in which help lists them."""
