"""Keep the notes of a database in step with the files of its folders.

One process does that for a database: see `KeeperLock`. It searches the folders when the watcher tells of a change, by
interval, and before a recall, and reads the files that changed, each in one transaction. So a process that is killed
leaves whole files, and the next one goes on with the others.

What cannot be seen is kept: notes of a folder that is missing, of a disk that is not mounted, of a folder or file that
may not be read. What is surely gone is removed, after a second, since editors and tools replace files in two steps.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from ..config.parameters import Parameters
from ..models import Kind, NewMemory
from ..storage import Database, note_rows
from ..storage.note_rows import FolderRow, KnownFile, ReadFile
from ..storage.snapshot import Transaction
from ..validation import compact_json
from .files import FileError, FoundFile, Seen, decoded, list_folder, read
from .splitting import Limits, Part, split
from .watcher import KeeperLock, Watcher

_SCHEME = "1"
"""Version of how texts are split: another one reads all files again."""
_CONFIDENCE = 0.9
_INTERVAL = 60.0
"""Seconds after which the folders are searched for changes that the watcher missed, as on network drives."""
_GRACE = 1.0
"""Seconds for which a file must be missing before it is removed."""
_LOOKS = 0.2
"""Seconds between two searches for changes before recalls, at least."""
_COST, _RARELY = 0.02, 20.0
"""Seconds that a look may take to be taken before recalls, and how many times as long it rests at least."""
_PATIENCE = 0.2
"""Seconds that a recall waits at most for what changed to be read."""
_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class _Change(NamedTuple):
    """What is to be done about a file."""

    path: str
    known: KnownFile | None
    found: FoundFile | None
    """None to remove it."""
    refused: str = ""


class Notes:
    """The notes of the folders that the parameters name. Safe to use from several threads.

    Args:
        database: The memory's.
        parameters: Those at the start.
        notify: Called when something changed, in the folders or in the database.
    """

    def __init__(self, database: Database, parameters: Parameters, notify: Callable[[], None]) -> None:
        self._database = database
        self._parameters = parameters
        self._notify = notify
        folders = () if database.read_only else parameters.folders_of_notes()
        self._folders = {folder.name: folder for folder in folders}
        self._limits = Limits(parameters.notes_chunk_tokens, parameters.notes_chunk_tokens // 5)
        self._scheme = f"{_SCHEME} {':'.join(map(str, self._limits))}"
        self._lock = KeeperLock(None if database.in_memory else database.path)
        self._watcher = Watcher([folder.path for folder in folders], self._see_change)
        self._working = threading.Lock()
        self._changed = threading.Event()
        self._idle = threading.Event()
        self._queue: deque[_Change] = deque()
        self._seen: dict[str, str] = {}
        self._missing: dict[str, float] = {}
        self._grace = _GRACE
        self._due = 0.0
        self._looked = 0.0
        self._cost = 0.0
        self._is_new = True

    @property
    def collections(self) -> frozenset[str]:
        """Return the collections of the folders."""
        return frozenset(folder.collection for folder in self._folders.values())

    @property
    def trouble(self) -> str:
        """Say why changes are not noticed at once; empty if they are, or another process keeps the notes."""
        return self._watcher.trouble if self._folders and self._lock.is_held else ""

    def update(self) -> bool:
        """Search the folders if that is due, or read the next file that changed; return whether more is left."""
        if not self._folders or not self._working.acquire(blocking=False):
            return False
        try:
            return self._keeps() and self._step()
        finally:
            self._working.release()

    def refresh(self) -> None:
        """Wait a moment before a recall until what changed is read, if that is known or a quick look shows it."""
        if not self._folders or not self._lock.is_held:
            return
        if not self._changed.is_set() and self._may_look() and self._looks_changed():
            self._see_change()
        if self._changed.is_set():
            self._idle.wait(_PATIENCE)

    def settle(self) -> None:
        """Search the folders with the next update, and remove at once what is missing."""
        self._grace = 0.0
        self._see_change()

    def close(self) -> None:
        """Stop watching, and let another process keep the notes."""
        self._watcher.close()
        with self._working:
            self._folders = {}
            self._lock.release()

    def _see_change(self) -> None:
        self._idle.clear()
        self._changed.set()
        self._notify()

    def _keeps(self) -> bool:
        if not self._lock.is_held:
            if not self._lock.take():
                return False
            if self._write(note_rows.has_orphans):
                self._write(note_rows.delete_orphans)
        self._watcher.start()
        return True

    def _may_look(self) -> bool:
        now = time.monotonic()
        least = max(_LOOKS, _RARELY * self._cost)
        return now - self._looked > least and (self._cost <= _COST or not self._watcher.is_watching)

    def _looks_changed(self) -> bool:
        began = time.monotonic()
        found: dict[str, str] = {}
        for folder in self._folders.values():
            with suppress(FileError):
                listing = list_folder(folder)
                found |= {path: one.stamp for path, one in listing.files.items()}
        self._note_look(began)
        return found != self._seen

    def _note_look(self, began: float) -> None:
        self._looked = time.monotonic()
        self._cost = self._looked - began

    def _step(self) -> bool:
        is_due = self._changed.is_set() or self._is_new or 0.0 < self._due <= time.monotonic()
        if not self._queue and is_due:
            self._changed.clear()
            self._search()
            self._is_new = False
        elif self._queue:
            # It stays in the queue if it cannot be written.
            self._apply(self._queue[0])
            self._queue.popleft()
            if not self._queue:
                self._notify()
        if not self._queue and not self._changed.is_set():
            self._idle.set()
        return bool(self._queue)

    def _search(self) -> None:
        began = time.monotonic()
        with self._database.snapshot() as snapshot:
            known, states = note_rows.known_files(snapshot), note_rows.folder_rows(snapshot)
        seen, new_states = Seen(), []
        for folder in self._folders.values():
            before = states.get(folder.name)
            had_files = any(path.startswith(f"{folder.name}/") for path in known)
            why = seen.add(folder, before.device if before and had_files else 0)
            device = seen.device or (before.device if before else 0)
            new_states.append(FolderRow(folder.name, str(folder.path), folder.collection, device, why))
        self._note_look(began)
        if [*states.values()] != sorted(new_states):
            self._write(partial(note_rows.set_folders, folders=new_states))
        self._seen = {path: one.stamp for path, one in seen.files.items()}
        self._queue.extend(self._differences(known, seen))
        self._due = self._looked + (_GRACE if self._missing else _INTERVAL)

    def _differences(self, known: Mapping[str, KnownFile], seen: Seen) -> Iterator[_Change]:
        for path, found in sorted(seen.files.items()):
            before = known.get(path)
            if before is None or before.stamp != self._stamp(found) or before.collection != found.folder.collection:
                yield _Change(path, before, found)
        for path, why in sorted(seen.refused.items()):
            if path not in known or known[path].error != why:
                yield _Change(path, known.get(path), None, why)
        now, missing = time.monotonic(), dict[str, float]()
        for path, before in sorted(known.items()):
            if not seen.shows_missing(path):
                continue
            # Of a folder that is not named any more, nothing is awaited.
            grace = self._grace if path.partition("/")[0] in self._folders else 0.0
            missing[path] = self._missing.get(path, now)
            if now - missing[path] >= grace:
                yield _Change(path, before, None)
        self._missing, self._grace = missing, _GRACE

    def _stamp(self, file: FoundFile) -> str:
        return f"{self._scheme} {file.stamp}"

    def _apply(self, change: _Change) -> None:
        path, known, found, refused = change
        if refused:
            folder = self._folders[path.partition("/")[0]]
            self._store(ReadFile(path, folder.collection, "", "", error=refused), ())
        elif found is not None:
            self._read(known, found)
        else:
            self._write(partial(note_rows.remove_file, path=path))
            self._missing.pop(path, None)

    def _read(self, known: KnownFile | None, found: FoundFile) -> None:
        path, collection = found.path, found.folder.collection
        digest = text = ""
        stamp = self._stamp(found)
        try:
            content, as_read = read(found)
            stamp = f"{self._scheme} {as_read}" if as_read else ""
            digest = self._digest(content, collection)
            if known is not None and known.digest == digest and not known.error:
                self._write(partial(note_rows.touch_file, file_id=known.id, stamp=stamp))
                return
            text = decoded(content)
            parts = split(text, is_markdown=found.is_markdown, limits=self._limits)
        except FileNotFoundError:
            return  # the next search finds it missing
        except OSError as cause:
            why = f"cannot be read ({cause.strerror})"
            self._write(partial(note_rows.note_error, file=known, path=path, collection=collection, why=why))
            return
        except FileError as cause:
            self._store(ReadFile(path, collection, stamp, "", error=str(cause)), ())
            return
        except ImportError:
            why = "is Markdown, and markdown-it-py is not installed (pip install 'robotmem_ros[notes]')"
            self._store(ReadFile(path, collection, "", "", error=why), ())
            return
        new = [self._note(found, part) for part in parts]
        self._store(ReadFile(path, collection, stamp, digest, text), new, renamed=self._renamed(known, digest))

    def _note(self, file: FoundFile, part: Part) -> NewMemory:
        note = {
            "path": file.path, "first_line": part.first_line, "last_line": part.last_line, "heading": part.heading,
        }  # fmt: skip
        return NewMemory(
            kind=Kind.NOTE,
            content=part.text,
            collection=file.folder.collection,
            observed_at=max(file.modified, 1),
            frame_id=self._parameters.memory_frame,
            map_id=self._parameters.map_id,
            human_summary=part.heading,
            context=compact_json({"note": note}),
            confidence=_CONFIDENCE,
            decay_rate=0.0,
        )

    def _renamed(self, known: KnownFile | None, digest: str) -> KnownFile | None:
        # The missing file with the same content.
        if known is not None or not self._missing:
            return None
        with self._database.snapshot() as snapshot:
            same = note_rows.files_of_digest(snapshot, digest)
        return next((one for one in same if one.path in self._missing), None)

    def _digest(self, content: bytes, collection: str) -> str:
        return hashlib.blake2b(content, digest_size=16, key=f"{self._scheme}".encode()).hexdigest() + f" {collection}"

    def _store(self, file: ReadFile, parts: Sequence[NewMemory], *, renamed: KnownFile | None = None) -> None:
        self._write(partial(note_rows.replace_file, file=file, parts=parts, renamed=renamed))
        if renamed is not None:
            self._missing.pop(renamed.path, None)

    def _write(self, work: Callable[[Transaction], T]) -> T:
        return self._database.write(work).result()
