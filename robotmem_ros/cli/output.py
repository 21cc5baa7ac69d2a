"""Write the results of commands to stdout and notices to stderr, whatever becomes of the two."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import TextIO

from ..memory.errors import RobotMemoryError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All control characters but the end of a line and the tab."""
_AS_JSON = "robotmem.as_json"
_NOWHERE = Path(os.devnull)


class OutputError(RobotMemoryError):
    """A result cannot be written."""


def prepare_streams() -> None:
    """Let the standard streams take any text, and stand in for those that are closed."""
    codecs.register_error(_AS_JSON, _escape_as_json)
    for name, mode, errors in (("stdin", "r", "replace"), ("stdout", "w", _AS_JSON), ("stderr", "w", _AS_JSON)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, _NOWHERE.open(mode, encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def write_result(text: str) -> None:
    """Write to stdout.

    Raises:
        OutputError: it cannot be written, such as to a full disk.
        BrokenPipeError: whoever read it has ended.
    """
    try:
        sys.stdout.write(printable(text))
        sys.stdout.flush()
    except OSError as cause:
        _discard(sys.stdout)
        if isinstance(cause, BrokenPipeError):
            raise
        raise OutputError(f"the result cannot be written to stdout ({cause.strerror or cause})") from cause


def write_notice(text: str) -> None:
    """Write to stderr, if that is possible: a notice that nobody can read changes nothing."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def printable(text: str) -> str:
    """Escape control characters as JSON does: what strangers said to a robot must not command a terminal."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape_as_json(error: UnicodeError) -> tuple[str, int]:
    # So that JSON stays JSON, on a terminal that knows ASCII alone.
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _discard(stream: TextIO) -> None:
    # What is left in the buffer must not fail once more when the interpreter ends.
    with _NOWHERE.open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
