"""Rows that somebody put into the fleet by hand stop no robot, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import connect
from robotmem_ros.fleet.pull import Pull
from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.search.request import CountField

from ..support.embedders import WordVectors
from .conftest import Fleet, push

TEXT = "the gate is open"
LEAST = {"type": "fact", "collection": "default", "content": TEXT, "status": "active", "observed_at": 10**18}
WRONG: tuple[Any, ...] = (None, 5, "x", [1, "x", None], {"a": {"b": []}}, -1e300)


def bodies(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield bodies that lack what a memory has, or have something else there."""
    yield {}
    yield LEAST
    for name in whole:
        yield {key: value for key, value in whole.items() if key != name}
        yield from ({**whole, name: value} for value in WRONG)


@pytest.fixture
def hurt(fleet: Fleet, tmp_path: Path) -> tuple[Fleet, str, str, int]:
    """A fleet of two robots, of which the first has rows that no file has, and reads those of the other."""
    first, second = (fleet.add(name) for name in ("first", "second"))
    with closing(connect(fleet.url)) as connection:
        for name in ("first", "second"):
            administration.grant(connection, name, "*")
    with RobotMemory(tmp_path / "second.db", embedder=WordVectors(), map_id="house") as memory:
        memory.learn(TEXT, {"task": "open"}, tags=["gate"])
        for _ in range(6):
            memory.save_perception("a mug by the gate", label="mug", pose=(1, 2, 0), confidence=0.95)
        memory.flush()
        push(memory, second)
    wholes = [body for (body,) in fleet.query("SELECT body FROM robotmem.memories")]
    assert len(wholes) == 2
    count = 0
    with closing(connect(fleet.url)) as connection:
        for body in (body for whole in wholes for body in bodies(whole)):
            # PostgreSQL refuses what it cannot take apart.
            with suppress(psycopg.Error):
                connection.execute(
                    "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, stored, body, words, label_key) "
                    "SELECT id, gen_random_uuid(), '', 1, stored + 1, %s, 'gate', 'mug' FROM robotmem.robots "
                    "WHERE name = 'second'",
                    (json.dumps(body),),
                )
                count += 1
        connection.execute("UPDATE robotmem.robots SET stored = stored + 1")
        connection.execute(
            "UPDATE robotmem.memories SET model = (SELECT max(model) FROM robotmem.memories), "
            "embedding = (SELECT embedding FROM robotmem.memories WHERE model <> '' LIMIT 1) WHERE model = ''"
        )
    return fleet, first, second, count


def test_robots_ask_pull_and_push_beside_rows_that_no_file_has(
    hurt: tuple[Fleet, str, str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet, first, second, count = hurt
    assert count > 150
    with open_memory(
        tmp_path / "first.db", fleet_url=first, embedder=WordVectors(), map_id="house", fleet_subscriptions="*"
    ) as memory:
        for scope in ("fleet", "both"):
            asked: dict[str, Any] = {"scope": scope, "deadline": 60}
            for conditions in (
                {}, {"labels": ["mug"]}, {"tags": ["gate"]}, {"context_filter": {"task": "open"}}, {"after": 0},
                {"min_confidence": 0.5}, {"fold": False}, {"explain": True}, {"include_unconfirmed": True},
            ):  # fmt: skip
                result = memory.recall("gate", n=100, **conditions, **asked)
                assert result
                assert "what the robot knows" not in result.reason, (conditions, result.reason)
            assert "what the robot knows" not in memory.recall(after=0, n=100, **asked).reason
            near = memory.recall(spatial_sort={"target": [1, 2]}, n=100, **asked)
            assert "what the robot knows" not in near.reason
            timeline = memory.timeline(n=100, **asked)
            assert not timeline.reason
            for field in CountField:
                assert not memory.counts(field.value, **asked).reason
        with closing(Pull(memory, first)) as pull:
            for _ in pull.pieces():
                pass
        assert [hit.memory.content for hit in memory.recall(TEXT, kinds=["fact"], collection="@second")]
        memory.learn("the lab is open")
        memory.flush()
        push(memory, first)
    with open_memory(tmp_path / "second.db", fleet_url=second, embedder=WordVectors(), map_id="house") as memory:
        fleet.query(
            "INSERT INTO robotmem.requests (robot, memory, content, reason) SELECT robot, uuid, "
            "CASE WHEN n %% 2 = 0 THEN 'x' END, 'wrong' FROM (SELECT robot, uuid, row_number() OVER () AS n "
            "FROM robotmem.memories WHERE epoch = %s) AS m", "",
        )  # fmt: skip
        with closing(Pull(memory, second)) as pull:
            while fleet.query("SELECT 1 FROM robotmem.requests WHERE state = 'open'"):
                for _ in pull.pieces():
                    pass
        assert fleet.query("SELECT DISTINCT state, answer FROM robotmem.requests") == [
            ("refused", "the file has no such memory any more")
        ]
        memory.learn("the hall is open")
        push(memory, second)
    at = ["--fleet-url", fleet.url]
    for words in (["status"], ["requests"], ["rebuild"]):
        assert main(["fleet", *words, *at]) == 0
    assert main(["fleet", "recall", "gate", "--no-model", *at]) == 0
    capsys.readouterr()
