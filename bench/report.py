"""Reports: a page about one run, with the machine, the versions and the command."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

_PACKAGES = ("fastembed", "onnxruntime", "numpy", "rclpy")


class Conditions:
    """When, where and by which command a run that begins now is made."""

    def __init__(self) -> None:
        self.time, self._load = datetime.now(timezone.utc), _load()

    def __str__(self) -> str:
        machine = f"{os.cpu_count()} cores ({platform.machine()})"
        command = f"python3 -m bench {shlex.join(sys.argv[1:])}"
        versions = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
        versions += [f"{name} {version}" for name in _PACKAGES if (version := _version(name))]
        load = f"load average {self._load} before, {_load()} after"
        return f"{self.time:%Y-%m-%d %H:%M} UTC, {machine}, {load}, `{command}`. {', '.join(versions)}."


class Report:
    """A page in Markdown about a run that begins now."""

    def __init__(self, folder: Path, name: str) -> None:
        self._conditions = Conditions()
        self._stem = folder / f"{self._conditions.time:%Y-%m-%d}-{name}"

    def file(self, suffix: str) -> Path:
        """Return the path of a file that belongs to the report; create its folder."""
        self._stem.parent.mkdir(parents=True, exist_ok=True)
        return self._stem.with_suffix(suffix)

    def write(self, title: str, table: str, notes: Iterable[str]) -> None:
        """Print and write the page."""
        bullets = "\n".join(f"- {note}" for note in notes)
        page = f"# {title}\n\n{self._conditions}\n\n{table}\n\n{bullets}\n"
        self.file(".md").write_text(page)
        print(f"\n{page}\nwritten to {self.file('.md')}")


def _load() -> str:
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _version(package: str) -> str:
    # ROS wheels have the name of the distribution in theirs.
    for name in (package, f"ros-kilted-{package}", f"ros-jazzy-{package}"):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return ""
