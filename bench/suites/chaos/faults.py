"""Let the system calls of a program fail, and its wall clock be wrong, by a library that is preloaded."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

from .ledger import UnavailableError

_SOURCE = Path(__file__).with_name("faults.c")
_FORMAT = "8q"


class Faults(NamedTuple):
    """What the preloaded library does; rates are in thousandths of the calls on files of the memory."""

    write: int = 0
    read: int = 0
    sync: int = 0
    truncate: int = 0
    short: int = 0
    """Writes that write half of what they should, which their result says."""
    error: int = errno.EIO
    ahead: int = 0
    """Seconds that the wall clock is ahead."""


class Library:
    """The library, built for this machine, and the file by which it is told what to do.

    Args:
        folder: Where both lie.
        files: What the path of a file must contain for its calls to fail.

    Raises:
        UnavailableError: no C compiler is installed.
    """

    def __init__(self, folder: Path, files: str) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise UnavailableError("needs a C compiler, cc or gcc")
        library, control = folder / "faults.so", folder / "faults.control"
        options = ("-shared", "-fPIC", "-O1", "-ldl", "-lpthread", "-o")
        subprocess.run([compiler, _SOURCE, *options, library], check=True)
        control.write_bytes(bytes(struct.calcsize(_FORMAT)))
        with control.open("r+b") as file:
            self._control = mmap.mmap(file.fileno(), 0)
        self.environment = {"LD_PRELOAD": str(library), "FAULT_CONTROL": str(control), "FAULT_FILES": files}

    def set(self, faults: Faults) -> None:
        """Let calls fail so from now on."""
        self._control[:] = struct.pack(_FORMAT, *faults, 0)

    def close(self) -> None:
        """Let nothing fail any more."""
        self.set(Faults())
        self._control.close()


def preloaded(library: Library) -> dict[str, str]:
    """Return the environment of a program in which the calls fail."""
    return {**os.environ, **library.environment}
