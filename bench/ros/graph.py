"""Join the ROS graph without disturbing anybody, and run processes in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import rclpy

from bench import ROOT

NAMESPACE = f"/bench_{os.getpid()}"
"""Keeps out memory nodes of others if they use the same domain by chance."""
PATIENCE = 60.0


@contextmanager
def join() -> Iterator[None]:
    """Use a domain of this run that no other machine sees."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(215 + os.getpid() % 18)
    rclpy.init()
    try:
        yield
    finally:
        rclpy.try_shutdown()


@contextmanager
def process(name: str, arguments: Sequence[str], work: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python program of this repository in our namespace; interrupt it at the end, and kill it if it stays."""
    environment = dict(os.environ, ROS_LOG_DIR=str(work))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with (work / f"{name}.log").open("ab") as log:
        command = [sys.executable, *arguments, "--ros-args", "-r", f"__ns:={NAMESPACE}"]
        child = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield child
        finally:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@contextmanager
def memory_node(database: Path, model: str, work: Path, **parameters: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run the memory node on a database.

    Raises:
        RuntimeError: it ended with an error.
    """
    values = {"db_path": database, "embedding_model": model or "''", **parameters}
    options = [part for name, value in values.items() for part in ("-p", f"{name}:={value}")]
    with process("memory_node", [str(ROOT / "scripts" / "memory_node"), "--ros-args", *options, "--"], work) as child:
        yield child
    if child.returncode != 0:
        raise RuntimeError(f"memory_node ended with {child.returncode}; see {work / 'memory_node.log'}")
