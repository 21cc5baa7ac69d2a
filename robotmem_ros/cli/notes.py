"""Read what people wrote down: note, notes."""

from __future__ import annotations

import argparse

from .command import DATABASE, JSON, Command, opened, option, show, table

_LINES = 100


def _note(arguments: argparse.Namespace) -> None:
    with opened(arguments.db, read_only=True) as memory:
        found = memory.note(arguments.path, arguments.first_line, arguments.lines)
    show(arguments, found, f"{found.text}\n" if found.text else "")


def _notes(arguments: argparse.Namespace) -> None:
    with opened(arguments.db, read_only=True) as memory:
        state = memory.notes()
    folders = [
        (one.name, one.path, one.collection, one.files, one.notes, one.errors, one.error) for one in state.folders
    ]
    head = ("folder", "path", "collection", "files", "notes", "unread", "error")
    text = table(head, folders) or "no folders of notes (parameter notes_folders)\n"
    files = [one for one in state.files if arguments.files or one.error]
    if files:
        text += "\n" + table(("file", "notes", "error"), [(one.path, one.notes, one.error) for one in files])
    show(arguments, state, text)


COMMANDS = (
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
        (option("--files", action="store_true", help="list all files"), DATABASE, JSON),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
