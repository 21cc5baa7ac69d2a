"""Compare what programs acknowledged with what a file holds."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path


class UnavailableError(Exception):
    """A storm needs what this machine does not have; the message says what."""


@dataclass
class Result:
    """Counts of one storm; all but the first three should be 0."""

    rounds: int = 0
    acknowledged: int = 0
    """Changes that were answered with success."""
    purged: int = 0
    lost: int = 0
    """Acknowledged changes that the file does not have."""
    found: int = 0
    """Purged words that the bytes of the files still hold."""
    hangs: int = 0
    """Programs that did not answer or end in time."""
    raw: int = 0
    """Exceptions that no error of the package is."""
    complaints: list[str] = field(default_factory=list)
    """Examples of what was wrong."""

    @property
    def wrong(self) -> int:
        """Return how much is wrong."""
        return self.lost + self.found + self.hangs + self.raw

    def repeat(self, seconds: float) -> Iterator[int]:
        """Count rounds until the time is over; there is always one."""
        end = time.monotonic() + seconds
        while not self.rounds or time.monotonic() < end:
            self.rounds += 1
            yield self.rounds

    def complain(self, text: str) -> None:
        """Keep an example, unless there are many."""
        if len(self.complaints) < 20:
            self.complaints.append(text)


class Ledger:
    """What the workers on one file acknowledged.

    A change that was begun and neither acknowledged nor refused may have happened or not, and is not judged.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.named = ""
        """Last error of the package."""
        self._words: dict[int, str] = {}
        self._forgotten: set[int] = set()
        self._purged: dict[int, str] = {}

    def read(self, line: str) -> None:
        """Note a line of a worker."""
        what, _, rest = line.strip().partition(" ")
        if what == "raw":
            self.result.raw += 1
            self.result.complain(rest)
        elif what == "named":
            self.named = rest
        elif what in {"saved", "updated", "forgotten", "purged", "unfinished", "changing"}:
            number, _, word = rest.partition(" ")
            self._change(what, int(number), word)

    def _change(self, what: str, memory_id: int, word: str) -> None:
        if what == "changing":
            self._words.pop(memory_id, None)
            return
        self.result.acknowledged += 1
        if what in {"saved", "updated"}:
            self._words[memory_id] = word
        elif what == "forgotten":
            self._forgotten.add(memory_id)
        else:
            # What is unfinished is deleted, and overwritten by the next program that can.
            self._purged[memory_id] = word

    def check(self, path: Path) -> None:
        """Compare with a file that nothing has open, and count what is wrong. Needs nothing of the package.

        A memory that the worker forgot may have been purged by a budget; one that it saved may not.
        """
        with closing(sqlite3.connect(path)) as connection:
            (health,) = connection.execute("PRAGMA integrity_check").fetchone()
            rows = {row[0]: row[1:] for row in connection.execute("SELECT id, status, content FROM memories")}
        if health != "ok":
            self._count("lost", f"integrity_check of {path.name}: {health}")
        for memory_id, word in self._words.items():
            status, content = rows.get(memory_id, ("missing", ""))
            if status != "active" or word not in content:
                self._count("lost", f"memory {memory_id} with {word!r} is {status}: {content!r}")
        for memory_id in self._forgotten:
            if rows.get(memory_id, ("forgotten",))[0] == "active":
                self._count("lost", f"memory {memory_id} was forgotten and is active")
        for memory_id in self._purged.keys() & rows.keys():
            self._count("lost", f"memory {memory_id} was purged and is there")
        self.result.purged += len(self._purged)
        content = b"\0".join(_bytes_of(path))
        for word in self._purged.values():
            if f"{word} ".encode() in content:
                self._count("found", f"{word!r} was purged and is in the bytes of {path.name}")

    def _count(self, field_name: str, complaint: str) -> None:
        setattr(self.result, field_name, getattr(self.result, field_name) + 1)
        self.result.complain(complaint)


def _bytes_of(path: Path) -> Iterator[bytes]:
    return (file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")) if file.is_file())
