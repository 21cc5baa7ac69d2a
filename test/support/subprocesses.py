"""Run Python in a separate process: to be killed, to lack a package, to be another user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PATH = {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
"""Where a process finds the package."""

_WITHOUT = """
import sys
for name in {packages!r}:
    sys.modules[name] = None
import importlib.util
_find_spec = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name.partition(".")[0] in {packages!r} else _find_spec(name, package)
importlib.util.find_spec = find_spec
"""


def without(*packages: str) -> str:
    """Return code after which these packages cannot be imported."""
    return _WITHOUT.format(packages=packages)


@contextmanager
def running(code: str, *arguments: object, before: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run code in a Python process, which is killed at the end if it still runs.

    `before` is a command that starts it, such as `unshare` with its options.
    """
    with started(*before, sys.executable, "-c", code, *map(str, arguments)) as process:
        yield process


@contextmanager
def started(*command: str, environment: Mapping[str, str] = os.environ) -> Iterator[subprocess.Popen[str]]:
    """Start a command that finds the package, with pipes; it is killed at the end if it still runs."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**environment, **PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def output_of(code: str, *arguments: object, before: Sequence[str] = ()) -> str:
    """Return what code prints in a separate process, which must succeed; `before` as in `running`."""
    with running(code, *arguments, before=before) as process:
        printed, complaints = process.communicate(timeout=120)
        assert process.returncode == 0, complaints
    return printed
