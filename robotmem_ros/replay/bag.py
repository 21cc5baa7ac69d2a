"""Read a recording without ROS: sqlite3, MCAP or ROS 1, whole or split, compressed or not.

What cannot be read of one topic keeps no other from being read: definitions are looked at when a topic is asked for.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from ..memory.errors import RobotMemoryError
from ..memory.validation import expanded_path
from .definitions import OTHER_VERSION, RECORDING, Definitions
from .mcap_file import McapFile, zstd
from .recorded_file import END_OF_TIME, Channel, DefinitionText, RecordedFile, merged
from .recording_folder import FORMATS, METADATA, ZSTD, Metadata, decompressed, format_of, read_metadata, recorded_files
from .ros1_file import Ros1File
from .sqlite_file import SqliteFile

_HEAD, _TAIL = 1 << 20, 1 << 16
_READERS: Mapping[str, Callable[[Path], RecordedFile]] = {".mcap": McapFile, ".db3": SqliteFile, ".bag": Ros1File}
_ZSTD_START = b"\x28\xb5\x2f\xfd"
"""Start of a message that is compressed by itself; one of CDR starts with a zero byte."""
READ_ENCODINGS = frozenset({"cdr", "ros1"})


class BagError(RobotMemoryError):
    """A recording cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"recording {str(path)!r} {problem}")


class RecordedMessage(NamedTuple):
    """One message, still serialised."""

    topic: str
    type_name: str
    receipt_ns: int
    """Time of recording, by the clock of the recorder."""
    raw: bytes
    encoding: str = "cdr"
    """Serialisation: cdr or ros1."""
    definition: DefinitionText | None = None
    """Definition that was recorded with it."""


class RecordedTopic(NamedTuple):
    """Type and number of messages of a topic in a recording."""

    type_name: str
    """That of most messages."""
    messages: int
    """Number of all messages."""
    types: Mapping[str, int]
    """All types that the topic was recorded with, and the number of messages of each."""
    encoding: str
    """Serialisation, such as cdr."""


