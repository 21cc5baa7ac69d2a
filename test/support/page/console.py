"""A console in a process of its own, on a file of the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..subprocesses import ROOT


@contextmanager
def console(db: Path | None, *options: object, port: int = 0, with_model: bool = False) -> Iterator[str]:
    """Serve a memory until the end of the block; give the address of its page."""
    command = [
        *(sys.executable, "-m", "robotmem_ros.cli", "web", "--port", str(port)),
        *(() if with_model else ("--no-model",)),
        *(("--db", str(db)) if db else ()),
        *map(str, options),
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            told = process.stdout.readline()
            assert told.startswith("console: "), told + process.stderr.read()
            yield told.removeprefix("console: ").strip()
        finally:
            process.terminate()
            try:
                process.wait(120.0)
            except subprocess.TimeoutExpired:
                process.kill()
