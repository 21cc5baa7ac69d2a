"""Hurt a fleet of real processes and real servers, and compare in the end what its robots and the fleet have."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bench import ROOT
from bench.internals.fleet_robot import RESTORED, SECRET
from demo.network import Proxy
from demo.postgres import Server, server, standby
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import open_database
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import BEGINNING, Cursor
from robotmem_ros.memory.storage import revisions

_SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB", "max_connections": "60",
    "max_wal_size": "2GB",
}  # fmt: skip
_AHEAD = (0.0, 3600.0, -3600.0)
"""Seconds that the clocks of robots are ahead, in turn."""
_TABLES = ("robots", "memories", "words", "units", "deleted", "requests", "grants", "models")
_PATIENCE = 1800.0
"""Seconds that each step of a storm may take."""
Say = Callable[[str], None]


class _Unit(NamedTuple):
    revision: int
    status: str
    content: int
    """Hash of the text."""


@dataclass
class Robot:
    """One process that remembers, and its last report: a kill takes nothing of what it has made."""

    name: str
    path: Path
    url: str
    memories: int
    seed: str
    ahead: float
    cursor: Cursor = BEGINNING
    """Cursor that the fleet has acknowledged."""
    made: int = 0
    has_purged: bool = False
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start the process."""
        command = [sys.executable, "-m", "bench.internals.fleet_robot", self.path, self.url]
        with self.path.with_suffix(".log").open("a") as log:
            self._process = subprocess.Popen(
                [*map(str, command), str(self.memories), self.seed, str(self.ahead)],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()

    def kill(self) -> None:
        """Kill the process by SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process = None

    def check(self) -> None:
        """Raise ChildProcessError if the process has ended by itself, with what it wrote last."""
        if self._process is not None and self._process.poll() is not None:
            raise ChildProcessError(f"{self.name} has ended: {self.path.with_suffix('.log').read_text()[-2000:]}")

    def purge(self) -> None:
        """Let it delete what was told in confidence."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("purge\n")
        self._process.stdin.flush()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                words = line.split()
                if process is not self._process:
                    return
                if words == ["purged"]:
                    self.has_purged = True
                elif len(words) == 3:
                    self.cursor, self.made = Cursor(words[0].strip("-"), int(words[1])), int(words[2])


@dataclass
class Result:
    """Differences between the files and the fleet in the end."""

    seed: int
    memories: int = 0
    """Number that the robots made."""
    purged: int = 0
    kills: int = 0
    cuts: int = 0
    unacknowledged: list[str] = field(default_factory=list)
    """Robots of which the standby lacked what was acknowledged."""
    lost: int = 0
    """Memories of the files that the fleet lacks, or has otherwise."""
    extra: int = 0
    """Memories that the fleet has and no file."""
    twice: int = 0
    revived: int = 0
    """Memories that are both deleted and there."""
    traces: list[str] = field(default_factory=list)
    """Tables, and after a rebuild files, in which the word of what was purged stands."""
    seconds: float = 0.0


class Storm:
    """A fleet, its robots, and what happens to them.

    Args:
        folder: Where the files of the robots are.
        servers: The primary and its standby.
        robots: Their number.
        memories: How many each makes.
        seed: Of all chance.
        patience: Seconds that each step may take.
    """

    def __init__(
        self, folder: Path, servers: tuple[Server, Server], robots: int, memories: int, seed: int, *, patience: float
    ) -> None:
        self.primary, self.copy = primary, copy = servers
        self.patience = patience
        self.chance = random.Random(seed)
        self.result = Result(seed)
        self.proxies = [Proxy(running.port) for running in (primary, copy)]
        hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.proxies)
        with closing(open_database(primary.url("postgres"))) as connection:
            administration.initialize(connection)
            self.robots = []
            for number in range(robots):
                name, passwords = f"r{number}", folder / f"r{number}.pass"
                role = administration.add_robot(connection, name, passwords)
                url = f"postgresql://{role}@{hosts}/postgres?passfile={passwords}&target_session_attrs=read-write"
                ahead = _AHEAD[number % len(_AHEAD)]
                self.robots.append(Robot(name, folder / f"{name}.db", url, memories, str(seed), ahead))

    def close(self) -> None:
        """End all robots and the network."""
        for robot in self.robots:
            robot.kill()
        for proxy in self.proxies:
            proxy.close()

    def hurt(self) -> None:
        """Kill a robot and start it again, or cut the network for a moment, or delay it."""
        act = self.chance.randrange(4)
        if act == 0:
            robot = self.chance.choice(self.robots)
            robot.kill()
            robot.start()
            self.result.kills += 1
        elif act == 1:
            for proxy in self.proxies:
                proxy.delay = 0.0 if proxy.delay else self.chance.uniform(0.001, 0.02)
        else:
            proxy = self.chance.choice(self.proxies)
            proxy.cut()
            time.sleep(self.chance.uniform(0.0, 0.5))
            proxy.mend()
            self.result.cuts += 1

    def until(self, holds: Callable[[], bool], what: str, period: float = 1.0) -> None:
        """Hurt them until something holds."""
        for _ in self._waiting(holds, what):
            self.hurt()
            time.sleep(self.chance.uniform(0, period))

    def has_made(self, share: float) -> bool:
        """Return whether the robots have made a share of their memories."""
        return sum(robot.made for robot in self.robots) >= share * sum(robot.memories for robot in self.robots)

    def fail_over(self) -> None:
        """Kill the primary under load, and let the standby take over: it has what was acknowledged."""
        self.primary.kill()
        cursors = {robot.name: robot.cursor for robot in self.robots}
        self.copy.promote()
        with closing(open_database(self.copy.url("postgres"))) as connection:
            rows = connection.execute("SELECT name, epoch, revision FROM robotmem.robots").fetchall()
        self.result.unacknowledged = [name for name, *cursor in rows if Cursor(*cursor) < cursors[name]]

    def restore_server(self) -> None:
        """Put the server back to the state of its backup, which is older than what robots believe to be stored."""
        data = self.copy.folder / "data"
        self.copy.kill()
        shutil.rmtree(data)
        (self.copy.folder / "backup").rename(data)
        self.copy.start()

    def restore_file(self, robot: Robot, backup: Path) -> None:
        """Put the file of a robot back to the state of its backup."""
        robot.kill()
        for suffix in ("", "-wal", "-shm"):
            robot.path.with_name(robot.path.name + suffix).unlink(missing_ok=True)
        shutil.copy(backup, robot.path)
        robot.made = 0
        robot.start()

    def is_in_step(self, robot: Robot) -> bool:
        """Return whether a robot has made all, and the fleet has it."""
        if robot.made < robot.memories:
            return False
        with closing(open_database(self.copy.url("postgres"))) as connection:
            sql = "SELECT epoch, revision FROM robotmem.robots WHERE name = %s"
            row = connection.execute(sql, (robot.name,)).fetchone()
        with (
            RobotMemory(robot.path, embedding_model="", read_only=True) as memory,
            memory.parts.database.snapshot() as snapshot,
        ):
            latest = revisions.latest(snapshot)
            return row == (revisions.epoch_of(snapshot, latest), latest)

    def calm(self, what: str, holds: Callable[[Robot], bool]) -> None:
        """Hurt nothing, and wait until something holds of all robots."""
        for proxy in self.proxies:
            proxy.delay = 0.0
            proxy.mend()
        for _ in self._waiting(lambda: all(map(holds, self.robots)), what):
            time.sleep(0.5)

    def _waiting(self, holds: Callable[[], bool], what: str) -> Iterator[None]:
        deadline = time.monotonic() + self.patience
        while not holds():
            for robot in self.robots:
                robot.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"not {what} within {self.patience:.0f} s: {self.robots}")
            yield