class Bag:
    """An open recording; a context manager.

    `definitions` is a folder of .msg files for types that nothing else defines.

    Raises:
        BagError: it does not exist, is empty, holds no messages, or nothing of it can be read.
        RobotMemoryError: rosbags is not installed.
        InvalidFieldError: the folder of definitions has none.
    """

    def __init__(self, path: Path | str, *, definitions: Path | str | None = None) -> None:
        self.path = expanded_path("recording", path)
        self._damage = ""
        self._stack = ExitStack()
        try:
            metadata, paths, missing = self._find()
            self._files = [file for name in paths if (file := self._opened(name)) is not None]
            channels = [channel for file in self._files for channel in file.channels]
            # Files may have been renamed: nothing is missing where all messages are there.
            if missing and metadata.messages != sum(channel.messages for channel in channels):
                self._damage = self._damage or f"is damaged: {', '.join(missing)} is missing or empty"
            self._check(paths)
            self.notes = [] if self.damage else metadata.differences(self._files)
            """Where the files and metadata.yaml differ, as sentences."""
            if metadata.problem and not self.damage:
                self.notes.append(f"{metadata.problem}; the files are read")
            self.notes += [f"{name} is not read: it is a copy in another format" for name in self._others]
            distro = next(filter(None, (file.distro for file in self._files)), metadata.distro)
            self.types = Definitions(channels, distro, self._samples, definitions)
            self.topics = _topics(channels)
            whole = [file for file in self._files if file.end_ns]
            self.start_ns: int = min(file.start_ns for file in whole)
            self.end_ns: int = max(file.end_ns for file in whole)
            """Time just after the last message, by the index of the files."""
            self.digest = self._digest(paths)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Bag:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def damage(self) -> str:
        """Damage of a recording of which some can be read; may come up while messages are read."""
        return next(filter(None, (self._damage, *(file.damage for file in self._files))), "")

    def messages(
        self, topics: Collection[str], start_ns: int = 0, stop_ns: int = END_OF_TIME
    ) -> Iterator[RecordedMessage]:
        """Yield the messages of topics that were recorded in `[start_ns, stop_ns)`, in the order they were recorded.

        Goes on behind a part that is damaged, and sets `damage`.
        """
        return self._messages(lambda channel: channel.topic in topics, start_ns, stop_ns)

    def deserialised(self, message: RecordedMessage) -> Any:
        """Return the message; None if its bytes are none, which sets `damage`.

        Raises:
            UnknownTypeError: nothing defines the type, or a part of it.
        """
        definition = self.types.of(message.type_name, message.definition)
        try:
            return definition.decoded(message.raw, message.encoding)
        except Exception:
            seconds = (message.receipt_ns - self.start_ns) / 1e9
            what = f"a message of {message.topic}, {seconds:.3f} s after the start, is no {message.type_name}"
            if definition.source == RECORDING:
                problem = f"is damaged: {what}"
            else:
                problem = f"cannot be read: {what} as {definition.source} defines it; {OTHER_VERSION}"
            self._damage = self._damage or problem
            return None

    def _find(self) -> tuple[Metadata, list[Path], list[str]]:
        """Return what metadata.yaml says, the files, and the names of those that it lists and are not there."""
        self._others: list[str] = []
        if not self.path.exists():
            raise BagError(self.path, "does not exist")
        if not self.path.is_dir():
            if not format_of(self.path):
                raise BagError(self.path, _not_a_recording("it is none"))
            return Metadata(), [self.path], []
        has_metadata = (self.path / METADATA).exists()
        metadata = read_metadata(self.path) if has_metadata else Metadata(problem=f"there is no {METADATA}")
        paths, self._others = recorded_files(self.path, metadata.files)
        if not paths:
            known = f"Storage plugin {metadata.storage!r} not supported" if metadata.storage else "it has no such file"
            raise BagError(self.path, _not_a_recording(known))
        there = {name.removesuffix(ZSTD) for name in (*(path.name for path in paths), *self._others)}
        missing = sorted(name for name in metadata.files if name.removesuffix(ZSTD) not in there)
        if not has_metadata and any(format_of(path) == ".db3" for path in paths):  # the others have an end
            self._damage = f"has no {METADATA}; it was not closed"
        return metadata, paths, missing

    def _opened(self, path: Path) -> RecordedFile | None:
        """Open a file; return None if it cannot be read, which sets `damage`."""
        try:
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="robotmem-")))
            file = _READERS[format_of(path)](decompressed(path, folder))
        except ImportError as cause:
            raise _missing(cause.name or "rosbags") from None
        except MemoryError:
            raise
        except Exception as cause:
            self._problem = f"cannot be read: {cause}"
            self._damage = self._damage or f"is damaged: {path.name} {self._problem}"
            return None
        self._stack.callback(file.close)
        return file

    def _check(self, paths: list[Path]) -> None:
        try:
            import rosbags  # noqa: F401
        except ImportError:
            raise _missing("rosbags") from None
        if not self._files:
            raise BagError(self.path, self._problem if len(paths) == 1 else self._damage)
        if not any(file.end_ns for file in self._files):
            damage = self.damage
            raise BagError(self.path, f"{damage}; no message in it is whole" if damage else "holds no messages")

    def _samples(self, channels: Collection[Channel]) -> Iterator[tuple[bytes, str]]:
        """Yield the messages of channels, with their encoding."""
        messages = self._messages(lambda channel: channel in channels, 0, END_OF_TIME)
        return ((message.raw, message.encoding) for message in messages)

    def _messages(self, wants: Callable[[Channel], bool], start_ns: int, stop_ns: int) -> Iterator[RecordedMessage]:
        start_ns, stop_ns = max(0, start_ns), min(stop_ns, END_OF_TIME)
        sources = []
        for file in self._files:
            channels = [channel for channel in file.channels if wants(channel) and channel.encoding in READ_ENCODINGS]
            if channels:
                sources.append((file.start_ns, partial(file.messages, channels, start_ns, stop_ns)))
        for receipt_ns, channel, raw in merged(sources):
            content = self._decompressed(channel, raw) if raw.startswith(_ZSTD_START) else raw
            if content is not None:
                yield RecordedMessage(
                    channel.topic, channel.type_name, receipt_ns, content, channel.encoding, channel.definition
                )

    def _decompressed(self, channel: Channel, raw: bytes) -> bytes | None:
        if channel.encoding != "cdr":
            return raw
        try:
            return bytes(zstd().decompress(raw))
        except Exception as cause:
            self._damage = self._damage or f"is damaged: a message of {channel.topic} cannot be decompressed: {cause}"
            return None

    def _digest(self, paths: list[Path]) -> str:
        """Digest the content; neither the name nor the place of the recording matters."""
        digest = hashlib.sha256()
        files = sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]
        for file in files:
            if file.name == METADATA or not file.is_file():
                continue
            size = file.stat().st_size
            with file.open("rb") as content:
                digest.update(content.read(_HEAD))
                content.seek(max(0, size - _TAIL))
                digest.update(content.read(_TAIL))
            digest.update(f"{size};".encode())
        digest.update(str(sum(topic.messages for topic in self.topics.values())).encode())
        return digest.hexdigest()


def _topics(channels: list[Channel]) -> dict[str, RecordedTopic]:
    counts: dict[str, Counter[str]] = {}
    encodings: dict[str, str] = {}
    for channel in channels:
        counts.setdefault(channel.topic, Counter())[channel.type_name] += channel.messages
        if channel.encoding in READ_ENCODINGS or channel.topic not in encodings:
            encodings[channel.topic] = channel.encoding
    return {
        name: RecordedTopic(types.most_common(1)[0][0], types.total(), dict(types), encodings[name])
        for name, types in sorted(counts.items())
    }


def _missing(package: str) -> RobotMemoryError:
    return RobotMemoryError(f"reading recordings needs the package {package}; pip install 'robotmem_ros[replay]'")


def _not_a_recording(problem: str) -> str:
    formats = ", ".join(FORMATS)
    return f"cannot be read: {problem}; give a folder of rosbag2, or a file of one of the formats {formats}"
