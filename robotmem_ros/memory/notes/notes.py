"""Notes: the folders of files that people wrote, as the ingestor stores them and as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..models import NewMemory
from ..storage import note_rows
from ..storage.note_rows import FolderRow, KnownNotes, NoteFile
from ..verbs.access import Access
from ..verbs.requests import NoteLinesRequest
from ..verbs.written import NoteVerbs
from .lines import NoteLines, NotesState, note_lines, notes_state


class Notes(NoteVerbs):
    """The notes of a memory, `memory.notes`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def _lines(self, request: NoteLinesRequest) -> NoteLines:
        """Return `lines` lines of a note from `first_line` on, as it was read last.

        `path` is that of `context.note` of a recalled note, such as `handbook/battery.md`. Only what was read from the
        folders of the parameter `notes_folders` can be had.

        Raises:
            InvalidFieldError: there is no such note, it could not be read, or it has no such line.
        """
        return self._access.read(note_lines, request.path, request.first_line, request.lines)

    def state(self) -> NotesState:
        """Return the folders and files of notes, and what could not be read of them."""
        return self._access.read(notes_state)

    def known(self) -> KnownNotes:
        """Return what an ingestor needs to know of the folders and files of notes that were stored."""
        return self._access.read(note_rows.known_notes)

    def save_folders(self, folders: Iterable[FolderRow]) -> None:
        """Store what is known of the folders of notes in place of what was, and delete notes without a file."""
        self._access.write(note_rows.set_folders, folders).result()

    def save_file(self, file: NoteFile, parts: Sequence[NewMemory] | None, *, renamed_from: str = "") -> None:
        """Store a file of notes with its parts, in one transaction; a part of the same text keeps its id.

        Without `parts` those that were stored stay, and so does the text. `renamed_from` is the earlier path.
        """
        self._access.write(note_rows.save_file, file, parts, renamed_from=renamed_from).result()
        self._access.parts.maintenance.notify()

    def delete_file(self, path: str) -> None:
        """Delete a file of notes with its parts."""
        self._access.write(note_rows.remove_file, path).result()
