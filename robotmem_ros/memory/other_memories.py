"""Read the memories of other robots: files that are asked under the name of a collection, and never written.

A file is opened when it is first asked, and again when another one took its place. What cannot be read is an error of
that call alone. Its memories keep their ids within their file; outside, each has one that no other file has, so that
an id alone tells where a memory is.

Verbs of `RobotMemory` look there by `by_request`, `by_collection` and `by_id`.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

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
from .search.details import MemoryDetails
from .search.query import collection_names
from .search.request import RecallRequest, TimelineRequest
from .validation import ALL_COLLECTIONS

if TYPE_CHECKING:
    from .robot_memory import RobotMemory

Open = Callable[[Path, Parameters], "RobotMemory"]
"""Opens a file to read it with these parameters."""
Request = TypeVar("Request", RecallRequest, TimelineRequest)
T = TypeVar("T")
P = ParamSpec("P")
_IDS = frozenset({"id", "memory_id", "contradicted_by", "similar_ids", "folded_ids"})
_INNER = frozenset({"memory", "hits", "entries", "data"})
"""Fields of results that are ids of memories, and fields that may hold values with such."""


def by_request(verb: Callable[[RobotMemory, Request], T]) -> Callable[[RobotMemory, Request], T]:
    """Let a verb answer a request that names the collection of another robot from that one's file."""

    @wraps(verb)
    def ask(self: RobotMemory, request: Request) -> T:
        other, wanted = self.others.asked(request)
        return verb(self, wanted) if other is None else other.ask(lambda memory: verb(memory, other.inside(wanted)))

    return ask


def by_collection(verb: Callable[Concatenate[RobotMemory, P], T]) -> Callable[Concatenate[RobotMemory, P], T]:
    """Let a verb with the argument `collection` answer for that of another robot from all of that one's file."""
    signature = inspect.signature(verb)

    @wraps(verb)
    def ask(self: RobotMemory, /, *arguments: P.args, **named: P.kwargs) -> T:
        _, *given = signature.bind(self, *arguments, **named).arguments.items()
        wanted, anywhere = dict(given), cast(Callable[..., T], verb)
        other = self.others.named(wanted.pop("collection", None))
        return (
            verb(self, *arguments, **named) if other is None else other.ask(lambda memory: anywhere(memory, **wanted))
        )

    return ask


def by_id(verb: Callable[Concatenate[RobotMemory, P], T]) -> Callable[Concatenate[RobotMemory, P], T]:
    """Let a verb with the argument `memory_id`, which is checked, answer from the file that this memory is in."""
    signature = inspect.signature(verb)

    @wraps(verb)
    def ask(self: RobotMemory, /, *arguments: P.args, **named: P.kwargs) -> T:
        _, *given = signature.bind(self, *arguments, **named).arguments.items()
        wanted, anywhere = dict(given), cast(Callable[..., T], verb)
        wanted["memory_id"] = validation.whole("memory_id", wanted["memory_id"])
        located = self.others.of(wanted["memory_id"])
        if located is None:
            return anywhere(self, **wanted)
        other, wanted["memory_id"] = located
        return other.ask(lambda memory: anywhere(memory, **wanted))

    return ask


@dataclass(eq=False)
class _Opened:
    """An open file. One that another file took the place of is closed when the last call that uses it ends."""

    memory: RobotMemory
    stamp: tuple[int, ...] | None
    """That of the file, when it was opened."""
    parameters: Parameters
    """Those of the own memory that it goes by."""
    users: int = 0
    is_current: bool = True


