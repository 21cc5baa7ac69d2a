"""Scan a memory, and read some of it in full: timeline, list, get, notes, note."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any

from ..memory import MemoryDetails, RobotMemory, TimelineEntry
from ..memory.display import json_values, place_text, position_text, time_text
from ..memory.search.request import CountsRequest, TimelineRequest
from ..memory.verbs.requests import GetMemoriesRequest, NoteLinesRequest
from .command import FLEET_URL, Shown, on_memory, options_of, values_of
from .listing import option, table
from .output import write_notice
from .reading import change_rows

_HEAD = ("time", "id", "kind", "what", "")


@on_memory(
    "timeline", "list memories by time", "List memories in brief, page by page, newest first.",
    *options_of(TimelineRequest), FLEET_URL, lists="entries",
)  # fmt: skip
def _timeline(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    page = memory.timeline(**values_of(arguments, TimelineRequest))
    collections = memory.counts("collections")
    text = table(_HEAD, [_entry_row(entry) for entry in page]) or "nothing found\n"
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


@on_memory(
    "get", "show memories in full", "Show memories in full, with sightings and history.",
    *options_of(GetMemoriesRequest, ids="ID"), lists="memories",
)  # fmt: skip
def _get(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    memories = memory.get_memories(**values_of(arguments, GetMemoriesRequest))
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
    if details.last_accessed is not None:
        yield f"recalled {details.access_count} times, last {time_text(details.last_accessed)}"
    if memory.context_json != "{}":
        yield f"context {memory.context_json}"
    if data is not None:
        yield f"{len(data.data):,} bytes of {data.data_format or 'unknown format'}, metadata {data.metadata_json}"


@on_memory(
    "list", "count the memories of each value", "List the values of a field with the number of their memories.",
    *options_of(CountsRequest, field="field"),
    option("--areas-file", default="", metavar="FILE", help="polygons of areas, as the parameter areas_file"),
    FLEET_URL, lists=lambda arguments: str(arguments.field),
)  # fmt: skip
def _list(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    counts = memory.counts(**values_of(arguments, CountsRequest))
    if counts.reason:
        write_notice(f"robotmem: {counts.reason}\n")
    return Shown({arguments.field: counts}, table((), counts) or "none\n")


@on_memory(
    "note", "print lines of a note", "Print lines of a note, as the memory read it last.",
    *options_of(NoteLinesRequest, path="path", first_line="--from"),
)  # fmt: skip
def _note(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    note = memory.notes.lines(**values_of(arguments, NoteLinesRequest))
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


COMMANDS = (_timeline, _get, _list, _note, _notes)
"""Commands, in the order in which help lists them."""
