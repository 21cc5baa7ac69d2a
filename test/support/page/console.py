"""A console on a file of the test: in a process of its own as a person starts it, or in a thread of the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn

from robotmem_ros.memory import RobotMemory
from robotmem_ros.web.app import create_console
from robotmem_ros.web.server import bound, url

from ..subprocesses import ROOT
from ..waiting import until


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


@contextmanager
def served(db: Path, **parameters: Any) -> Iterator[str]:
    """Serve a memory likewise, but from a thread, which spares the start of a program."""
    memory = RobotMemory(db, embedding_model="", session_maintenance=False, **parameters)
    with memory, bound("127.0.0.1", 0) as listening:
        app = create_console(memory)
        server = uvicorn.Server(uvicorn.Config(app.asgi, log_level="error", ws="none", timeout_graceful_shutdown=3))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            until(lambda: server.started, "console")
            yield url(listening, "127.0.0.1")
        finally:
            app.events.close()
            server.should_exit = True
            thread.join()
