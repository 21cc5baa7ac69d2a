"""Run memory nodes for the demo: each is a separate process with a file in a folder."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demo.planner import DemoError


@dataclass(frozen=True)
class MemoryNode:
    """A memory node that runs."""

    process: subprocess.Popen[bytes]
    folder: Path
    """Has its database and its log."""

    @property
    def database(self) -> Path:
        """Return the file of the memory."""
        return self.folder / "memory.db"

    def check(self) -> None:
        """Do nothing while the node runs.

        Raises:
            DemoError: it ended by itself.
        """
        if self.process.poll() is not None:
            raise DemoError(f"the memory node ended by itself:\n{self.last_words()}")

    def last_words(self) -> str:
        """Return the end of the log."""
        return "\n".join((self.folder / "node.log").read_text(errors="replace").splitlines()[-20:])


@contextmanager
def memory_node(folder: Path, domain: int, namespace: str = "", **parameters: str) -> Iterator[MemoryNode]:
    """Run a memory node with an empty database in a folder; end it by SIGINT in any case.

    Raises:
        DemoError: there is no such program, or it did not end well.
    """
    program = shutil.which("memory_node")
    if program is None:
        raise DemoError("memory_node is not on the PATH: run `make demo`, or `. scripts/env.sh` first")
    values = {"db_path": folder / "memory.db", "status_period": 0.1, **parameters}
    arguments = [word for name, value in values.items() for word in ("-p", f"{name}:={value}")]
    with (folder / "node.log").open("wb") as log:
        # A separate session: a Ctrl-C in the terminal is for the demo, which then ends the node.
        process = subprocess.Popen(
            [program, "--ros-args", *(("-r", f"__ns:={namespace}") if namespace else ()), *arguments],
            env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        node = MemoryNode(process, folder)
        try:
            yield node
        finally:
            code = _end(process)
    if code != 0:
        raise DemoError(f"the memory node ended with code {code}:\n{node.last_words()}")


def free_domain() -> int:
    """Find a ROS domain without participants, so that the demo meets no other node."""
    for domain in random.sample(range(1, 101), 100):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", 7410 + 250 * domain))  # where the first participant of a domain listens
            except OSError:
                continue
            return domain
    raise DemoError("no ROS domain from 1 to 100 is free")


def _end(process: subprocess.Popen[bytes]) -> int:
    # A second Ctrl-C must not leave the node behind.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        try:
            return process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            continue
    return process.wait()
