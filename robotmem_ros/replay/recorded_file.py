"""A file of a recording, whatever its format: its channels, and their messages in the order of recording."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple, Protocol

END_OF_TIME = 2**63 - 1
"""Later than any time of recording."""


class DefinitionText(NamedTuple):
    """A message definition as it is recorded."""

    text: str
    encoding: str
    """Language of the text: ros2msg, ros1msg, ros2idl or omgidl."""


class Channel(NamedTuple):
    """A topic as one file has it; several channels may have one topic."""

    id: int
    topic: str
    type_name: str
    """Full name, such as "std_msgs/msg/String"."""
    encoding: str
    """Serialisation of the messages: cdr, ros1 or what is not read."""
    definition: DefinitionText | None
    """Definition of the type with its parts; None if the file has none."""
    type_hash: str
    """RIHS01 hash of the type; empty if the file has none."""
    messages: int
    """Number of messages by the index of the file."""


class Received(NamedTuple):
    """A serialised message of a channel."""

    receipt_ns: int
    """Time of recording, by the clock of the recorder."""
    channel: Channel
    raw: bytes


class RecordedFile(Protocol):
    """An open file of a recording."""

    channels: tuple[Channel, ...]
    start_ns: int
    """Time of the first message; 0 without messages."""
    end_ns: int
    """Time just after the last message; 0 without messages."""
    distro: str
    """Name of the ROS distribution that recorded, such as "humble"; empty if the file does not tell."""
    damage: str
    """Damage, as an end of a sentence about the file; empty if there is none. Reading may find some."""

    def messages(self, channels: Collection[Channel], start_ns: int, stop_ns: int) -> Iterator[Received]:
        """Yield the messages of channels that were recorded in `[start_ns, stop_ns)`, in the order of recording.

        Goes on behind a part that is damaged, and sets `damage`.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


_DISTRO = re.compile(r"^ *ros_distro: *['\"]?(\w+)", re.MULTILINE)


def distro_in(metadata: str) -> str:
    """Return the distribution that the text of a metadata.yaml names; empty if it names none."""
    match = _DISTRO.search(metadata)
    return match[1] if match else ""


def merged(sources: Iterable[tuple[int, Callable[[], Iterable[Received]]]]) -> Iterator[Received]:
    """Merge messages by their times; each source, given with its first time, is opened when that is reached."""
    streams = [_opened_late(start_ns, source) for start_ns, source in sources]
    return (message for _, message in heapq.merge(*streams, key=itemgetter(0)) if message is not None)


def _opened_late(start_ns: int, source: Callable[[], Iterable[Received]]) -> Iterator[tuple[int, Received | None]]:
    yield start_ns, None
    for message in source():
        yield message.receipt_ns, message
