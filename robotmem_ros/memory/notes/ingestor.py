"""Keep the notes of a memory in step with the files of its folders.

One process does that for a database: see `KeeperLock`. It looks for changes every second, searches all folders by
interval, and stores the files that changed, each in one transaction. So a process that is killed leaves whole files,
and the next one goes on with the others.

What cannot be seen is kept: notes of a folder that is missing, of a disk that is not mounted, of a folder or file that
may not be read. What is surely gone is removed, after a second, since editors and tools replace files in two steps.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..models import Kind, NewMemory
from ..storage import note_rows
from ..storage.note_rows import FolderRow, NoteFile
from ..threads import Event, MaintenanceLoop, Step
from ..validation import compact_json
from ..verbs.access import Access
from .files import FileError, FoundFile, Seen, decode, list_folder, read
from .splitting import Limits, Part, StoppedError, split

try:
    import fcntl
except ImportError:  # not on Windows, where each process reads the folders
    fcntl = None  # type: ignore[assignment]


class KeeperLock:
    """Decides which of the processes that have a database open keeps its notes: the first one, until it ends.

    It locks the file `<database>.notes-lock`; the kernel gives that back however the process ends.
    """

    def __init__(self, database: Path | None) -> None:
        self._path = database.with_name(f"{database.name}.notes-lock") if database else None
        self._file: int | None = None
        self.is_held = self._path is None or fcntl is None

    def take(self) -> bool:
        """Take the lock if it is free; return whether it is held by this object."""
        if not self.is_held and self._path is not None:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.is_held = True
        return self.is_held

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self.is_held = False


_LOG = logging.getLogger(__name__)
_SCHEME = "2"
"""Version of how texts are split: another one reads all files again."""
_CONFIDENCE = 0.9
_INTERVAL = 60.0
"""Seconds after which the folders are compared with what the memory has, which another program may have purged."""
_GRACE = 1.0
"""Seconds for which a file must be missing before it is removed."""
_LOOK, _REST_RATIO = 1.0, 50.0
"""Seconds between two looks for changes, and how many times as long as a look they are apart at least."""
_LATEST = 2**63 - 1
"""Nanoseconds: a disk can have later times, and SQLite no greater number."""
_PATIENCE = 1.0
"""Seconds that the start waits at most for what changed while no process kept the notes."""


class _Change(NamedTuple):
    """A file that is to be stored or removed."""

    path: str
    stored_file: NoteFile | None
    """The file as the memory has it; None for a new one."""
    folder_file: FoundFile | None
    """The file as the folder has it; None to remove it."""
    problem: str = ""
    """Why the file is not read; empty if it is."""


class NotesIngestor:
    """Reads the folders that the parameters of a memory name, and stores their files as notes.

    Args:
        access: The access to its file.
    """

    def __init__(self, access: Access) -> None:
        self._access, parameters, database = access, access.parameters, access.parts.database
        self._folders = {folder.name: folder for folder in parameters().folders_of_notes()}
        tokens = parameters().notes_chunk_tokens
        self._limits = Limits(tokens, tokens // 5)
        self._scheme = f"{_SCHEME} {':'.join(map(str, self._limits))}"
        self._lock = KeeperLock(None if database.in_memory else database.path)
        self._loop = MaintenanceLoop("robotmem-notes")
        self._is_read = Event()
        self._is_flushing = Event()
        self._is_closing = Event()
        self._queue: deque[_Change] = deque()
        self._stamps: dict[str, str] = {}
        self._missing_since: dict[str, float] = {}
        self._due_at = self._next_look = 0.0
        self._loop.start([Step("read notes", self._update, period=_LOOK)], database.query_priority)
        self._is_read.wait(_PATIENCE)

    @property
    def trouble(self) -> str:
        """Return why notes are not stored; empty if they are."""
        return self._loop.trouble

    def settle(self, goes_on: Callable[[], bool]) -> None:
        """Store what changed until now, and remove at once what is missing, as long as `goes_on` returns true."""
        self._is_flushing.set()
        self._loop.flush(goes_on)

    def close(self) -> None:
        """Stop reading, and let another process keep the notes."""
        self._is_closing.set()
        self._loop.close()
        self._lock.release()

    def _update(self) -> bool:
        # Searches the folders if that is due, or reads the next file that changed; more is left while files wait.
        if self._lock.take():
            if self._queue:
                # It stays in the queue if it cannot be written.
                with suppress(StoppedError):
                    self._apply(self._queue[0])
                    self._queue.popleft()
            elif self._is_due():
                self._search()
        if not self._queue:
            self._is_read.set()
        return bool(self._queue) or (self._lock.is_held and self._is_flushing.is_set())

    def _is_due(self) -> bool:
        now = time.monotonic()
        return self._is_flushing.is_set() or self._due_at <= now or (self._next_look <= now and self._looks_changed())

    def _looks_changed(self) -> bool:
        start = time.monotonic()
        stamps: dict[str, str] = {}
        for folder in self._folders.values():
            with suppress(FileError):
                stamps |= {path: file.stamp for path, file in list_folder(folder).files.items()}
        self._rest(start)
        return stamps != self._stamps

    def _rest(self, start: float) -> None:
        now = time.monotonic()
        self._next_look = now + max(_LOOK, _REST_RATIO * (now - start))

    def _search(self) -> None:
        start = time.monotonic()
        grace = 0.0 if self._is_flushing.is_set() else _GRACE
        self._is_flushing.clear()
        known_notes = self._access.read(note_rows.known_notes)
        seen, folders = Seen(), []
        for folder in self._folders.values():
            before = known_notes.folders.get(folder.name)
            had_files = any(path.startswith(f"{folder.name}/") for path in known_notes.files)
            problem = seen.add(folder, before.device if before and had_files else 0)
            device = seen.device or (before.device if before else 0)
            folders.append(FolderRow(folder.name, str(folder.path), folder.collection, device, problem))
        self._rest(start)
        if known_notes.has_orphans or [*known_notes.folders.values()] != sorted(folders):
            self._access.write(note_rows.set_folders, folders).result()
        self._stamps = {path: file.stamp for path, file in seen.files.items()}
        self._queue.extend(self._differences(known_notes.files, seen, grace))
        self._due_at = time.monotonic() + (_GRACE if self._missing_since else _INTERVAL)

    def _differences(self, known_files: Mapping[str, NoteFile], seen: Seen, grace: float) -> Iterator[_Change]:
        for path, file in sorted(seen.files.items()):
            before = known_files.get(path)
            if before is None or before.stamp != self._stamp(file) or before.collection != file.folder.collection:
                yield _Change(path, before, file)
        for path, problem in sorted(seen.refused.items()):
            if path not in known_files or known_files[path].error != problem:
                yield _Change(path, known_files.get(path), None, problem)
        now, missing_since = time.monotonic(), dict[str, float]()
        for path, before in sorted(known_files.items()):
            if not seen.shows_missing(path):
                continue
            # Of a folder that is not named any more, nothing is awaited.
            is_named = path.partition("/")[0] in self._folders
            missing_since[path] = self._missing_since.get(path, now)
            if now - missing_since[path] >= (grace if is_named else 0.0):
                yield _Change(path, before, None)
        self._missing_since = missing_since

    def _stamp(self, file: FoundFile) -> str:
        return f"{self._scheme} {file.stamp}"

    def _apply(self, change: _Change) -> None:
        path, stored_file, folder_file, problem = change
        if problem:
            folder = self._folders[path.partition("/")[0]]
            self._save(NoteFile(path, folder.collection, error=problem), ())
        elif folder_file is not None:
            self._read(stored_file, folder_file)
        else:
            self._access.write(note_rows.remove_file, path).result()
            self._missing_since.pop(path, None)

    def _read(self, stored_file: NoteFile | None, folder_file: FoundFile) -> None:
        file = NoteFile(folder_file.path, folder_file.folder.collection, self._stamp(folder_file))
        try:
            content, as_read = read(folder_file)
            file = file._replace(
                stamp=f"{self._scheme} {as_read}" if as_read else "", digest=self._digest(content, file.collection)
            )
            if stored_file is not None and stored_file.digest == file.digest and not stored_file.error:
                self._save(file, None)
                return
            file = file._replace(text=decode(content))
            parts = self._split(file.text, folder_file)
        except FileNotFoundError:
            return  # the next search finds it missing
        except OSError as cause:
            digest = stored_file.digest if stored_file else ""
            file = file._replace(stamp="", digest=digest, error=f"cannot be read ({cause.strerror})")
            self._save(file, None)
            return
        except FileError as cause:
            self._save(file._replace(digest="", error=str(cause)), ())
            return
        except ImportError:
            problem = "is Markdown, and markdown-it-py is not installed (pip install 'robotmem_ros[notes]')"
            self._save(NoteFile(file.path, file.collection, error=problem), ())
            return
        renamed_from = self._renamed_from(stored_file, file.digest)
        self._save(file, [self._note(folder_file, part) for part in parts], renamed_from=renamed_from)
        self._missing_since.pop(renamed_from, None)

    def _save(self, file: NoteFile, parts: Sequence[NewMemory] | None, *, renamed_from: str = "") -> None:
        # Without parts those that were stored stay.
        self._access.write(note_rows.save_file, file, parts, renamed_from=renamed_from).result()
        self._access.parts.maintenance.notify()

    def _split(self, text: str, file: FoundFile) -> list[Part]:
        try:
            return split(text, is_markdown=file.is_markdown, limits=self._limits, is_stopped=self._is_closing.is_set)
        except (ImportError, StoppedError):
            raise
        except Exception as cause:
            # Whatever a parser raises, the other files are read.
            _LOG.debug("notes: %s cannot be split", file.path, exc_info=True)
            raise FileError(f"cannot be split into parts ({type(cause).__name__})") from cause

    def _note(self, file: FoundFile, part: Part) -> NewMemory:
        note = {
            "path": file.path, "first_line": part.first_line, "last_line": part.last_line, "heading": part.heading,
        }  # fmt: skip
        return NewMemory(
            kind=Kind.NOTE,
            content=part.text,
            collection=file.folder.collection,
            observed_at=min(max(file.modified, 1), _LATEST),
            frame_id=self._access.parameters().memory_frame,
            map_id=self._access.parameters().map_id,
            human_summary=part.heading,
            context=compact_json({"note": note}),
            source="note",
            confidence=_CONFIDENCE,
            decay_rate=0.0,
        )

    def _renamed_from(self, stored_file: NoteFile | None, digest: str) -> str:
        # The path of a missing file with the same content; empty for none.
        if stored_file is not None or not self._missing_since:
            return ""
        files = self._access.read(note_rows.known_notes).files
        paths = (path for path in sorted(self._missing_since) if path in files and files[path].digest == digest)
        return next(paths, "")

    def _digest(self, content: bytes, collection: str) -> str:
        return hashlib.blake2b(content, digest_size=16, key=self._scheme.encode()).hexdigest() + f" {collection}"
