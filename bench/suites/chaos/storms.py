"""Storms over one file: programs that are killed, calls that fail, full disks, many programs at once, wrong clocks."""

from __future__ import annotations

import errno
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from robotmem_ros.memory import RobotMemory, RobotMemoryError

from . import hostile
from .crew import PATIENCE, Program, Worker
from .faults import Faults, Library, preloaded
from .ledger import Ledger, Result, UnavailableError

_UNSHARE = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
_MOUNT = [*_UNSHARE, "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs "$0" && "$@"']
_YEAR = 365 * 86_400
_DATABASE = "memory.db"
_PATHS = (
    "status", "stats", "search?query=red%20box&n=3", "memories?n=20", "objects", "labels", "density", "doctor",
    "recent-failures", "sessions",
)  # fmt: skip


def kills(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Kill writers, a console, backups, exports and doctors at random moments."""
    with _ledger(folder) as (ledger, path):
        for number in ledger.result.repeat(seconds):
            crew = [Worker(path, f"k{number}{side}", ledger) for side in "ab"[: chance.randint(1, 2)]]
            errands = [_errand(path, folder, chance, number) for _ in range(chance.randint(0, 2))]
            # Mostly while they work, sometimes while they start.
            if number == 1 or chance.random() < 0.7:
                _see_progress(ledger, f"in round {number}")
            time.sleep(chance.uniform(0.1, 3.0))
            victims: list[Worker | Program] = [*crew, *errands]
            chance.shuffle(victims)
            for victim in victims:
                time.sleep(chance.uniform(0.0, 0.3))
                victim.kill()
    return ledger.result


def _errand(path: Path, folder: Path, chance: random.Random, number: int) -> Program:
    copy = folder / f"copy-{number}-{chance.randrange(10**9)}"
    commands: tuple[tuple[object, ...], ...] = (
        ("web", "--port", 0, "--no-model"), ("backup", f"{copy}.db"), ("export", f"{copy}.jsonl"),
        ("doctor", "--fix", "--no-model"), ("retention",),
    )  # fmt: skip
    return Program(*chance.choice(commands), "--db", path)


def faults(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Let reads, writes, syncs and truncations fail for moments, and see that work goes on afterwards."""
    with _ledger(folder) as (ledger, path), closing(Library(folder, _DATABASE)) as library:
        for number in ledger.result.repeat(seconds):
            worker = Worker(path, f"f{number}", ledger, environment=preloaded(library))
            for _ in range(3):
                time.sleep(chance.uniform(0.5, 2.0))
                library.set(_random_faults(chance))
                time.sleep(chance.uniform(0.2, 1.5))
                library.set(Faults())
                _see_progress(ledger, f"after faults in round {number}")
            worker.end()
    return ledger.result


def _random_faults(chance: random.Random) -> Faults:
    rates = {name: chance.choice((5, 50, 300, 1000)) for name in ("write", "read", "sync", "truncate", "short")}
    chosen = chance.sample(sorted(rates), chance.randint(1, 3))
    return Faults(**{name: rates[name] for name in chosen}, error=chance.choice((errno.EIO, errno.ENOSPC)))


def _see_progress(ledger: Ledger, when: str) -> None:
    before, deadline = ledger.result.acknowledged, time.monotonic() + PATIENCE
    while ledger.result.acknowledged == before:
        if time.monotonic() > deadline:
            ledger.result.hangs += 1
            ledger.result.complain(f"nothing is stored {when}; last error: {ledger.named}")
            return
        time.sleep(0.02)


def disks(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Fill a small disk, again and again."""
    result = Result()
    if subprocess.run([*_MOUNT, str(folder), "true"], capture_output=True, check=False).returncode:
        raise UnavailableError("needs the right to mount a file system for itself")
    for number in result.repeat(seconds):
        small, copy = folder / f"small-{number}", folder / f"copy-{number}"
        small.mkdir()
        copy.mkdir()
        ledger, size = Ledger(result), chance.choice(("3m", "5m", "8m"))
        # The disk is gone with the process that mounted it: what is on it is copied first.
        script = f'mount -t tmpfs -o size={size} tmpfs "$0" && "$@"; cp "$0"/* "{copy}"'
        before = [*_UNSHARE, "sh", "-c", script, str(small)]
        worker = Worker(small / _DATABASE, f"d{number}", ledger, before=before)
        time.sleep(chance.uniform(3.0, 8.0))
        worker.end()
        _settle(ledger, copy / _DATABASE)
    return result


def writers(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Let two programs write, beside a console that people click through."""
    with _ledger(folder) as (ledger, path):
        crew = [Worker(path, f"w{side}", ledger) for side in "ab"]
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        _wait_for(path)
        console = Program("web", "--port", port, "--no-model", "--db", path)
        for _ in ledger.result.repeat(seconds):
            _click(port, chance.choice(_PATHS), ledger)
            time.sleep(chance.uniform(0.0, 0.1))
        for worker in crew:
            worker.look()
            worker.end()
        console.end(ledger, signal.SIGINT)
    return ledger.result


def _click(port: int, path: str, ledger: Ledger) -> None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=PATIENCE) as response:
            response.read()
    except urllib.error.HTTPError as error:
        if error.code == 500:
            ledger.result.raw += 1
            ledger.result.complain(f"GET /api/{path}: {error.read()[:500]!r}")
    except TimeoutError:
        ledger.result.hangs += 1
        ledger.result.complain(f"GET /api/{path} was not answered")
    except urllib.error.URLError:
        time.sleep(0.1)  # it is not listening yet


def clocks(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Set the wall clock years ahead and back while programs write, retain and end."""
    with _ledger(folder) as (ledger, path), closing(Library(folder, _DATABASE)) as library:
        for number in ledger.result.repeat(seconds):
            worker = Worker(path, f"c{number}", ledger, environment=preloaded(library))
            for _ in range(3):
                time.sleep(chance.uniform(0.5, 3.0))
                years = chance.choice((0.0, 0.0, 1.0, -1.0, 20.0, -56.0))
                library.set(Faults(ahead=int(years * _YEAR) + chance.choice((0, 0, 600, -600))))
            worker.end()
    return ledger.result


@contextmanager
def _ledger(folder: Path) -> Iterator[tuple[Ledger, Path]]:
    """Give a ledger and a file, and compare them at the end."""
    ledger, path = Ledger(Result()), folder / _DATABASE
    yield ledger, path
    _settle(ledger, path)


def _settle(ledger: Ledger, path: Path) -> None:
    """Open a file as the next program would, let it finish what was not finished, and compare it with the ledger."""
    try:
        with RobotMemory(path, embedding_model="") as memory:
            memory.finish_purge()
            for finding in memory.doctor(fix=True):
                if finding.severity.value == "error":
                    ledger.result.lost += 1
                    ledger.result.complain(f"doctor, {finding.name}: {finding.seen}")
    except RobotMemoryError as error:
        ledger.result.lost += 1
        ledger.result.complain(f"the file cannot be opened any more: {error}")
    ledger.check(path)


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _fleet(folder: Path, chance: random.Random, seconds: float) -> Result:
    try:
        from .fleet import fleet
    except ImportError as error:
        raise UnavailableError(f"needs {error.name}, which `make test` brings") from None
    return fleet(folder, chance, seconds)


class Storm(NamedTuple):
    """A storm and what it does, in a few words."""

    title: str
    run: Callable[[Path, random.Random, float], Result]
    """In an empty folder, by these chances, for about so many seconds; raises UnavailableError."""


STORMS = {
    "kills": Storm("SIGKILL of writers, console, backup, export, doctor", kills),
    "faults": Storm("write, read, fsync, truncate fail (EIO, ENOSPC)", faults),
    "disks": Storm("a small disk is full", disks),
    "writers": Storm("two writers and a console", writers),
    "rows": Storm("hostile rows in an export", hostile.rows),
    "files": Storm("damaged files of every kind", hostile.files),
    "fleet": Storm("a hostile login of a fleet", _fleet),
    "clocks": Storm("the wall clock jumps by years", clocks),
}
