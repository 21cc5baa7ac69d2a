"""Read a bag of ROS 1, by rosbags."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .recorded_file import Channel, DefinitionText, Received

_FIRST_STEP_NS = 1_000_000


class Ros1File:
    """An open bag of ROS 1; see RecordedFile.

    Raises:
        ImportError: rosbags is not installed.
        ValueError: it cannot be read.
    """

    distro = ""

    def __init__(self, path: Path) -> None:
        from rosbags.rosbag1 import Reader, ReaderError

        self.damage = ""
        try:
            self._reader = Reader(path)
            self._reader.open()
        except ReaderError as cause:
            raise ValueError(f"{cause}; if it was not closed, `rosbag reindex` repairs it") from None
        self._connections: dict[int, Any] = {one.id: one for one in self._reader.connections}
        self.channels = tuple(
            Channel(
                one.id, one.topic, one.msgtype, "ros1", DefinitionText(one.msgdef.data, "ros1msg"), "", one.msgcount
            )
            for one in self._connections.values()
        )
        has_messages = bool(self._reader.message_count)
        self.start_ns: int = self._reader.start_time if has_messages else 0
        self.end_ns: int = self._reader.end_time if has_messages else 0

    def messages(self, channels: Collection[Channel], start_ns: int, stop_ns: int) -> Iterator[Received]:
        """Yield messages; goes on behind a part that is damaged."""
        by_id = {channel.id: channel for channel in channels}
        connections = [self._connections[number] for number in by_id]
        last_ns, step_ns = max(start_ns, self.start_ns) - 1, 1
        stop_ns = min(stop_ns, self.end_ns)
        while connections and last_ns + step_ns < stop_ns:
            try:
                for connection, receipt_ns, raw in self._reader.messages(connections, last_ns + step_ns, stop_ns):
                    yield Received(receipt_ns, by_id[connection.id], bytes(raw))
                    last_ns, step_ns = receipt_ns, 1
            except Exception as cause:  # noqa: PERF203 -- once for each damaged part
                self.damage = self.damage or f"is damaged: {cause}"
                # Nobody tells where the damaged part ends: it is tried ever further behind the last whole message.
                step_ns = max(2 * step_ns, _FIRST_STEP_NS)
            else:
                return

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
