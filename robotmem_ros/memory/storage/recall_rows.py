"""Keep a log of the last recalls, and tell which memories were recalled most.

A recall is known by a digest of its text, keyed by the name of the file: the same text has the same digest in one file,
and another one in others. Whoever has the file can still find out whether a text that he guesses was asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace

from ..clocks import nanoseconds
from ..text.letters import SNIPPET
from . import revisions
from .revisions import Purge
from .snapshot import Snapshot, Transaction

_LONGEST = 200
"""Characters that are kept of a text."""
_USED = """
    SELECT id, collection, substr(content, 1, ?1), access_count, return_count, last_accessed FROM memories
    WHERE access_count > 0 AND status = 'active' ORDER BY access_count DESC, id DESC LIMIT ?2
"""
_USAGES = """
    SELECT id, access_count, return_count, last_accessed FROM memories WHERE id IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True)
class LoggedRecall:
    """One recall, as the log has it."""

    recalled_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    caller: str
    """The door by which it came (`python`, `service`, `console`, `agent`), or what a program calls itself."""
    digest: str
    """A digest of its text, the same for the same text; empty without a text, and after a purge."""
    query: str
    """The first 200 characters of its text, if the parameter `recall_log_texts` is true; else empty."""
    mode: str
    """Mode in which it ran, see `Mode`."""
    hits: int
    relevance: float | None
    """Relevance of its most relevant hit; None without a text, and without hits."""
    relevant: bool
    """Whether a hit is as relevant as `min_relevance`."""
    milliseconds: float


@dataclass(frozen=True)
class UsedMemory:
    """A memory that was recalled, and how often."""

    memory_id: int
    collection: str
    snippet: str
    """The first 100 characters of its content."""
    access_count: int
    return_count: int
    last_accessed: int
    """Nanoseconds since the epoch, by the wall clock."""


_COLUMNS = ", ".join(field.name for field in fields(LoggedRecall))
_ROW = f"({', '.join('?' * len(fields(LoggedRecall)))})"


def add(transaction: Transaction, recalls: Sequence[tuple[LoggedRecall, Purge]], *, limit: int, texts: bool) -> None:
    """Log recalls, whose `query` is the whole text, and drop the oldest beyond `limit`.

    Each comes with the last purge when it began: after another one its text may name what is purged.
    """
    key, now = revisions.robot(transaction), revisions.last_purge(transaction).key
    whole = [replace(entry, query=entry.query if then.key == now else "") for entry, then in recalls[-limit:] if limit]
    rows = [
        astuple(replace(entry, digest=_digest(key, entry.query), query=entry.query[:_LONGEST] if texts else ""))
        for entry in whole
    ]
    transaction.insert(f"recalls ({_COLUMNS})", _ROW, rows)
    transaction.execute("DELETE FROM recalls WHERE id <= (SELECT max(id) FROM recalls) - ?", (limit,))


def latest(snapshot: Snapshot, n: int) -> tuple[LoggedRecall, ...]:
    """Return the last `n` recalls of the log, newest first."""
    rows = snapshot.rows(f"SELECT {_COLUMNS} FROM recalls ORDER BY id DESC LIMIT ?", (n,))
    return tuple(replace(entry, relevant=bool(entry.relevant)) for entry in (LoggedRecall(*row) for row in rows))


def delete_texts(transaction: Transaction) -> None:
    """Empty texts and digests of the log: any of them may name what is purged."""
    transaction.execute("UPDATE recalls SET (digest, query) = ('', '') WHERE digest <> ''")


def most_used(snapshot: Snapshot, n: int) -> tuple[UsedMemory, ...]:
    """Return the `n` active memories that were recalled most often, the most often recalled first."""
    rows = snapshot.rows(_USED, (SNIPPET, n))
    return tuple(
        UsedMemory(memory_id, collection, snippet, accesses, returns, nanoseconds(at))
        for memory_id, collection, snippet, accesses, returns, at in rows
    )


def usages(snapshot: Snapshot, memory_ids: Sequence[int]) -> dict[int, tuple[int, int, int | None]]:
    """Return how often memories were recalled and returned, and when last, in nanoseconds of the wall clock."""
    rows = snapshot.rows(_USAGES, (json.dumps(list(memory_ids)),))
    return {key: (accesses, returns, at and nanoseconds(at)) for key, accesses, returns, at in rows}


def _digest(key: str, text: str) -> str:
    if not text:
        return ""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key.encode()).hexdigest()
