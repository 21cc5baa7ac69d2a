"""Read a recording with rosbags, without ROS: sqlite3, MCAP or ROS 1, whole or split, compressed or not."""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ..memory.errors import RobotMemoryError
from ..memory.validation import expanded_path
from ..perception import TypestoreTypes
from .recovery import MCAP_MAGIC, CutMcap, copy_readable


class ReplayError(RobotMemoryError):
    """Base of what goes wrong with an import."""


class BagError(ReplayError):
    """A recording cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"recording {str(path)!r} {problem}")
        self.path = path


class MissingPackageError(ReplayError):
    """The package that reads recordings is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"reading recordings needs the package {name}; pip install 'robotmem_ros[replay]'")


class TopicTypeError(ReplayError):
    """A topic is configured with another type than the recording has."""

    def __init__(self, name: str, topic: str, configured_type: str, recorded_type: str) -> None:
        configured = f"{name}.type: {configured_type!r} is configured for {topic}"
        super().__init__(f"{configured}, but the recording has {recorded_type!r}")


_HEAD, _TAIL = 1 << 20, 1 << 16
_STORAGE = (".mcap", ".db3")
_FIRST_STEP_NS = 1_000_000


class RecordedMessage(NamedTuple):
    """One message, still serialised."""

    topic: str
    type_name: str
    receipt_ns: int
    """Time of recording, by the clock of the recorder."""
    raw: bytes


class RecordedTopic(NamedTuple):
    """Type and number of messages of a topic in a recording."""

    type_name: str
    messages: int


class Bag:
    """An open recording; a context manager.

    Raises:
        BagError: it does not exist, is empty, holds no messages or no definitions, or nothing of it can be read.
        MissingPackageError: rosbags is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = expanded_path("recording", path)
        self.damage = ""
        """Damage of a recording of which some can be read; may be set while messages are read."""
        self._stack = ExitStack()
        try:
            self._reader = self._open_any()
        except BaseException:
            self._stack.close()
            raise
        self.types = TypestoreTypes(self._reader.typestore)
        self.is_ros1 = not self._reader.is2
        self.topics = {
            name: RecordedTopic(info.connections[-1].msgtype, info.msgcount)
            for name, info in self._reader.topics.items()
        }
        self.start_ns: int = self._reader.start_time
        self.end_ns: int = self._reader.end_time
        """Time just after the last message."""
        self.digest = self._digest()

    def __enter__(self) -> Bag:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def messages(self, topics: Collection[str], start_ns: int, stop_ns: int) -> Iterator[RecordedMessage]:
        """Yield the messages of topics that were recorded in `[start_ns, stop_ns)`, in the order they were recorded.

        Goes on behind a part that is damaged, and sets `damage`.
        """
        connections = [connection for connection in self._reader.connections if connection.topic in topics]
        last_ns, step_ns = start_ns - 1, 1
        while connections and last_ns + step_ns < stop_ns:
            try:
                for connection, receipt_ns, raw in self._reader.messages(connections, last_ns + step_ns, stop_ns):
                    yield RecordedMessage(connection.topic, connection.msgtype, receipt_ns, raw)
                    last_ns, step_ns = receipt_ns, 1
            except Exception as cause:  # noqa: PERF203 -- once for each damaged part
                self.damage = self.damage or f"is damaged: {cause}"
                # Nobody tells where the damaged part ends: it is tried ever further behind the last whole message.
                step_ns = max(2 * step_ns, _FIRST_STEP_NS)
            else:
                return

    def deserialised(self, message: RecordedMessage) -> Any:
        """Return the message; None if its bytes are none, which sets `damage`."""
        try:
            return self._reader.deserialize(message.raw, message.type_name)
        except Exception:
            seconds = (message.receipt_ns - self.start_ns) / 1e9
            place = f"of {message.topic}, {seconds:.3f} s after the start"
            self.damage = self.damage or f"is damaged: a message {place}, is no {message.type_name}"
            return None

    def _open_any(self) -> Any:
        try:
            from rosbags.highlevel import AnyReader
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise MissingPackageError("rosbags") from None
        if not self.path.exists():
            raise BagError(self.path, "does not exist")
        store = get_typestore(Stores.LATEST)

        try:
            return self._open(AnyReader([self.path], default_typestore=store))
        except (RobotMemoryError, MemoryError):
            raise
        except Exception as cause:
            self.damage = f"is damaged: {cause}"
            paths = self._recover(cause)
            try:
                return self._open(AnyReader(paths, default_typestore=store))
            except RobotMemoryError:
                raise
            except Exception as second:
                raise BagError(self.path, f"cannot be read: {cause}") from second

    def _open(self, reader: Any) -> Any:
        reader.open()
        self._stack.callback(reader.close)
        if not reader.message_count:
            problem = f"{self.damage}; no message in it is whole" if self.damage else "holds no messages"
            raise BagError(self.path, problem)
        return reader

    def _recover(self, cause: Exception) -> list[Any]:
        """Return the files of a recording that cannot be opened, or copies of their readable parts."""
        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        paths = [self._readable(file) for file in files if file.suffix in _STORAGE and file.stat().st_size]
        if not paths:
            way_out = "give a folder with metadata.yaml, a .mcap, a .db3 or a ROS 1 .bag file"
            if self.path.suffix == ".bag":
                way_out = "if it was not closed, `rosbag reindex` repairs it"
            raise BagError(self.path, f"cannot be read: {cause}; {way_out}")
        if isinstance(cause, FileNotFoundError):
            self.damage = "has no metadata.yaml; it was not closed"
        return paths

    def _readable(self, file: Path) -> Any:
        if file.suffix == ".mcap":
            return CutMcap(file) if _is_cut(file) else file
        try:
            with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as connection:
                connection.execute("SELECT count(*), max(timestamp), max(length(data)) FROM messages").fetchone()
        except sqlite3.Error:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="robotmem-"))
            copy = Path(folder) / file.name
            try:
                copy_readable(file, copy)
            except sqlite3.Error as cause:
                raise BagError(self.path, f"cannot be read: {cause}") from None
            return copy
        return file

    def _digest(self) -> str:
        """Digest the content; neither the name nor the place of the recording matters."""
        digest = hashlib.sha256()
        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        for file in files:
            if file.name == "metadata.yaml" or not file.is_file():
                continue
            size = file.stat().st_size
            with file.open("rb") as content:
                digest.update(content.read(_HEAD))
                content.seek(max(0, size - _TAIL))
                digest.update(content.read(_TAIL))
            digest.update(f"{size};".encode())
        digest.update(str(self._reader.message_count).encode())
        return digest.hexdigest()


def _is_cut(file: Path) -> bool:
    with file.open("rb") as content:
        content.seek(max(0, file.stat().st_size - len(MCAP_MAGIC)))
        return content.read() != MCAP_MAGIC
