"""Scan a memory, and read some of it in full: timeline, list, get, notes, note."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any

from ..memory import MemoryDetails, TimelineEntry
from ..memory.display import json_values, place_text, position_text, time_text
from ..memory.search.request import CountField, CountsRequest, TimelineRequest
from ..memory.verbs.requests import GetMemoriesRequest
from .command import (
    DATABASE,
    FLEET_URL,
    JSON,
    Command,
    fleet_of,
    open_memory,
    option,
    options_of,
    show,
    table,
    values_of,
)
from .listing import LISTING, show_list
from .output import write_notice
from .reading import change_rows

_LINES = 100
_HEAD = ("time", "id", "kind", "what", "")


def _timeline(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True, **fleet_of(arguments)) as memory:
        page = memory.timeline(**values_of(arguments, TimelineRequest))
        collections = memory.counts("collections")
    text = table(_HEAD, [_entry_row(entry) for entry in page]) or "nothing found\n"
    if not page and collections:
        text += f"(there are the collections {', '.join(f'{name!r} ({n})' for name, n in collections)})\n"
    if page.cursor:
        text += f"(more: --cursor {page.cursor})\n"
    if page.reason:
        text += f"({page.reason})\n"
    show_list(arguments, dataclasses.asdict(page), "entries", text)


def _entry_row(entry: TimelineEntry) -> tuple[object, ...]:
    description = " ".join(filter(None, (entry.category, entry.label)))
    status = "" if entry.status == "active" else f" [{entry.status}]"
    status += f" [{entry.robot}]" if entry.robot else ""
    tags = f" #{' #'.join(entry.tags)}" if entry.tags else ""
    return time_text(entry.observed_at), str(entry.id), entry.kind.value, description, f"{entry.snippet}{tags}{status}"


def _get(arguments: argparse.Namespace) -> int:
    with open_memory(arguments.db, read_only=True) as memory:
        memories = memory.get_memories(**values_of(arguments, GetMemoriesRequest))
    lines = [line for details in memories for line in _lines(details)]
    result = {"memories": [_values(details) for details in memories]}
    show_list(arguments, result, "memories", "".join(f"{line}\n" for line in lines))
    if memories.reason:
        write_notice(f"robotmem: not found: {memories.reason}\n")
    return 1 if memories.reason else 0


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


def _list(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True, areas_file=arguments.areas_file, **fleet_of(arguments)) as memory:
        counts = memory.counts(**values_of(arguments, CountsRequest))
    if counts.reason:
        write_notice(f"robotmem: {counts.reason}\n")
    show_list(arguments, {arguments.field: counts}, arguments.field, table((), counts) or "none\n")


def _note(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True) as memory:
        note = memory.notes.lines(arguments.path, arguments.first_line, arguments.lines)
    show(arguments, note, f"{note.text}\n" if note.text else "")


def _notes(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True) as memory:
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
    show_list(arguments, dataclasses.asdict(state), "files" if arguments.files else "folders", text)


COMMANDS = (
    Command(
        "timeline", "list memories by time", "List memories in brief, page by page, newest first.", _timeline,
        (DATABASE, *options_of(TimelineRequest), FLEET_URL, *LISTING),
    ),
    Command(
        "get", "show memories in full", "Show memories in full, with sightings and history.", _get,
        (
            *options_of(GetMemoriesRequest, ids="ID"),
            DATABASE,
            *LISTING,
        ),
    ),
    Command(
        "list", "count the memories of each value", "List the values of a field with the number of their memories.",
        _list,
        (
            option("field", choices=[field.value for field in CountField], help="what to list"),
            *options_of(CountsRequest, but={"field"}),
            DATABASE,
            option("--areas-file", default="", metavar="FILE", help="polygons of areas, as the parameter areas_file"),
            FLEET_URL,
            *LISTING,
        ),
    ),
    Command(
        "note", "print lines of a note", "Print lines of a note, as the memory read it last.", _note,
        (
            option("path", help="as recall gives it, such as handbook/battery.md"),
            option("--from", dest="first_line", type=int, default=1, metavar="N", help="first line; default: 1"),
            option("--lines", type=int, default=_LINES, metavar="M", help="how many lines; default: %(default)s"),
            DATABASE,
            JSON,
        ),
    ),
    Command(
        "notes", "list folders of notes, and files that cannot be read",
        "List the folders of notes with what was read of them, and the files that could not be read.", _notes,
        (option("--files", action="store_true", help="list all files"), DATABASE, *LISTING),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
