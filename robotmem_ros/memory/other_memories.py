"""Read the memories of other robots: files that are asked under the name of a collection, and never written.

A file is opened when it is first asked, and again when another one took its place. What cannot be read is an error of
that call alone. Its memories keep their ids within their file; outside, each has one that no other file has, so that
an id alone tells where a memory is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from . import validation
from .config.other_memories import FIELD, OtherFile
from .config.parameters import Parameters
from .errors import (
    DatabaseUnusableError,
    InvalidFieldError,
    MemoryClosedError,
    MemoryNotFoundError,
    OtherMemoryError,
    StorageError,
)
from .robot_memory import RobotMemory
from .search.details import MemoriesInFull
from .search.query import collection_names
from .validation import ALL_COLLECTIONS

Open = Callable[[Path, Parameters], RobotMemory]
"""Opens a file to read it with these parameters."""
Arguments = dict[str, Any]
"""Arguments of a verb by their names."""
T = TypeVar("T")
_IDS = frozenset({"id", "memory_id", "contradicted_by", "similar_ids", "folded_ids"})
_INNER = frozenset({"memory", "memories", "left_out", "hits", "entries", "data"})
"""Fields of results that are ids of memories, and fields that may hold values with such."""


@dataclass(eq=False)
class _OpenMemory:
    """An open file. One that another file took the place of is closed when the last call that uses it ends."""

    memory: RobotMemory
    stamp: tuple[int, ...] | None
    """Stamp of the file when it was opened."""
    parameters: Parameters
    """Parameters of the own memory, used for this file too."""
    users: int = 0
    is_current: bool = True


class OtherMemory:
    """The memory of another robot. Safe to use from several threads."""

    def __init__(self, file: OtherFile, parameters: Callable[[], Parameters], open_file: Open) -> None:
        self.file = file
        self.trouble = ""
        """Error of the last call; empty if there was none."""
        self._parameters = parameters
        self._open = open_file
        self._lock = threading.Lock()
        self._is_over = False
        self._open_memory: _OpenMemory | None = None

    @property
    def collection(self) -> str:
        """Return the name under which it is asked."""
        return self.file.collection

    def ask(self, verb: Callable[[RobotMemory], T]) -> T:
        """Ask the memory in the file; the result names ids and collection as they are outside of it.

        Raises:
            MemoryNotFoundError: there is no such memory; it names the id that the memory has outside of the file.
            OtherMemoryError: the file cannot be read.
        """
        try:
            with self._in_use() as memory:
                result = verb(memory)
        except MemoryNotFoundError as error:
            raise MemoryNotFoundError(self.file.outside(error.memory_id), error.reason) from error
        except (DatabaseUnusableError, StorageError) as cause:
            self.close()  # it may be repaired
            self.trouble = str(OtherMemoryError(self.collection, cause))
            raise OtherMemoryError(self.collection, cause) from cause
        self.trouble = ""
        outside: T = self._outside(result)
        return outside

    def inside(self, arguments: Arguments) -> Arguments:
        """Return the arguments of a request as the memory in the file is asked: for its own ids, in all collections."""
        inner = arguments | {"collection": ALL_COLLECTIONS, "collections": ()}
        ids = arguments.get("ids")
        if ids is not None and not isinstance(ids, (str, bytes)):
            inner["ids"] = tuple(map(self._inside, ids if isinstance(ids, Iterable) else [ids]))
        return inner

    def close(self, *, for_good: bool = False) -> None:
        """Close the file once no call uses it; the next call opens it again, unless it is closed for good."""
        with self._lock:
            self._is_over = self._is_over or for_good
            self._close()

    @contextmanager
    def _in_use(self) -> Iterator[RobotMemory]:
        with self._lock:
            if self._is_over:
                raise MemoryClosedError
            open_memory = self._current()
            open_memory.users += 1
        try:
            yield open_memory.memory
        finally:
            with self._lock:
                open_memory.users -= 1
                self._close_unused(open_memory)

    def _current(self) -> _OpenMemory:
        stamp, parameters = _stamp(self.file), self._parameters()
        if self._open_memory is not None and self._open_memory.stamp != stamp:
            self._close()
        if self._open_memory is None:
            memory = self._open(self.file.path, self._complete(parameters))
            self._open_memory = _OpenMemory(memory, stamp, parameters)
        elif parameters is not self._open_memory.parameters:
            self._open_memory.memory.parameters = self._complete(parameters)
            self._open_memory.parameters = parameters
        return self._open_memory

    def _complete(self, parameters: Parameters) -> Parameters:
        # It is searched as the own memory is.
        return parameters.changed(
            db_path=str(self.file.path), collection="default", other_memories="", notes_folders=()
        )

    def _close(self) -> None:
        open_memory, self._open_memory = self._open_memory, None
        if open_memory is not None:
            open_memory.is_current = False
            self._close_unused(open_memory)

    @staticmethod
    def _close_unused(open_memory: _OpenMemory) -> None:
        if not open_memory.is_current and not open_memory.users:
            open_memory.memory.close()

    def _inside(self, memory_id: int) -> int:
        inside = self.file.inside(memory_id) if isinstance(memory_id, int) else memory_id
        if inside is None:
            raise InvalidFieldError("ids", memory_id, f"is no memory of the collection {self.collection!r}")
        return inside

    def _outside(self, value: Any) -> Any:
        # Ids and collections, in whatever a verb returns.
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(map(self._outside, value))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        outside = self.file.outside
        changes: dict[str, Any] = {}
        for name in (entry.name for entry in fields(value)):
            part = getattr(value, name)
            if name in _IDS:
                changes[name] = tuple(map(outside, part)) if isinstance(part, tuple) else outside(part)
            elif name == "collection":
                changes[name] = self.collection
            elif name in _INNER:
                changes[name] = self._outside(part)
        return replace(value, **changes)


class OtherMemories:
    """The memories of other robots, by the names under which they are asked."""

    def __init__(self, parameters: Callable[[], Parameters], open_file: Open) -> None:
        self._parameters = parameters
        files = parameters().other_files()
        self._by_name = {name: OtherMemory(file, parameters, open_file) for name, file in files.items()}

    def of_request(self, arguments: Arguments) -> tuple[OtherMemory | None, Arguments]:
        """Return the memory that a request asks, None for the own one, and the arguments to ask it with.

        Raises:
            InvalidFieldError: it names the memory of another robot together with another collection.
        """
        names = collection_names(arguments.get("collection"), arguments.get("collections"))
        names_of_others = [name for name in names if name in self._by_name]
        if names_of_others and len(names) > 1:
            problem = (
                "is the memory of another robot, which is asked by itself; ask again for the other collections, since "
                "scores of two files cannot be compared"
            )
            raise InvalidFieldError("collections", names_of_others[0], problem)
        if names_of_others:
            return self._by_name[names_of_others[0]], self._by_name[names_of_others[0]].inside(arguments)
        # An iterator of names can be read only once.
        return None, arguments | {"collection": None, "collections": names}

    def of_collection(self, arguments: Arguments) -> tuple[OtherMemory | None, Arguments]:
        """Return the memory that the argument `collection` names, None for the own one, and the other arguments."""
        collection = arguments.get("collection")
        memory = self._by_name.get(collection) if isinstance(collection, str) else None
        return memory, arguments if memory is None else {**arguments, "collection": None}

    def of_memory(self, arguments: Arguments) -> tuple[OtherMemory | None, Arguments]:
        """Return the memory that `memory_id` is of, None for the own one, and the arguments with the id in its file."""
        other, inside = self.of(validation.whole("memory_id", arguments["memory_id"])) or (None, None)
        return other, arguments if other is None else {**arguments, "memory_id": inside}

    def own(self, arguments: Arguments) -> tuple[None, Arguments]:
        """Return the arguments of a verb that asks the own memory alone.

        Raises:
            InvalidFieldError: `collection` names the memory of another robot.
            MemoryNotFoundError: an id is of another robot's memory, which is only read.
        """
        for name in ("ids", "memory_id"):
            ids = arguments.get(name)
            if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)):
                arguments = {**arguments, name: (ids := tuple(ids))}
            self._check_own(ids if isinstance(ids, tuple) else [ids])
        if arguments.get("collection") is not None:
            self._parameters().own_collection("collection", arguments["collection"])
        return None, arguments

    def of(self, memory_id: object) -> tuple[OtherMemory, int] | None:
        """Return the memory that an id is of, and the id in its file; None for the own one."""
        if isinstance(memory_id, int):
            for memory in self._by_name.values():
                if (inside := memory.file.inside(memory_id)) is not None:
                    return memory, inside
        return None

    def details(self, ids: Iterable[int], *, include_forgotten: bool) -> list[MemoriesInFull]:
        """Return in full those memories among some that are of other robots, for each of these."""
        ids_of: dict[OtherMemory, list[int]] = {}
        for other, inside in filter(None, map(self.of, ids)):
            ids_of.setdefault(other, []).append(inside)
        return [
            other.ask(partial(_details, ids=own_ids, include_forgotten=include_forgotten))
            for other, own_ids in ids_of.items()
        ]

    @property
    def trouble(self) -> str:
        """Return why memories could not be read the last time; empty if they could."""
        return "; ".join(memory.trouble for memory in self._by_name.values() if memory.trouble)

    def settle(self) -> None:
        """Do nothing: nothing of these files waits to be stored."""

    def close(self) -> None:
        """Close all files for good."""
        for memory in self._by_name.values():
            memory.close(for_good=True)

    def _check_own(self, ids: Iterable[object]) -> None:
        for other, inside in filter(None, map(self.of, ids)):
            note = f"it is of {other.collection!r}, the memory of another robot (parameter {FIELD}), which is only read"
            raise MemoryNotFoundError(other.file.outside(inside), note)


def _details(memory: RobotMemory, *, ids: Iterable[int], include_forgotten: bool) -> MemoriesInFull:
    return memory.get_memories(ids, include_forgotten=include_forgotten)


def _stamp(file: OtherFile) -> tuple[int, ...] | None:
    # A file without a log that may not be written is taken for one that never changes: see `connect`.
    try:
        status = file.path.stat()
    except OSError:
        return None
    is_writable = os.access(file.path, os.W_OK) and os.access(file.path.parent, os.W_OK)
    is_at_rest = not is_writable and not Path(f"{file.path}-wal").exists()
    return status.st_dev, status.st_ino, *((status.st_mtime_ns, status.st_size) if is_at_rest else ())
