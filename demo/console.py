"""Show the memory of a demo in a browser: `robotmem web` beside its nodes."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PORT = 8765


@contextmanager
def console(folder: Path, *options: str) -> Iterator[str]:
    """Serve what the options name, with the log in a folder; give what the console says, or why it does not listen."""
    program = shutil.which("robotmem")
    if program is None:
        yield "console  there is no command robotmem on the PATH"
        return
    with (folder / "console.log").open("wb") as log:
        # A separate session, as for the node: a Ctrl-C in the terminal is for the demo.
        served = subprocess.Popen(
            [program, "web", *options, "--port", str(_port())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        try:
            yield _address(served, folder)
        finally:
            _end(served)


def _address(served: subprocess.Popen[str], folder: Path) -> str:
    assert served.stdout is not None
    line = served.stdout.readline().strip()
    if line:
        return f"console  {line.partition(': ')[2]}"
    served.wait(timeout=10.0)
    log = (folder / "console.log").read_text(errors="replace").strip().splitlines()
    return f"console  not served: {log[-1] if log else 'robotmem web ended'}"


def _port() -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


def _end(served: subprocess.Popen[str]) -> None:
    served.terminate()
    try:
        served.wait(timeout=10.0)
    except subprocess.TimeoutExpired:
        served.kill()
        served.wait()
    if served.stdout is not None:
        served.stdout.close()
