"""Let a login in wrong hands store, claim and delete what it can in a fleet, beside a robot that reads it."""

from __future__ import annotations

import json
import random
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from demo.postgres import Server, server
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import connect, open_database
from robotmem_ros.fleet.pull import Pull
from robotmem_ros.fleet.push import Push
from robotmem_ros.memory import RobotMemory, RobotMemoryError

from .hostile import make_memory, poison
from .ledger import Result
from .reader import read_memory

_GOOD, _EVIL = "good", "evil"
_STORE = (
    "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, body, words, stored) "
    "VALUES (robotmem.me(), %s, 'x', %s, %s, '', robotmem.stamp(robotmem.me()))"
)
_DELETE = "INSERT INTO robotmem.deleted (robot, uuid, stored) VALUES (robotmem.me(), %s, robotmem.stamp(robotmem.me()))"


def fleet(folder: Path, chance: random.Random, seconds: float) -> Result:
    """Let a hostile login write rows of every kind, also under UUIDs of others; nobody else may lose or read badly."""
    result = Result()
    with server(fsync="off", shared_buffers="32MB") as primary:
        urls = _add_robots(primary, folder)
        for name in urls:
            make_memory(folder / f"{name}.db")
        with (
            RobotMemory(folder / "good.db", embedding_model="", fleet_subscriptions="*") as good,
            RobotMemory(folder / "evil.db", embedding_model="") as evil,
        ):
            for memory, url in ((good, urls[_GOOD]), (evil, urls[_EVIL])):
                with closing(Push(memory, url)) as push:
                    list(push.pieces())
            _storm(good, urls, chance, seconds, result)
    return result


def _add_robots(primary: Server, folder: Path) -> dict[str, str]:
    with closing(open_database(primary.url("postgres"))) as owner:
        administration.initialize(owner)
        urls = {}
        for name in (_GOOD, _EVIL):
            password = folder / f"{name}.pass"
            urls[name] = primary.url("postgres", administration.add_robot(owner, name, password), password)
            administration.grant(owner, name, "*")
        return urls


def _storm(good: RobotMemory, urls: dict[str, str], chance: random.Random, seconds: float, result: Result) -> None:
    own = _own_units(good)
    result.acknowledged = len(own)
    with closing(connect(urls[_EVIL])) as login:
        bodies = [body for (body,) in login.execute("SELECT body FROM robotmem.memories WHERE robot = robotmem.me()")]
        for _ in result.repeat(seconds):
            what = _attack(login, chance, chance.choice(bodies), list(own))
            try:
                with closing(Pull(good, urls[_GOOD])) as pull:
                    list(pull.pieces())
                if result.rounds % 10 == 0:
                    read_memory(good)
            except RobotMemoryError as error:
                result.raw += 1
                result.complain(f"{what}: {error}")
            except Exception as error:  # whatever it is, it is counted
                result.raw += 1
                result.complain(f"{what}: {error!r}")
            if (now := _own_units(good)) != own:
                result.lost += 1
                result.complain(f"{what}: changed {[unit for unit in own if now.get(unit) != own[unit]]}")
                own = now


def _attack(login: psycopg.Connection[Any], chance: random.Random, body: dict[str, Any], others: list[str]) -> str:
    """Write one row as a hostile login can, if the server takes it; return what was tried."""
    victim = chance.choice(others) if chance.random() < 0.5 else str(uuid.uuid4())
    if chance.random() < 0.2:
        what, sql = f"deletes {victim}", _DELETE
        arguments: tuple[object, ...] = (victim,)
    else:
        row = json.loads(json.dumps(body))
        what = poison(row, chance)
        sql, arguments = _STORE, (victim, chance.choice((1, 2**62)), json.dumps(row))
    try:
        with login.transaction():
            login.execute(sql.encode(), arguments)
    except (psycopg.Error, UnicodeEncodeError):
        pass  # refused by the server, or impossible to send
    return what


def _own_units(memory: RobotMemory) -> dict[str, object]:
    batch = memory.changes_since(None, 10**6)
    rows = () if batch is None else batch.rows
    return {
        str(row["uuid"]): row
        for row in rows
        if row["unit"] == "memory" and not str(row.get("collection", "")).startswith("@")
    }
