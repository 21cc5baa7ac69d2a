"""Write a new file that is there whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a new file to write; it appears on disk when the block ends, unless by an exception.

    Until then it has another name, so what fails or is killed leaves nothing that looks like the file.

    Raises:
        FileExistsError: something has that name; it stays as it is.
        OSError: the file cannot be written.
    """
    _check_free(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _check_free(path)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
