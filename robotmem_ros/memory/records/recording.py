"""A recording that is imported, and what of it a memory was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class ImportKey(NamedTuple):
    """What of a recording a memory was made of; it is stored once."""

    import_id: int
    recorded_at: int
    """Nanoseconds, by the clock of the recorder."""
    nth: int
    """Which one it is of the messages of its topic and time."""
    element: int
    """Which element of its message."""


@dataclass(frozen=True)
class Recording:
    """One topic of a recording, as it is imported."""

    digest: str
    """Of the content of the recording."""
    topic: str
    configuration: str
    """Digest of all that decides what is read of it."""
    path: str
