"""The console shows the fleet: its robots, their objects, their memories in full, and requests to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from robotmem_ros.fleet import administration
from robotmem_ros.memory import RobotMemory

from ..support.waiting import until
from ..support.web import console
from .conftest import Fleet, push


@contextmanager
def answers(db: Path | None, *options: str) -> Iterator[httpx.Client]:
    with console(db, *options) as server, server.client() as client:
        yield client


def stored(fleet: Fleet, name: str, url: str, words: str, map_id: str = "house") -> int:
    """Let a robot see a mug twice and learn a fact, and push that; return the id of the mug."""
    with RobotMemory(fleet.folder / f"{name}.db", embedding_model="", map_id=map_id) as memory:
        for x in (1.0, 1.2):
            mug = memory.save_perception(f"the mug of {name}", pose=(x, 2.0, 0.0), label="mug").memory_id
        fact = memory.learn(words).memory_id
        memory.update(fact, f"{words}!", reason="it is loud")
        push(memory, url)
    return mug


def test_without_a_fleet_each_path_says_so_and_the_status_has_one_scope(fleet: Fleet) -> None:
    with RobotMemory(fleet.folder / "alone.db", embedding_model=""):
        pass
    with answers(fleet.folder / "alone.db") as client:
        status = client.get("/api/status").json()
        assert (status["scopes"], status["map_id"]) == (["robot"], "")
        body = {"robot": "a", "memory": "1", "reason": "b"}
        for answer in (
            *(client.get(f"/api/fleet/{path}") for path in ("robots", "objects", "requests", "memory/a/1")),
            client.post("/api/fleet/requests", json=body),
        ):
            assert answer.status_code == 409
            assert answer.json()["field"] == "fleet_url"
            assert "start the console with --fleet-url URL" in answer.json()["error"]


def test_an_operator_without_a_file_sees_all(fleet: Fleet) -> None:
    ada = fleet.add("ada", add=administration.add_operator)
    mug = stored(fleet, "kitchen1", fleet.add("kitchen1"), "the lift sticks")
    stored(fleet, "hall1", fleet.add("hall1"), "the lift rattles", "hall")
    fleet.add("new")
    with answers(None, "--fleet-url", ada) as client:
        assert client.get("/api/status").json()["scopes"] == ["fleet"]
        robots = client.get("/api/fleet/robots").json()
        assert robots["reason"] == ""
        assert [(one["name"], one["memories"], one["backlog"], one["is_own"]) for one in robots["robots"]] == [
            ("hall1", 2, 0, False), ("kitchen1", 2, 0, False), ("new", 0, 0, False),
        ]  # fmt: skip
        assert robots["robots"][2]["contact"] == ""
        objects = client.get("/api/fleet/objects?include_unconfirmed=true").json()["objects"]
        assert {(one["fleet_robot"], one["map_id"], one["label"], one["times_seen"]) for one in objects} == {
            ("kitchen1", "house", "mug", 2), ("hall1", "hall", "mug", 2),
        }  # fmt: skip
        assert len(client.get("/api/fleet/objects?include_unconfirmed=true&limit=1").json()["objects"]) == 1
        found = client.get("/api/search?q=lift&scope=fleet").json()["memories"]
        assert {one["fleet_robot"] for one in found} == {"kitchen1", "hall1"}
        full = client.get(f"/api/fleet/memory/kitchen1/{mug}").json()
        assert (full["memory"]["content"], full["status"], full["data"]) == ("the mug of kitchen1", "active", None)
        assert [one["position"] for one in full["sightings"]][-1] == [1.0, 2.0, 0.0]
        fact = client.get(f"/api/fleet/memory/kitchen1/{mug + 1}").json()
        assert [(one["reason"], one["before"]["content"]) for one in fact["history"]] == [
            ("it is loud", "the lift sticks")
        ]
        missing = client.get("/api/fleet/memory/kitchen1/999")
        assert missing.status_code == 404
        assert "no memory of a robot 'kitchen1'" in missing.json()["error"]


def test_a_request_is_left_shown_and_refused_with_a_named_error(fleet: Fleet) -> None:
    ada, url = fleet.add("ada", add=administration.add_operator), fleet.add("kitchen1")
    mug = stored(fleet, "kitchen1", url, "the lift sticks")
    good: dict[str, Any] = {"robot": "kitchen1", "memory": str(mug), "reason": "it is gone"}
    with answers(None, "--fleet-url", ada) as client:
        assert client.post("/api/fleet/requests", json=good).status_code == 201
        correction = {**good, "content": "a cup"}
        number = client.post("/api/fleet/requests", json=correction).json()["request"]
        last, first = client.get("/api/fleet/requests").json()["requests"]
        assert (last["id"], last["content"], last["state"], last["asked_by"]) == (
            number,
            "a cup",
            "open",
            "operator_ada",
        )
        assert (first["content"], int(first["memory"][-10:], 16)) == (None, mug)
        for field, value in (
            ("robot", "nobody"), ("memory", "999"), ("memory", "none"), ("memory", ""), ("reason", ""), ("reason", " "),
            ("reason", "a\0b"), ("reason", "x" * 2001), ("content", " "), ("content", "a\0b"), ("content", 5),
            ("who", "me"),
        ):  # fmt: skip
            refused = client.post("/api/fleet/requests", json={**good, field: value})
            assert refused.status_code == 400, (field, value)
            assert refused.json()["field"] == ("memory" if field == "robot" else field), refused.text
        assert len(client.get("/api/fleet/requests").json()["requests"]) == 2
    with answers(None, "--fleet-url", ada, "--read-only") as client:
        assert client.post("/api/fleet/requests", json=good).status_code == 403
        assert len(client.get("/api/fleet/requests").json()["requests"]) == 2


def test_a_robot_sees_what_its_login_may_see_beside_its_own_file(fleet: Fleet) -> None:
    urls = {name: fleet.add(name) for name in ("kitchen1", "hall1")}
    for name, url in urls.items():
        stored(fleet, name, url, f"the lift of {name} sticks")
    with answers(fleet.folder / "hall1.db", "--fleet-url", urls["hall1"]) as client:
        assert client.get("/api/status").json()["scopes"] == ["robot", "fleet", "both"]
        until(lambda: client.get("/api/status").json()["fleet_backlog"] == 0, "an answer within the second of a status")
        (own,) = client.get("/api/fleet/robots").json()["robots"]
        assert (own["name"], own["is_own"]) == ("hall1", True)
        assert client.get("/api/fleet/objects?include_unconfirmed=true").json() == {"objects": [], "reason": ""}
        assert client.get("/api/fleet/memory/kitchen1/1").status_code == 404
        fleet.query("INSERT INTO robotmem.grants SELECT id, 'default' FROM robotmem.robots WHERE name = 'hall1'")
        assert [one["is_own"] for one in client.get("/api/fleet/robots").json()["robots"]] == [True, False]
        (mug,) = client.get("/api/fleet/objects?include_unconfirmed=true").json()["objects"]
        assert mug["fleet_robot"] == "kitchen1"
        assert client.get("/api/fleet/memory/kitchen1/1").json()["memory"]["label"] == "mug"
        both = client.get("/api/search?q=lift&scope=both").json()["memories"]
        assert {one["fleet_robot"] for one in both} == {"", "kitchen1"}
        assert client.get("/api/fleet/requests").json() == {"requests": [], "reason": ""}


@pytest.mark.parametrize("url", ["postgresql://operator_ada@127.0.0.1:1/fleet", "postgresql://a:secret@127.0.0.1:1/b"])
def test_a_fleet_that_does_not_answer_is_a_reason_and_no_error(url: str) -> None:
    with answers(None, "--fleet-url", url) as client:
        for path, name in (("robots", "robots"), ("objects", "objects"), ("requests", "requests")):
            answer = client.get(f"/api/fleet/{path}")
            assert answer.status_code == 200
            assert answer.json()[name] == []
            assert answer.json()["reason"]
            assert "secret" not in answer.text
        assert client.get("/api/status").json()["fleet_trouble"]
        assert client.get("/api/search?q=lift&scope=fleet").json()["memories"] == []
