"""What `memory_node` does with its arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.node.graph import EXECUTABLE


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `memory_node` with a home folder of its own, which it must not touch."""
    return subprocess.run(
        [sys.executable, str(EXECUTABLE), *arguments],
        env={**os.environ, "HOME": str(home), "ROS_LOG_DIR": str(home / "log")},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_helps_and_starts_nothing(tmp_path: Path, option: str) -> None:
    done = run(tmp_path, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: memory_node" in done.stdout
    assert "--ros-args -p db_path:=" in done.stdout
    assert not (tmp_path / ".robotmem").exists()


@pytest.mark.parametrize("path", ["/typo.yaml", "/tmp"])
def test_without_its_parameter_file_the_node_does_not_start(tmp_path: Path, path: str) -> None:
    done = run(tmp_path, "--ros-args", "--params-file", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"memory_node: --params-file: there is no file {path!r}\n"
    assert not (tmp_path / ".robotmem").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--foo"], "--foo"),
        (["--hel"], "--hel"),
        (["db_path:=/data/memory.db"], "db_path:=/data/memory.db"),
        (["-p", "collection:=lab"], "-p collection:=lab"),
        (["--ros-args", "-p", "collection:=lab", "--", "lab"], "lab"),
        (["--ros-args", "--bogus"], "--bogus"),
    ],
)
def test_unknown_arguments_are_errors_that_name_them(tmp_path: Path, arguments: list[str], named: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("memory_node: error: unknown")
    assert named in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".robotmem").exists()
