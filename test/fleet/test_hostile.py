"""A login in wrong hands touches nothing that another robot made, and a server that hangs keeps nobody."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from demo.network import Proxy
from robotmem_ros.cli.main import main
from robotmem_ros.fleet import client, connection
from robotmem_ros.fleet.administration import grant
from robotmem_ros.fleet.connection import SilentFleetError, connect, open_database
from robotmem_ros.fleet.pull import Pull
from robotmem_ros.fleet.push import Follower
from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage import retention_rows

from ..support.waiting import until
from .conftest import Fleet, push, units_of

LATER = "2099-01-01T00:00:00+00:00"
CLAIMS = (
    """INSERT INTO robotmem.memories (robot, uuid, epoch, revision, body, words)
    SELECT {me}, uuid, 'x', 1, body, '' FROM v""",
    """INSERT INTO robotmem.units (robot, uuid, epoch, revision, unit, body)
    SELECT {me}, uuid, 'x', 1, 'tag', body FROM v""",
    "INSERT INTO robotmem.deleted (robot, uuid) SELECT {me}, uuid FROM v",
    "UPDATE robotmem.memories AS m SET uuid = v.uuid FROM v WHERE m.robot = {me}",
    "UPDATE robotmem.units AS m SET uuid = v.uuid FROM v WHERE m.robot = {me}",
)
"""How a robot may claim the UUID of a row of another."""


class Three:
    """Two robots that read each other, and a third one in wrong hands that both read."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet = fleet
        self.urls = {name: fleet.add(name) for name in ("good", "third", "evil")}
        with closing(connect(fleet.url)) as owner:
            for name in self.urls:
                grant(owner, name, "*")
        self.memories = {
            name: RobotMemory(folder / f"{name}.db", embedding_model="", fleet_subscriptions="*", map_id="house")
            for name in self.urls
        }
        for name, memory in self.memories.items():
            memory.start_session()
            memory.learn(f"the stairs of {name} are not fenced", category="hazard")
            memory.learn(f"the lift of {name} needs a key")
            for _ in range(6):
                memory.save_perception(f"a sofa of {name}", label="sofa", pose=(1, 2, 0), confidence=0.95)

    def pull(self, name: str) -> None:
        with closing(Pull(self.memories[name], self.urls[name])) as puller:
            for _ in puller.pieces():
                pass

    def own(self, name: str) -> dict[str, Any]:
        """Return what a robot has in its own file, and made itself."""
        return {
            uuid: unit
            for uuid, unit in units_of(self.memories[name]).items()
            if not str(unit.get("collection", "")).startswith("@")
        }


@pytest.fixture
def three(fleet: Fleet, tmp_path: Path) -> Iterator[Three]:
    made = Three(fleet, tmp_path)
    yield made
    for memory in made.memories.values():
        memory.close()


def test_a_robot_claims_no_uuid_of_another_at_the_server(three: Three) -> None:
    for name in ("good", "evil"):
        push(three.memories[name], three.urls[name])
    before = three.fleet.everything()
    with closing(connect(three.urls["evil"])) as evil:
        (me,) = evil.execute("SELECT robotmem.me()").fetchone() or (0,)
        for table in ("memories", "units"):
            sql = f"SELECT uuid, body FROM robotmem.{table} WHERE robot <> %s LIMIT 1"
            ((uuid, body),) = three.fleet.query(sql, me)
            for claim in CLAIMS:
                values = f"WITH v (uuid, body) AS (VALUES ('{uuid}'::uuid, '{json.dumps(body)}'::jsonb)) "
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                    evil.execute((values + claim.format(me=me)).encode())
    assert three.fleet.everything() == before
    # What it makes itself it may store, change and delete.
    three.memories["evil"].update(1, human_summary="mine")
    three.memories["evil"].purge(ids=[2])
    push(three.memories["evil"], three.urls["evil"])


