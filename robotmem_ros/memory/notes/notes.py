"""Notes: what people wrote in folders of files, as it is read."""

from __future__ import annotations

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
