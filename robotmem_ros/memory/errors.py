"""Errors of the package; each message names the field or file, the value and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path, PurePath

_MAX_SHOWN_LENGTH = 80
MALFORMED = (AssertionError, AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
"""Errors that code raises when it reads a value from a database that is never stored there."""
_CORRUPT, _NOT_A_DATABASE = 11, 26
"""SQLITE_CORRUPT and SQLITE_NOTADB, see "Result and Error Codes" of SQLite."""


def is_damage(error: BaseException | None) -> bool:
    """Tell whether SQLite says by this error that the file is damaged, or is no database."""
    code = getattr(error, "sqlite_errorcode", None)  # from Python 3.11 on
    if code is not None:
        return code & 0xFF in {_CORRUPT, _NOT_A_DATABASE}
    return not isinstance(error, MALFORMED) and any(sign in str(error) for sign in ("malformed", "not a database"))


def shown(value: object) -> str:
    """Return the repr of a value, cut to a length that fits a log line and safe to print; that of a path is whole."""
    if isinstance(value, PurePath):
        return repr(str(value))
    try:
        text = repr(value[:_MAX_SHOWN_LENGTH]) if isinstance(value, (str, bytes)) else repr(value)
    except (RecursionError, ValueError):
        # Nested too deeply, or a number of more digits than Python writes.
        text = f"<{type(value).__name__}>"
    text = encodable(text)
    cut = len(text) > _MAX_SHOWN_LENGTH or (isinstance(value, (str, bytes)) and len(value) > _MAX_SHOWN_LENGTH)
    return text[:_MAX_SHOWN_LENGTH] + "..." if cut else text


def encodable(text: str) -> str:
    """Return a text with an escape for each half of a character (a lone surrogate), which UTF-8 does not have."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _duration(seconds: float) -> str:
    # In steps, so that a message that is logged when it changes does not fill the log.
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return "a moment" if seconds < 60 else "a minute"


def did_you_mean(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str:
    """End a message about an unknown name with the nearest one, "; did you mean 'a'?"; empty for none.

    `cutoff` is the least likeness, in [0, 1]; upper and lower case are alike.
    """
    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


class RobotMemoryError(Exception):
    """Base of all errors of this package."""


class CancelledError(RobotMemoryError):
    """Work was cancelled between two pieces, each of which is whole; those that were done stay done."""

    def __init__(self, verb: str, done: int = 0, total: int = 0) -> None:
        super().__init__(f"{verb}: cancelled at {done:,} of {total:,}" if total else f"{verb}: cancelled")


class InvalidFieldError(RobotMemoryError):
    """A field of a request or message has an invalid value."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {shown(value)} {expected}")
        self.field = field
        self.value = value
        self.expected = expected


class MemoryNotFoundError(RobotMemoryError):
    """No active memory has this id."""

    def __init__(self, memory_id: int, reason: str = "there is no such memory") -> None:
        super().__init__(f"memory_id: {memory_id} cannot be used, {reason}")
        self.memory_id = memory_id
        self.reason = reason


class NoteError(InvalidFieldError):
    """A note was to be changed by itself; it is what its file says."""

    def __init__(self, memory_id: int, path: str) -> None:
        super().__init__(
            "memory_id",
            memory_id,
            f"is a note and says what {path!r} says; edit that file, or move it out of its folder",
        )


class SessionNotFoundError(RobotMemoryError):
    """No session with this id can be used."""

    def __init__(self, session_id: str, reason: str = "there is no such session; start one") -> None:
        super().__init__(f"session_id: {shown(session_id)} cannot be used, {reason}")
        self.session_id = session_id


class FrameMismatchError(RobotMemoryError):
    """A position is given in a frame in which no memory has one. `field` is that of the request."""

    def __init__(self, field: str, target_frame: str, memory_frame: str, reason: str = "") -> None:
        super().__init__(
            f"{field}: frame {target_frame!r} cannot be compared with memories in frame {memory_frame!r}"
            f"{': ' + reason if reason else ''}; give the position in {memory_frame!r}"
        )
        self.field = field
        self.value = target_frame
        self.reason = reason


class DatabaseUnusableError(RobotMemoryError):
    """The database file cannot be opened."""

    def __init__(self, path: Path | str, problem: str, way_out: str) -> None:
        super().__init__(f"database {str(path)!r} {problem}; {way_out}")
        self.way_out = way_out


class StorageError(RobotMemoryError):
    """The database could not be read or written: disk full, locked, damaged."""

    cause: BaseException | None = None
    is_damage = False
    """Whether the file looks damaged, as it also does while its disk fails to read."""

    def __init__(self, action: str, cause: BaseException) -> None:
        reason, self.cause = str(cause), cause
        self.is_damage = is_damage(cause)
        if self.is_damage:
            reason += "; if `robotmem doctor` says so too, the file is damaged: restore a copy of it"
        elif isinstance(cause, MALFORMED) or not isinstance(cause, Exception):
            reason = f"{type(cause).__name__}: {cause}; no version writes such a value, or robotmem_ros is at fault"
        super().__init__(f"could not {action}: {reason}")


class DatabaseLostError(StorageError):
    """The database file was taken away, replaced or cut off while it was open; nothing is written any more."""

    def __init__(self, path: Path | str, loss: str, copy: str) -> None:
        RobotMemoryError.__init__(
            self, f"could not write to the database {str(path)!r}: {loss}; {copy}; put the right file there and restart"
        )


class PurgeUnfinishedError(RobotMemoryError):
    """Memories are deleted, but traces of them are still in the file."""

    def __init__(self, path: Path | str, problem: str, way_out: str = "close it") -> None:
        super().__init__(
            f"database {str(path)!r}: the memories are deleted, but traces of them may still be in the file, since "
            f"{problem}; {way_out} and finish the purge (`robotmem purge --finish`)"
        )


class LogHeldError(RobotMemoryError):
    """The write-ahead log grows, since a process reads an older state of the file."""

    def __init__(self, log: Path, size: int, readers: Iterable[str], seconds: float) -> None:
        names = " and ".join(readers) or "a process"
        super().__init__(
            f"{str(log)!r} has {size / 1e6:.0f} MB and grows with each save, since {names} has read an older state of "
            f"the database for {_duration(seconds)}; end that process or its transaction"
        )


class RewoundError(RobotMemoryError):
    """A file is not a continuation of what a follower has seen of it."""

    def __init__(self, epoch: str, revision: int) -> None:
        super().__init__(
            f"revision {revision} of epoch {epoch!r} is no part of the history of this file, which was replaced, as by "
            "a backup; start again from the beginning with an empty copy"
        )


class ReadOnlyError(RobotMemoryError):
    """The memory was opened read-only."""

    def __init__(self) -> None:
        super().__init__("the memory was opened with read_only=True; open another RobotMemory without it to write")


class ForkedMemoryError(RobotMemoryError):
    """The memory belongs to the process that forked this one."""

    def __init__(self) -> None:
        super().__init__(
            "the memory was opened before this process was forked and cannot be used here; open it only after a fork, "
            "or start a new interpreter instead (multiprocessing: spawn)"
        )


class MemoryClosedError(RobotMemoryError):
    """The memory was closed before this call, or before what it wanted to write was written."""

    def __init__(self, problem: str = "the memory is closed; open a new RobotMemory") -> None:
        super().__init__(problem)
