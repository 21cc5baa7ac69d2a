"""Call functions in a process of another virtual environment: one line of JSON for each request and each reply."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bench import ROOT


class LoadReport(NamedTuple):
    """Number of rows kept, the seconds that took, and whether time ran out before all."""

    rows: int
    seconds: float
    cut_off: bool = False


class Peer:
    """A process that runs `bench.peers.MODULE` and calls its functions on request."""

    block = 5000
    """Rows that are loaded at once."""

    def __init__(self, module: str, python: Path, log: Path, *arguments: str, **variables: str) -> None:
        self._log = log
        # Its interpreter is to find the packages of that environment alone.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [python, "-m", f"bench.peers.{module}", *arguments], cwd=ROOT, env=environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            )  # fmt: skip

    def call(self, verb: str, **arguments: Any) -> Any:
        """Call a function of the process.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"verb": verb, **arguments}) + "\n")
            self._process.stdin.flush()
        if line := self._process.stdout.readline():
            return json.loads(line)
        raise RuntimeError(f"the peer has ended: {self._log.read_text()[-2000:]}")

    def load(self, rows: Path, vectors: Path, count: int, limit: float = float("inf")) -> LoadReport:
        """Store the rows of a file with their vectors, until all are stored or `limit` seconds have passed."""
        self.call("world", rows=str(rows), vectors=str(vectors))
        kept, seconds, start = 0, 0.0, time.perf_counter()
        for first in range(0, count, self.block):
            if time.perf_counter() - start > limit:
                return LoadReport(kept, seconds, cut_off=True)
            report = LoadReport(**self.call("load", first=first, last=min(first + self.block, count)))
            kept, seconds = kept + report.rows, seconds + report.seconds
        return LoadReport(kept, seconds)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def serve(verbs: Mapping[str, Callable[..., Any]]) -> None:
    """Call functions as requested until stdin ends. What libraries print goes to stderr."""
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(verbs[request.pop("verb")](**request)), file=replies, flush=True)