def weather(
    folder: Path, robots: int, memories: int, seed: int, say: Say = lambda text: None, *, patience: float = _PATIENCE
) -> Result:
    """Let robots make so many memories each while everything happens to them, and compare what is there in the end."""
    begin = time.monotonic()
    with _storm(folder, robots, memories, seed, patience) as storm:
        say(f"seed {seed}: {robots} robots make {memories:,} memories each")
        for robot in storm.robots:
            robot.start()
        (first,) = (robot for robot in storm.robots if robot.name == RESTORED)
        storm.until(lambda: storm.has_made(0.2) and first.made > 0, "memories")
        with RobotMemory(first.path, embedding_model="", read_only=True) as memory:
            backup = memory.backup(folder / "backup.db")
        storm.until(lambda: storm.has_made(0.3), "memories")
        storm.fail_over()
        say("the primary was killed, and the standby took over")
        storm.until(lambda: storm.has_made(0.5), "memories")
        source = ("-h", str(storm.copy.folder), "-p", str(storm.copy.port), "-U", "postgres")
        storm.copy.run("pg_basebackup", *source, "-D", "backup", "-c", "fast", "--no-sync")
        storm.until(lambda: storm.has_made(0.7), "memories")
        storm.restore_file(first, backup)
        say("the file of a robot was restored from its backup")
        storm.until(lambda: storm.has_made(0.8), "memories")
        storm.restore_server()
        say("the server was restored from its backup")
        storm.until(lambda: storm.has_made(1.0), "memories")
        storm.calm("in step", storm.is_in_step)
        say("all are in step; now what was told in confidence is purged")
        for robot in storm.robots:
            robot.purge()
        storm.calm("purged", lambda robot: robot.has_purged)
        storm.calm("in step", storm.is_in_step)
        for robot in storm.robots:
            robot.kill()
        _compare(storm, first)
        storm.result.seconds = time.monotonic() - begin
        return storm.result


