"""Write notes and the files that they are from, and read them back."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import MemoryNotFoundError, NoteError
from ..models import NewMemory
from . import rows
from .rows import OF_OTHERS
from .snapshot import Snapshot, Transaction, json_array

_NOTES = """
    SELECT m.id, json_extract(m.context, '$.note.path')
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    WHERE m.type = 'note' LIMIT 1
"""
_OF_ANOTHER = f"""
    SELECT m.id, m.collection FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    WHERE {OF_OTHERS.format(column="m.collection")} LIMIT 1
"""
_PARTS = """
    SELECT id, content, human_summary, context, collection FROM memories WHERE type = 'note' AND file_id = ? ORDER BY id
"""
_KNOWN_FILES = "SELECT path, collection, stamp, digest, error FROM note_files"
_FILES = """
    SELECT path, collection, error, (SELECT count(*) FROM memories WHERE type = 'note' AND file_id = f.id)
    FROM note_files AS f ORDER BY path
"""
_ORPHANS = "SELECT id FROM memories WHERE type = 'note' AND coalesce(file_id, 0) NOT IN (SELECT id FROM note_files)"
_NAME = "note_folders"
"""The setting with the folders."""


class FolderRow(NamedTuple):
    """A folder as it was seen last."""

    name: str
    path: str
    collection: str
    device: int
    """Device of the folder when it was last read; 0 if it never was."""
    error: str


class NoteFile(NamedTuple):
    """A file as it is read now, or as it was read last."""

    path: str
    collection: str
    stamp: str = ""
    digest: str = ""
    error: str = ""
    text: str = ""
    """Its text; empty of a file that was read before."""


class KnownNotes(NamedTuple):
    """Folders and files as they were read last."""

    folders: dict[str, FolderRow]
    """Folders by name, in alphabetical order."""
    files: dict[str, NoteFile]
    """Files by path."""
    has_orphans: bool
    """Whether there are notes without a file, as when a purge was interrupted."""


class FolderState(NamedTuple):
    """A folder of notes as it was seen last."""

    name: str
    """First part of the paths of its files."""
    path: str
    """Path on the disk of the process that reads it."""
    collection: str
    error: str
    """Reason why it could not be read, in which case its old notes stay; else empty."""
    files: int
    notes: int
    """Number of parts of these files."""
    errors: int
    """Number of files among them that could not be read."""


class FileState(NamedTuple):
    """A file of notes as it was read last."""

    path: str
    collection: str
    error: str
    """Reason why it could not be read; else empty."""
    notes: int


def check_no_notes(snapshot: Snapshot, memory_ids: Sequence[int]) -> None:
    """Check that none of some memories is a note, which changes with its file alone; raises NoteError."""
    row = snapshot.row(_NOTES, (json_array(memory_ids),))
    if row is not None:
        memory_id, path = row
        raise NoteError(memory_id, str(path))


def check_changeable(snapshot: Snapshot, memory_ids: Sequence[int]) -> None:
    """Check that none of some memories is a note, or of another robot; raises NoteError, MemoryNotFoundError."""
    check_no_notes(snapshot, memory_ids)
    row = snapshot.row(_OF_ANOTHER, (json_array(memory_ids),))
    if row is not None:
        raise MemoryNotFoundError(row[0], f"it is of another robot, in {row[1]!r}, and only read")


def known_notes(snapshot: Snapshot) -> KnownNotes:
    """Return what was read of folders and files."""
    known_files = {row[0]: NoteFile(*row) for row in snapshot.rows(_KNOWN_FILES)}
    return KnownNotes(folder_rows(snapshot), known_files, bool(snapshot.ids(_ORPHANS)))


def folder_rows(snapshot: Snapshot) -> dict[str, FolderRow]:
    """Return the folders by name, in alphabetical order."""
    row = snapshot.row("SELECT value FROM settings WHERE name = ?", (_NAME,))
    return {values[0]: FolderRow(*values) for values in json.loads(row[0])} if row else {}


def set_folders(transaction: Transaction, folders: Iterable[FolderRow]) -> None:
    """Replace what is known of the folders, and delete notes without a file."""
    _save_folders(transaction, folders)
    rows.delete(transaction, transaction.ids(_ORPHANS))


def _save_folders(transaction: Transaction, folders: Iterable[FolderRow]) -> None:
    transaction.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_NAME, json.dumps(sorted(folders))))


def save_file(
    transaction: Transaction, file: NoteFile, parts: Sequence[NewMemory] | None, *, renamed_from: str = ""
) -> None:
    """Store a file and its parts. A part whose text was there before keeps its id, and so its vector.

    Without `parts` those that are there stay, and so does the text. `renamed_from` is the earlier path of the file.
    """
    if renamed_from:
        transaction.execute("UPDATE note_files SET path = ? WHERE path = ?", (file.path, renamed_from))
    (file_id,) = transaction.execute(
        "INSERT INTO note_files (path, collection, stamp, digest, error) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (path) DO UPDATE SET (collection, stamp, digest, error) = "
        "(excluded.collection, excluded.stamp, excluded.digest, excluded.error) RETURNING id",
        file[:5],
    ).fetchone()
    if parts is not None:
        text = zlib.compress(file.text.encode())
        transaction.execute("UPDATE note_files SET text = ? WHERE id = ?", (text, file_id))
        _replace_parts(transaction, file_id, parts)


def _replace_parts(transaction: Transaction, file_id: int, parts: Sequence[NewMemory]) -> None:
    old_parts = defaultdict[tuple[str, ...], list[tuple[int, str]]](list)
    for memory_id, content, heading, context, collection in transaction.rows(_PARTS, (file_id,)):
        old_parts[collection, content].append((memory_id, heading + "\n" + context))
    new = []
    for part in parts:
        matches = old_parts[part.collection, part.content]
        if not matches:
            new.append(part)
            continue
        memory_id, old_text = matches.pop(0)
        if old_text != part.human_summary + "\n" + part.context:
            rows.update(transaction, memory_id, {"human_summary": part.human_summary, "context": part.context})
    # New parts come first, so that a text that moved to another collection keeps its vector.
    ids = rows.insert_all(transaction, new) if new else ()
    transaction.executemany("UPDATE memories SET file_id = ? WHERE id = ?", [(file_id, memory_id) for memory_id in ids])
    rows.delete(transaction, [memory_id for entries in old_parts.values() for memory_id, _ in entries])


def remove_file(transaction: Transaction, path: str) -> None:
    """Delete a file with its parts, if it is there."""
    sql = "SELECT id FROM memories WHERE type = 'note' AND file_id = (SELECT id FROM note_files WHERE path = ?)"
    rows.delete(transaction, transaction.ids(sql, (path,)))
    transaction.execute("DELETE FROM note_files WHERE path = ?", (path,))


def forget_files(transaction: Transaction, collection: str | None) -> int:
    """Forget the files of a collection, which may be read again, and return their number."""
    _save_folders(transaction, [one for one in folder_rows(transaction).values() if one.collection != collection])
    return transaction.execute("DELETE FROM note_files WHERE collection = ?", (collection,)).rowcount


def text_of(snapshot: Snapshot, path: str) -> tuple[str, str] | None:
    """Return the text of a file, and why it could not be read; None if there is no such file."""
    row = snapshot.row("SELECT text, error FROM note_files WHERE path = ?", (path,))
    if row is None:
        return None
    text, error = row
    return zlib.decompress(text).decode() if text else "", str(error)


def paths(snapshot: Snapshot) -> list[str]:
    """Return the paths of all files, in alphabetical order."""
    return [path for (path,) in snapshot.rows("SELECT path FROM note_files ORDER BY path")]


def file_counts(snapshot: Snapshot) -> tuple[int, int]:
    """Return how many files there are, and how many of them could not be read."""
    counts: tuple[int, int] = snapshot.row("SELECT count(*), coalesce(sum(error <> ''), 0) FROM note_files")
    return counts


def folders(snapshot: Snapshot) -> tuple[FolderState, ...]:
    """Return the folders as they were seen last, by name."""
    states = files(snapshot)
    return tuple(
        _folder_state(folder, [file for file in states if file.path.startswith(f"{folder.name}/")])
        for folder in folder_rows(snapshot).values()
    )


def _folder_state(folder: FolderRow, files: Sequence[FileState]) -> FolderState:
    notes, errors = sum(file.notes for file in files), sum(bool(file.error) for file in files)
    return FolderState(folder.name, folder.path, folder.collection, folder.error, len(files), notes, errors)


def files(snapshot: Snapshot) -> tuple[FileState, ...]:
    """Return the files as they were read last, by path."""
    return tuple(FileState(*row) for row in snapshot.rows(_FILES))