class OtherMemory:
    """The memory of another robot. Safe to use from several threads."""

    def __init__(self, file: OtherFile, parameters: Callable[[], Parameters], open_file: Open) -> None:
        self.file = file
        self.trouble = ""
        """Why it could not be read the last time; empty if it could."""
        self._parameters = parameters
        self._open = open_file
        self._lock = threading.Lock()
        self._is_over = False
        self._opened: _Opened | None = None

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
                answer = verb(memory)
        except MemoryNotFoundError as error:
            raise MemoryNotFoundError(self.file.outside(error.memory_id), error.why) from error
        except (DatabaseUnusableError, StorageError) as cause:
            self.close()  # it may be repaired
            self.trouble = str(OtherMemoryError(self.collection, cause))
            raise OtherMemoryError(self.collection, cause) from cause
        self.trouble = ""
        outside: T = self._outside(answer)
        return outside

    def inside(self, request: Request) -> Request:
        """Return a request as the memory in the file is asked: for its own ids, in all of its collections."""
        wanted = replace(request, collection=ALL_COLLECTIONS, collections=())
        if isinstance(wanted, RecallRequest) and wanted.ids is not None and not isinstance(wanted.ids, (str, bytes)):
            listed = wanted.ids if isinstance(wanted.ids, Iterable) else [wanted.ids]
            return replace(wanted, ids=tuple(map(self._inside, listed)))
        return wanted

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
            opened = self._current()
            opened.users += 1
        try:
            yield opened.memory
        finally:
            with self._lock:
                opened.users -= 1
                self._close_unused(opened)

    def _current(self) -> _Opened:
        stamp, parameters = _stamp(self.file), self._parameters()
        if self._opened is not None and self._opened.stamp != stamp:
            self._close()
        if self._opened is None:
            memory = self._open(self.file.path, self._own(parameters))
            self._opened = _Opened(memory, stamp, parameters)
        elif parameters is not self._opened.parameters:
            self._opened.memory.parameters = self._own(parameters)
            self._opened.parameters = parameters
        return self._opened

    def _own(self, parameters: Parameters) -> Parameters:
        # It is searched as the own memory is.
        return parameters.changed(
            db_path=str(self.file.path), collection="default", other_memories="", notes_folders=()
        )

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.is_current = False
            self._close_unused(opened)

    @staticmethod
    def _close_unused(opened: _Opened) -> None:
        if not opened.is_current and not opened.users:
            opened.memory.close()

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
        for name in (one.name for one in fields(value)):
            held = getattr(value, name)
            if name in _IDS:
                changes[name] = tuple(map(outside, held)) if isinstance(held, tuple) else outside(held)
            elif name == "collection":
                changes[name] = self.collection
            elif name in _INNER:
                changes[name] = self._outside(held)
        return replace(value, **changes)


class OtherMemories:
    """The memories of other robots, by the names under which they are asked."""

    def __init__(self, parameters: Callable[[], Parameters], open_file: Open) -> None:
        files = parameters().other_files()
        self._by_name = {name: OtherMemory(file, parameters, open_file) for name, file in files.items()}

    def asked(self, request: Request) -> tuple[OtherMemory | None, Request]:
        """Return the memory that a request asks, None for the own one, and the request, whose names are read now.

        Raises:
            InvalidFieldError: it names the memory of another robot together with another collection.
        """
        if not self._by_name:
            return None, request
        names = collection_names(request.collection, request.collections)
        others = [name for name in names if name in self._by_name]
        if others and len(names) > 1:
            why = (
                "is the memory of another robot, which is asked by itself; ask again for the other collections, since "
                "scores of two files cannot be compared"
            )
            raise InvalidFieldError("collections", others[0], why)
        return (self._by_name[others[0]] if others else None), replace(request, collection=None, collections=names)

    def named(self, collection: object) -> OtherMemory | None:
        """Return the memory that a name stands for; None for a collection of the own one."""
        return self._by_name.get(collection) if isinstance(collection, str) else None

    def of(self, memory_id: object) -> tuple[OtherMemory, int] | None:
        """Return the memory that an id is of, and the id in its file; None for the own one."""
        if isinstance(memory_id, int):
            for other in self._by_name.values():
                if (inside := other.file.inside(memory_id)) is not None:
                    return other, inside
        return None

    def details(self, ids: Iterable[int], *, include_forgotten: bool) -> list[MemoryDetails]:
        """Return in full those memories among some that are of other robots."""
        wanted: dict[OtherMemory, list[int]] = {}
        for other, inside in filter(None, map(self.of, ids)):
            wanted.setdefault(other, []).append(inside)
        return [
            found
            for other, its in wanted.items()
            for found in other.ask(partial(_details, ids=its, include_forgotten=include_forgotten))
        ]

    def check_own(self, *ids: object) -> None:
        """Check that ids are of the own memory.

        Raises:
            MemoryNotFoundError: one is of another robot's, which is only read.
        """
        for memory_id in ids:
            found = self.of(memory_id)
            if found is not None:
                name = found[0].collection
                why = f"it is of {name!r}, the memory of another robot (parameter {FIELD}), which is only read"
                raise MemoryNotFoundError(int(memory_id), why)  # type: ignore[call-overload]

    @property
    def trouble(self) -> str:
        """Return why memories could not be read the last time; empty if they could."""
        return "; ".join(other.trouble for other in self._by_name.values() if other.trouble)

    def close(self) -> None:
        """Close all files for good."""
        for other in self._by_name.values():
            other.close(for_good=True)


def _details(memory: RobotMemory, *, ids: Iterable[int], include_forgotten: bool) -> tuple[MemoryDetails, ...]:
    return memory.get_memories(ids, include_forgotten=include_forgotten)


def _stamp(file: OtherFile) -> tuple[int, ...] | None:
    # A file without a log that may not be written is taken for one that never changes: see `connect`.
    try:
        found = file.path.stat()
    except OSError:
        return None
    is_writable = os.access(file.path, os.W_OK) and os.access(file.path.parent, os.W_OK)
    is_at_rest = not is_writable and not Path(f"{file.path}-wal").exists()
    return found.st_dev, found.st_ino, *((found.st_mtime_ns, found.st_size) if is_at_rest else ())