@contextmanager
def _storm(folder: Path, robots: int, memories: int, seed: int, patience: float) -> Iterator[Storm]:
    with server(**_SETTINGS) as primary, standby(primary, **_SETTINGS) as copy:
        storm = Storm(folder, (primary, copy), robots, memories, seed, patience=patience)
        try:
            yield storm
        finally:
            storm.close()


def _compare(storm: Storm, restored: Robot) -> None:
    result = storm.result
    with closing(open_database(storm.copy.url("postgres"))) as connection:

        def count(sql: str) -> int:
            (number,) = connection.execute(sql.encode()).fetchone() or (0,)
            return int(number)

        for robot in storm.robots:
            own, deleted = _units(robot.path)
            sql = (
                "SELECT replace(uuid::text, '-', ''), m.revision, status, content FROM robotmem.memories AS m "
                "JOIN robotmem.robots AS r ON r.id = robot WHERE r.name = %s"
            )
            rows = connection.execute(sql, (robot.name,))
            there = {uuid: _Unit(revision, status, hash(content)) for uuid, revision, status, content in rows}
            result.memories += len(own) + len(deleted)
            result.purged += len(deleted)
            if robot is restored:
                # What the file lost stays in the fleet, and what it purged after the backup stays deleted there.
                sql = "SELECT uuid FROM robotmem.deleted JOIN robotmem.robots ON id = robot WHERE name = %s"
                gone = {uuid.hex for (uuid,) in connection.execute(sql, (robot.name,))}
                result.lost += len(own.keys() - there.keys() - gone)
            else:
                result.lost += sum(there.get(uuid) != unit for uuid, unit in own.items())
                result.extra += len(there.keys() - own.keys())
            result.revived += len(there.keys() & deleted)
        result.twice = count("SELECT count(*) - count(DISTINCT uuid) FROM robotmem.memories")
        result.revived += count("SELECT count(*) FROM robotmem.memories AS m JOIN robotmem.deleted USING (robot, uuid)")
        for table in _TABLES:
            if count(f"SELECT count(*) FROM robotmem.{table} AS t WHERE t::text LIKE '%{SECRET}%'"):
                result.traces.append(table)
        administration.rebuild(connection)
        connection.execute("CHECKPOINT")
        for file in (storm.copy.folder / "data" / "base").glob("*/*"):
            if SECRET.encode() in file.read_bytes():
                result.traces.append(str(file))


def _units(path: Path) -> tuple[Mapping[str, _Unit], set[str]]:
    units: dict[str, _Unit] = {}
    deleted: set[str] = set()
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        cursor = BEGINNING
        while batch := memory.changes_since(cursor, 5000):
            rows: list[Any] = [row for row in batch.rows if row["unit"] == "memory"]
            units |= {row["uuid"]: _Unit(row["revision"], row["status"], hash(row["content"])) for row in rows}
            deleted.update(batch.deleted)
            cursor = batch.cursor
    return units, deleted