def test_what_comes_from_a_robot_touches_only_what_it_made_whatever_the_server_lets_through(three: Three) -> None:
    for name in ("good", "evil"):
        push(three.memories[name], three.urls[name])
    own, others = three.own("good"), three.own("third")
    uuids = [uuid for units in (own, others) for uuid in units]
    (body,) = three.fleet.query(
        "SELECT body FROM robotmem.memories JOIN robotmem.robots ON id = robot "
        "WHERE name = 'evil' AND type = 'fact' LIMIT 1"
    )[0]
    link = [{"uuid": uuid, "reason": "no", "method": "exact", "similarity": 1.0} for uuid in uuids]
    links = {"contradictions": link, "similar": link, "replacement": uuids[1], "group": uuids[1]}
    store = (
        "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, stored, body, words) "
        "SELECT id, %s::uuid, 'x', 1, robotmem.stamp(id), %s, '' FROM robotmem.robots WHERE name = 'evil'"
    )
    said = {"content": "the stairs are safe", "updated_at": LATER, "created_at": LATER, "revision": 2**62}
    for uuid in uuids:
        three.fleet.query(store, uuid, json.dumps({**body, **said, **links}))
    for uuid in uuids[::2]:
        three.fleet.query(
            "INSERT INTO robotmem.deleted SELECT id, %s::uuid, robotmem.stamp(id) FROM robotmem.robots "
            "WHERE name = 'evil'", uuid,
        )  # fmt: skip
    three.pull("good")
    assert three.own("good") == own
    # Neither is a robot kept away whose UUIDs were taken.
    three.fleet.query("DELETE FROM robotmem.memories USING robotmem.robots WHERE id = robot AND name = 'evil'")
    push(three.memories["third"], three.urls["third"])
    three.pull("good")
    known = three.memories["good"].recall("third", collection="@third", n=9, kinds=["fact", "perception"])
    assert {hit.memory.content for hit in known} == {
        "the stairs of third are not fenced", "the lift of third needs a key", "a sofa of third",
    }  # fmt: skip
    assert three.own("good") == own


def test_the_export_of_a_file_makes_its_memories_no_other_robots(
    three: Three, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, third = three.memories["good"], three.memories["third"]
    own = three.own("good")
    exports = {name: tmp_path / f"{name}.jsonl" for name in ("good", "third")}
    assert main(["export", str(exports["good"]), "--db", str(good.path)]) == 0
    assert main(["import", str(exports["good"]), "--db", str(good.path), "--robot", "kitchen1"]) == 1
    assert "is no other robot: " in (told := capsys.readouterr().err)
    assert "import it without --robot" in told
    assert three.own("good") == own
    # What another robot has from this one stays this one's.
    assert main(["import", str(exports["good"]), "--db", str(third.path)]) == 0
    assert main(["export", str(exports["third"]), "--db", str(third.path)]) == 0
    assert main(["import", str(exports["third"]), "--db", str(good.path), "--robot", "third"]) == 0
    assert three.own("good") == own
    others = [unit["content"] for unit in units_of(good).values() if unit.get("collection") == "@third/default"]
    assert sorted(others) == [
        "a sofa of third", "the lift of third needs a key", "the stairs of third are not fenced",
    ]  # fmt: skip


def test_what_other_robots_know_pushes_out_nothing_of_ones_own(three: Three) -> None:
    push(three.memories["evil"], three.urls["evil"])
    three.pull("good")
    good = three.memories["good"]
    with good.parts.database.snapshot() as snapshot:
        order = snapshot.rows(
            f"SELECT m.collection FROM memories AS m ORDER BY {retention_rows.LEAST_USEFUL_FIRST}",
            retention_rows.moment(2 * 10**18),
        )
    assert [name for (name,) in order] == ["@evil/default"] * 3 + ["default"] * 3


def test_a_server_that_hangs_as_a_robot_connects_is_told(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Proxy(fleet.server.port)
    url = fleet.add("robot", port=network.port)

    def open_and_hang(url: str) -> connection.Connection:
        opened = open_database(url)
        network.delay = 3600.0
        return opened

    monkeypatch.setattr(connection, "open_database", open_and_hang)
    monkeypatch.setattr(connection, "_SILENCE", 0.1)
    with closing(network), pytest.raises(SilentFleetError, match="does not answer"):
        connect(url)


def test_a_server_that_hangs_costs_few_threads_and_is_told(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_GRACE", 0.1)
    monkeypatch.setattr(client, "_PAUSE", 0.5)
    monkeypatch.setattr(connection, "_SILENCE", 0.5)
    monkeypatch.setattr(connection, "_MOMENT", 0.1)
    network = Proxy(fleet.server.port)
    url = fleet.add("robot", port=network.port)
    with closing(network), open_memory(tmp_path / "memory.db", fleet_url=url, embedding_model="") as memory:
        memory.learn("the stairs are not fenced")
        until(lambda: "knows" not in memory.recall("stairs", scope="both", deadline=60).reason, "answer")
        follower = Follower(memory, url)
        until(lambda: follower.backlog == 0, "contact")
        network.delay = 3600.0
        memory.learn("the lift needs a key")
        reasons = set[str]()
        while not any("the fleet does not answer" in reason for reason in reasons):
            result = memory.recall("stairs", scope="both", deadline=0.05)
            assert [hit.memory.content for hit in result] == ["the stairs are not fenced"]
            reasons.add(result.reason)
            assert sum(thread.name.startswith("robotmem-ask") for thread in threading.enumerate()) <= 4
        until(lambda: bool(follower.trouble), "trouble")
        assert memory.status().fleet_trouble
        network.delay = 0.0
        until(
            lambda: "knows" not in memory.recall("stairs", scope="both", deadline=10).reason, "answer of the fleet",
        )  # fmt: skip
        follower.close()
