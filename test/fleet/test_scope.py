"""A robot asks itself, its fleet, or both; what the fleet does not answer in time, it answers by itself."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import connect
from robotmem_ros.fleet.pull import Pull
from robotmem_ros.fleet.scope import FleetMemory, open_memory
from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ..support.embedders import WordVectors
from ..support.postgres import Server
from ..support.waiting import until
from ..support.web import console
from .conftest import Fleet, push

HERE, THERE = "the red mug is in the hall", "the red mug is on the desk"


@pytest.fixture(scope="module")
def shared_fleet(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return Fleet(postgres, tmp_path_factory.mktemp("scope"))


@pytest.fixture(scope="module")
def robots(shared_fleet: Fleet) -> Iterator[dict[str, RobotMemory]]:
    """Two robots in one fleet, of which the first may read what the second remembers."""
    fleet = shared_fleet
    urls = {name: fleet.add(name) for name in ("first", "second")}
    with closing(connect(fleet.url)) as connection:
        administration.grant(connection, "first", "default")
    memories = {
        name: open_memory(fleet.folder / f"{name}.db", fleet_url=url, embedder=WordVectors(), map_id="house")
        for name, url in urls.items()
    }
    memories["first"].save_perception(HERE, label="mug", pose=(1, 0, 0), as_object=False, observed_at=10**18)
    memories["second"].save_perception(THERE, label="mug", pose=(2, 0, 0), as_object=False, observed_at=10**18 + 1)
    memories["second"].learn("lamps are hot", tags=["warning"], observed_at=10**18 + 2)
    for name, memory in memories.items():
        memory.flush()
        push(memory, urls[name])
    yield memories
    for memory in memories.values():
        memory.close()


def test_a_recall_asks_the_robot_its_fleet_or_both(robots: dict[str, RobotMemory]) -> None:
    first = robots["first"]
    texts = {
        scope: {
            (hit.robot, hit.memory.content) for hit in first.recall("red mug", labels="mug", scope=scope, deadline=10)
        }
        for scope in ("", "robot", "fleet", "both")
    }
    assert texts[""] == texts["robot"] == {("", HERE)}
    assert texts["fleet"] == {("first", HERE), ("second", THERE)}
    assert texts["both"] == {("", HERE), ("second", THERE)}


def test_relevance_explanations_and_bounds_mean_the_same_on_both_sides(robots: dict[str, RobotMemory]) -> None:
    first = robots["first"]
    own = first.recall("red mug", explain=True)
    fleet = first.recall("red mug", explain=True, scope="fleet", deadline=10)
    (same,) = (hit for hit in fleet if hit.robot == "first")
    assert same.relevance == pytest.approx(own[0].relevance, abs=0.1)
    assert same.explanation
    assert same.explanation.score == pytest.approx(sum(part.value for part in same.explanation.parts))
    for scope in ("robot", "fleet", "both"):
        nothing = first.recall("red mug", min_relevance=1.0, scope=scope, deadline=10)
        assert not nothing
        assert "nothing relevant: the best memory has relevance" in nothing.reason


def test_places_and_times_order_what_both_know(robots: dict[str, RobotMemory]) -> None:
    first = robots["first"]
    near = first.recall(spatial_sort={"target": [3.0, 0.0]}, labels="mug", scope="both", deadline=10)
    assert [(hit.robot, hit.distance) for hit in near] == [("second", 1.0), ("", 2.0)]
    latest = first.recall(after=10**18, n=2, scope="both", deadline=10)
    assert [hit.memory.content for hit in latest] == ["lamps are hot", THERE]


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("scope", ["fleet", "both"])
def test_the_pages_of_a_timeline_have_each_memory_once(
    robots: dict[str, RobotMemory], scope: str, oldest_first: bool
) -> None:
    first, cursor, contents = robots["first"], "", []
    while True:
        page = first.timeline(n=1, cursor=cursor, oldest_first=oldest_first, scope=scope, deadline=10)
        contents += [entry.snippet for entry in page]
        cursor = page.cursor
        if not cursor:
            break
    assert contents == [HERE, THERE, "lamps are hot"][:: 1 if oldest_first else -1]


def test_what_came_down_is_not_told_twice(shared_fleet: Fleet, tmp_path: Path, robots: dict[str, RobotMemory]) -> None:
    url = shared_fleet.add("third")
    with closing(connect(shared_fleet.url)) as connection:
        administration.grant(connection, "third", "default")
    with open_memory(tmp_path / "third.db", fleet_url=url, fleet_subscriptions="*", embedding_model="") as third:
        with closing(Pull(third, url)) as pull:
            for _ in pull.pieces():
                pass
        assert [hit.memory.content for hit in third.recall("lamps")] == ["lamps are hot"]
        assert [hit.memory.content for hit in third.recall("lamps", scope="both", deadline=10)] == ["lamps are hot"]
        entries = third.timeline(scope="both", deadline=10)
        assert [entry.snippet for entry in entries] == ["lamps are hot", THERE, HERE]


def test_counts_add_up(robots: dict[str, RobotMemory]) -> None:
    first = robots["first"]
    for scope in ("fleet", "both"):
        assert first.counts("labels", scope=scope, deadline=10) == (("mug", 2),)
        assert first.counts("kinds", scope=scope, deadline=10) == (("perception", 2), ("fact", 1))
        assert ("warning", 1) in first.counts("tags", scope=scope, deadline=10)
    assert first.counts("labels") == (("mug", 1),)


def test_a_robot_reads_only_what_is_its_own(robots: dict[str, RobotMemory]) -> None:
    found = robots["second"].recall("red mug", labels="mug", scope="fleet", deadline=10)
    assert [(hit.robot, hit.memory.content) for hit in found] == [("second", THERE)]


def test_the_robot_answers_where_the_fleet_does_not(tmp_path: Path) -> None:
    url = "postgresql://robot_lost@127.0.0.1:1/fleet"
    with open_memory(tmp_path / "memory.db", fleet_url=url, embedding_model="") as memory:
        assert isinstance(memory, FleetMemory)
        memory.learn(HERE)
        for scope in ("fleet", "both"):
            result = memory.recall("red mug", scope=scope, deadline=5)
            assert [hit.memory.content for hit in result] == [HERE]
            assert "connection" in result.reason
            assert "this is what the robot knows" in result.reason
            assert memory.timeline(scope=scope).reason
            assert memory.counts("kinds", scope=scope) == (("fact", 1),)
            assert memory.counts("kinds", scope=scope).reason
        assert "this is what the robot knows" in memory.recall("red mug", scope="fleet", deadline=0).reason
        for name, value in {"scope": "all", "deadline": -1}.items():
            with pytest.raises(InvalidFieldError, match=name):
                memory.recall("red mug", **{"scope": "fleet", name: value})  # type: ignore[arg-type]
    with (
        RobotMemory(tmp_path / "memory.db", embedding_model="") as memory,
        pytest.raises(InvalidFieldError, match="needs a fleet, which the parameter fleet_url names"),
    ):
        memory.recall("red mug", scope="fleet")


def test_a_network_that_does_not_answer_costs_the_deadline(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://robot_lost@127.0.0.1:{silent.getsockname()[1]}/fleet"
        with open_memory(tmp_path / "memory.db", fleet_url=url, embedding_model="") as memory:
            memory.learn(HERE)
            result = memory.recall("red mug", scope="both", deadline=0.2)
    assert [hit.memory.content for hit in result] == [HERE]
    assert result.reason.startswith("the fleet did not answer within 0.2 s; this is what the robot knows")


def test_an_operator_asks_by_a_command(
    shared_fleet: Fleet, robots: dict[str, RobotMemory], capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--fleet-url", shared_fleet.add("ada", add=administration.add_operator), "--no-model"]
    assert main(["fleet", "recall", "red mug", "--json", *at]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {(hit["robot"], hit["content"]) for hit in answer["memories"]} == {("first", HERE), ("second", THERE)}
    assert main(["fleet", "recall", "red mug", "--labels", "mug", "--n", "1", "--explain", *at]) == 0
    assert ", robot " in capsys.readouterr().out
    assert main(["fleet", "recall", "--tags", "warning", *at]) == 0
    assert "lamps are hot" in capsys.readouterr().out
    assert (
        main(["recall", "red mug", "--db", str(robots["second"].path), "--scope", "both", "--deadline", "10", *at]) == 0
    )
    assert HERE in capsys.readouterr().out
    also = ["--db", str(robots["second"].path), "--scope", "both", "--deadline", "10", *at[:2]]
    assert main(["timeline", *also]) == 0
    assert "  first\n" in capsys.readouterr().out
    assert main(["list", "labels", *also]) == 0
    assert capsys.readouterr().out.split()[-2:] == ["mug", "2"]


def test_the_console_and_agents_ask_the_fleet(
    robots: dict[str, RobotMemory], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uvicorn", reason="the web server is optional: `make test` brings it")
    first, config = robots["first"], tmp_path / "memory.yaml"
    config.write_text(json.dumps({"memory": {"ros__parameters": {"fleet_url": first.parameters.fleet_url}}}))
    everywhere = {("first", HERE), ("second", THERE)}
    query = {"scope": "fleet", "deadline": "10", "labels": "mug"}
    with console(first.path, "--config", str(config)) as server, server.client() as client:
        found = client.get("/api/search", params={"q": "red mug", **query}).json()["memories"]
        assert {(memory["fleet_robot"], memory["content"]) for memory in found} == everywhere
        entries = client.get("/api/memories", params=query).json()["memories"]
        assert {(entry["fleet_robot"], entry["snippet"]) for entry in entries} == everywhere
        for scope, count in {"robot": 1, "fleet": 2, "both": 2}.items():
            counted = client.get("/api/labels", params={"scope": scope, "deadline": "10"}).json()
            assert counted == {"reason": "", "labels": [{"value": "mug", "memories": count}]}
        refused = client.get("/api/collections", params={"scope": "all"})
        assert (refused.status_code, refused.json()["field"]) == (400, "scope")
    with console(first.path) as server, server.client() as client:
        refused = client.get("/api/memories", params=query)
        assert (refused.status_code, refused.json()["field"]) == (400, "scope")
        assert "fleet_url" in refused.json()["error"]
    arguments = json.dumps({"query": "red mug", "scope": "fleet", "deadline": 10, "labels": ["mug"]})
    assert main(["call", "recall", arguments, "--db", str(first.path), "--config", str(config)]) == 0
    found = json.loads(capsys.readouterr().out)["memories"]
    assert {(memory["fleet_robot"], memory["text"].replace("**", "")) for memory in found} == everywhere


def test_the_status_tells_what_the_fleet_lacks(fleet: Fleet, tmp_path: Path) -> None:
    url, lost = fleet.add("own"), "postgresql://robot_lost@127.0.0.1:1/fleet"
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.learn(HERE)
        assert (memory.status().fleet_backlog, memory.status().fleet_trouble) == (-1, "")
        backlogs = []
        for _ in range(2):
            with open_memory(memory.path, fleet_url=url, embedding_model="", read_only=True) as reader:
                backlogs.append(reader.status().fleet_backlog)
            push(memory, url)
        memory.learn(THERE)
        with open_memory(memory.path, fleet_url=url, embedding_model="", read_only=True) as reader:
            backlogs.append(reader.status().fleet_backlog)
    assert backlogs == [1, 0, 1]
    with open_memory(tmp_path / "memory.db", fleet_url=lost, embedding_model="") as memory:
        status = memory.status()
        assert status.fleet_backlog == -1
        assert "connection failed" in status.fleet_trouble
        assert status.fleet_trouble in status.reason
    with open_memory(tmp_path / "memory.db", fleet_url=url, embedding_model="") as memory:
        assert isinstance(memory, FleetMemory)
        memory.follow()
        until(lambda: memory.status().fleet_backlog == 0, "no backlog")
        assert memory.status().fleet_trouble == ""
