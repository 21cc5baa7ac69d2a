"""Read an sqlite3 file of rosbag2, of any version of its schema; what is whole, if it was cut off."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from ..perception.message_types import full_name
from .recorded_file import Channel, DefinitionText, Received, distro_in
from .recovery import copy_readable

_HUMBLE = 3
"""Version of the schema that Humble wrote; those before it kept none."""
_WAL = "-wal"


class SqliteFile:
    """An open sqlite3 file; see RecordedFile.

    Raises:
        ValueError: it is no recording.
        sqlite3.Error: not even its list of topics can be read.
    """

    def __init__(self, path: Path) -> None:
        self.damage = ""
        self._path = path
        self._stack = ExitStack()
        try:
            self._connection = self._connected(self._with_log())
            try:
                self._read_index()
            except sqlite3.Error as cause:
                self._recover(cause)
                self._read_index()
        except BaseException:
            self.close()
            raise

    def messages(self, channels: Collection[Channel], start_ns: int, stop_ns: int) -> Iterator[Received]:
        """Yield messages; if the file is damaged, also those behind the damage."""
        by_id = {channel.id: channel for channel in channels}
        last = start_ns, -1
        try:
            for place, message in self._rows(by_id, last, stop_ns):
                yield message
                last = place
        except sqlite3.Error as cause:
            self._recover(cause)
            yield from (message for _, message in self._rows(by_id, last, stop_ns))

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def _rows(
        self, by_id: dict[int, Channel], after: tuple[int, int], stop_ns: int
    ) -> Iterator[tuple[tuple[int, int], Received]]:
        places = ", ".join("?" * len(by_id))
        rows = self._connection.execute(
            f"SELECT timestamp, id, topic_id, data FROM messages WHERE topic_id IN ({places}) "
            "AND (timestamp, id) > (?, ?) AND timestamp < ? ORDER BY timestamp, id",
            (*by_id, *after, stop_ns),
        )
        for receipt_ns, number, topic_id, data in rows:
            # One bit makes text of bytes, or nothing.
            raw = data if isinstance(data, bytes) else b""
            yield (receipt_ns, number), Received(receipt_ns, by_id[topic_id], raw)

    def _with_log(self) -> Path:
        """Return the file, or a copy with what its write-ahead log holds: the recorder was not closed."""
        log = self._path.with_name(self._path.name + _WAL)
        if not log.exists() or not log.stat().st_size:
            return self._path
        copy = self._copy_path()
        shutil.copyfile(self._path, copy)
        shutil.copyfile(log, copy.with_name(copy.name + _WAL))
        # Writes the log into the copy, which then can be opened as others are.
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return copy

    def _copy_path(self) -> Path:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="robotmem-"))
        return Path(folder) / self._path.name

    def _connected(self, path: Path) -> sqlite3.Connection:
        # Immutable: it may lie where nothing can be written.
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        return self._stack.enter_context(closing(connection))

    def _recover(self, cause: sqlite3.Error) -> None:
        """Go on with a copy of what can be read."""
        if self.damage:
            raise cause
        self.damage = f"is damaged: {cause}"
        copy = self._copy_path()
        copy_readable(self._path, copy)
        self._connection = self._connected(copy)

    def _read_index(self) -> None:
        if not {"messages", "topics"} <= self._tables():
            raise ValueError("it has no tables of messages and topics")
        query = self._connection.execute
        definitions = self._definitions()
        columns = self._columns("topics")
        type_hash = "type_description_hash" if "type_description_hash" in columns else "''"
        # All pages are read, to learn now if some are damaged.
        totals = query(
            "SELECT topic_id, count(*), min(timestamp), max(timestamp), max(length(data)) FROM messages "
            "GROUP BY topic_id"
        ).fetchall()
        counts = {row[0]: row[1] for row in totals}
        self.channels: tuple[Channel, ...] = tuple(
            Channel(
                number, topic, full_name(type_name), encoding, definitions.get(type_name), told or "",
                counts.get(number, 0),
            )
            for number, topic, type_name, encoding, told in query(
                f"SELECT id, name, type, serialization_format, {type_hash} FROM topics ORDER BY id"
            )
        )  # fmt: skip
        self.start_ns: int = min((row[2] for row in totals), default=0)
        self.end_ns: int = max((row[3] + 1 for row in totals), default=0)
        self.distro = self._distro()

    def _definitions(self) -> dict[str, DefinitionText]:
        if "message_definitions" not in self._tables():
            return {}
        rows = self._connection.execute(
            "SELECT topic_type, encoded_message_definition, encoding FROM message_definitions ORDER BY id"
        )
        return {type_name: DefinitionText(text, encoding) for type_name, text, encoding in rows if text.strip()}

    def _distro(self) -> str:
        query, tables = self._connection.execute, self._tables()
        if "ros_distro" in self._columns("schema"):
            told = [row[0] for row in query("SELECT ros_distro FROM schema")]
            if "metadata" in tables:
                told += [distro_in(row[0]) for row in query("SELECT metadata FROM metadata ORDER BY id DESC")]
            return next(filter(None, told), "")
        if "schema" in tables:
            versions = query("SELECT schema_version FROM schema").fetchone()
            return "humble" if versions == (_HUMBLE,) else ""
        return "galactic" if "offered_qos_profiles" in self._columns("topics") else "foxy"

    def _tables(self) -> set[str]:
        return {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _columns(self, table: str) -> set[str]:
        return {row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")}
