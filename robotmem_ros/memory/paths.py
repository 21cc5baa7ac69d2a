"""Paths that a person gave."""

from __future__ import annotations

from pathlib import Path

from .errors import InvalidFieldError


def expanded(field: str, path: str | Path) -> Path:
    """The path with its `~` replaced by the home folder.

    Raises:
        InvalidFieldError: there is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as cause:
        raise InvalidFieldError(
            field, str(path), "lies in a home folder that is not known; give a full path"
        ) from cause
