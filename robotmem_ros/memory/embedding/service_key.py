"""Find the key of an embedding service: in the environment, or in a file that only its owner can read."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from .embedder import ModelUnavailableError

_MAX_BYTES = 4096


def service_key(variables: Sequence[str]) -> str:
    """Return the key for a service from the first of some environment variables; empty if there is none.

    Raises:
        ModelUnavailableError: a file cannot be read or others may read it, or a key cannot stand in a header.
    """
    for variable in variables:
        if key := os.environ.get(variable, "").strip():
            return _check(variable, key)
        if file := os.environ.get(f"{variable}_FILE", ""):
            return _check(f"{variable}_FILE", _read(f"{variable}_FILE", Path(file).expanduser()))
    return ""


def _read(variable: str, path: Path) -> str:
    try:
        # A pipe would wait for somebody who writes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ModelUnavailableError(f"{variable}: {str(path)!r} is no file")
            mode = stat.S_IMODE(status.st_mode)
            if mode & 0o077:
                raise ModelUnavailableError(
                    f"{variable}: {str(path)!r} may be read by others (mode {mode:04o}); run chmod 600 on it"
                )
            return file.read(_MAX_BYTES + 1).strip()
    except OSError as cause:
        raise ModelUnavailableError(f"{variable}: {str(path)!r} cannot be read ({cause.strerror})") from cause
    except UnicodeDecodeError:
        problem = f"{variable}: {str(path)!r} is no text in UTF-8"
    # The exception would hold what was read.
    raise ModelUnavailableError(problem)


def _check(name: str, key: str) -> str:
    # The key itself stands in no message.
    if not key or len(key) > _MAX_BYTES or not all("!" <= character <= "~" for character in key):
        raise ModelUnavailableError(f"{name}: must hold a key of 1 to {_MAX_BYTES} printable ASCII characters")
    return key
