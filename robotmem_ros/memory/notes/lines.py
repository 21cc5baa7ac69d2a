"""Give the lines of a note, as it was read last; no file is opened for it, so nothing else can be read this way."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from .. import validation
from ..errors import InvalidFieldError, did_you_mean
from ..storage import note_rows
from ..storage.note_rows import FileState, FolderState
from ..storage.snapshot import Snapshot

_LONGEST_PATH = 4096
MOST_LINES = 10_000
_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class NoteLines:
    """Some lines of a note."""

    path: str
    first_line: int
    """From 1."""
    last_line: int
    """Itself included; one less than the first if the note is empty."""
    lines: int
    """Number of lines of the whole note."""
    text: str


@dataclass(frozen=True)
class NotesState:
    """The folders and files of notes, as they were seen last."""

    folders: tuple[FolderState, ...]
    files: tuple[FileState, ...]


def note_lines(snapshot: Snapshot, path: object, first_line: object, lines: object) -> NoteLines:
    """Return `lines` lines of a note from `first_line` on, or as many as there are.

    Raises:
        InvalidFieldError: there is no such note, it could not be read, or it has no such line.
    """
    name = unicodedata.normalize("NFC", validation.text("path", path, limit=_LONGEST_PATH, required=True))
    first, limit = validation.whole("first_line", first_line), validation.whole("lines", lines)
    if not 1 <= limit <= MOST_LINES:
        raise InvalidFieldError("lines", limit, f"must lie in 1 to {MOST_LINES} lines")
    every = lines_of(_text(snapshot, name))
    if not 1 <= first <= max(len(every), 1):
        raise InvalidFieldError("first_line", first, f"is no line of {name!r}, which has {len(every)}")
    page = every[first - 1 : first - 1 + limit]
    return NoteLines(name, first, first - 1 + len(page), len(every), "\n".join(page))


def notes_state(snapshot: Snapshot) -> NotesState:
    """Return the folders and files of notes, as they were seen last."""
    return NotesState(note_rows.folders(snapshot), note_rows.files(snapshot))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without their ends."""
    lines = _LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def _text(snapshot: Snapshot, path: str) -> str:
    note = note_rows.text_of(snapshot, path)
    if note is None:
        paths = note_rows.paths(snapshot)
        near = did_you_mean(path, paths) or ("" if paths else "; there are no notes (parameter notes_folders)")
        raise InvalidFieldError("path", path, f"is no note; give a path as recall returns it{near}")
    text, error = note
    if error and not text:
        raise InvalidFieldError("path", path, error)
    return text
