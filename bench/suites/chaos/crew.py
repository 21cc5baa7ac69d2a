"""Processes of a storm: workers on a memory, and other programs that are killed beside them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bench import ROOT

from .ledger import Ledger

PATIENCE = 60.0
"""Seconds in which every program must answer or end: far more than they take on a busy machine."""
_ROBOTMEM = (sys.executable, "-m", "robotmem_ros")


class Worker:
    """A process that works on a memory, and a thread that notes what it acknowledges.

    Args:
        path: The database file.
        name: Part of its words, which no other worker has.
        ledger: Where what it acknowledges is noted.
        environment: Its environment.
        before: A command that starts it, such as `unshare` with its options.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        ledger: Ledger,
        *,
        environment: Mapping[str, str] = os.environ,
        before: Sequence[str] = (),
    ) -> None:
        self._ledger, self._name, self._last, self._is_closed = ledger, name, time.monotonic(), False
        self._process = subprocess.Popen(
            [*before, sys.executable, "-m", "bench.suites.chaos.worker", str(path), name],
            cwd=ROOT, env={**environment, "PYTHONPATH": f"{ROOT}:{environment.get('PYTHONPATH', '')}"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def kill(self) -> None:
        """Kill it by SIGKILL; what it had acknowledged is noted."""
        self._process.kill()
        self._wait()

    def end(self) -> None:
        """Let it end by itself; it is a hang if it does not."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._hang("did not end")
            self._process.kill()
        self._wait()
        if not self._is_closed:
            self._ledger.result.raw += 1
            self._ledger.result.complain(f"worker {self._name} ended by itself with {self._process.returncode}")

    def look(self) -> bool:
        """Return whether it answers, and count a hang if it does not."""
        if time.monotonic() - self._last > PATIENCE:
            self._hang(f"said nothing for {PATIENCE:.0f} s")
            return False
        return True

    def _hang(self, what: str) -> None:
        self._ledger.result.hangs += 1
        self._ledger.result.complain(f"worker {self._name} {what}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._last = time.monotonic()
            self._is_closed = line == "closed\n"
            # What a kill cut is no acknowledgement.
            if line.endswith("\n"):
                self._ledger.read(line)

    def _wait(self) -> None:
        self._process.wait()
        self._reader.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()


class Program:
    """A command of `robotmem` on the same file, to be killed or ended."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = tuple(map(str, arguments))
        self._process = subprocess.Popen(
            [*_ROBOTMEM, *self.arguments],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def kill(self) -> None:
        """Kill it by SIGKILL."""
        self._process.kill()
        self._process.communicate()

    def end(self, ledger: Ledger, by: signal.Signals | None = None) -> None:
        """Wait for its end, after a signal if it needs one; count a hang and a traceback."""
        if by is not None:
            self._process.send_signal(by)
        try:
            _, complaints = self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            ledger.result.hangs += 1
            ledger.result.complain(f"{' '.join(self.arguments)} did not end")
            self.kill()
            return
        if "Traceback" in complaints:
            ledger.result.raw += 1
            ledger.result.complain(f"{' '.join(self.arguments)}: {complaints}")
