"""Take cores from what is measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cores_taken(programs: int = 1) -> Iterator[None]:
    """Run other programs that compute without a pause, each on one core if there are as many."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(programs)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
