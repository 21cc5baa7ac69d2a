"""What other robots know is in a robot's own file, where it is recalled as its own and never changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet import pull as pull_module
from robotmem_ros.fleet.administration import grant
from robotmem_ros.fleet.connection import connect
from robotmem_ros.fleet.pull import Pull
from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.fellow_robots import uuid_of_another

from .conftest import Fleet, push, units_of
from .test_push import live

COLLECTIONS = {"default", "people", "lab"}


class Pair:
    """A robot that learns, one that subscribes, and their fleet."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet = fleet
        self.urls = {name: fleet.add(name) for name in ("kitchen1", "new")}
        self.source = RobotMemory(folder / "kitchen1.db", embedding_model="", map_id="house")
        self.reader = RobotMemory(
            folder / "new.db", embedding_model="", map_id="house", fleet_subscriptions="*", fleet_collections=""
        )

    def grant(self, collection: str, *, revoke: bool = False) -> None:
        with closing(connect(self.fleet.url)) as connection:
            grant(connection, "new", collection, revoke=revoke)

    def step(self) -> int:
        """Push, pull, and return how many memories were stored."""
        push(self.source, self.urls["kitchen1"])
        return self.pull()

    def pull(self) -> int:
        with closing(Pull(self.reader, self.urls["new"])) as puller:
            for _ in puller.pieces():
                pass
        return puller.stored

    def shown(self, text: str, **options: Any) -> dict[str, str]:
        return {hit.memory.content: hit.memory.collection for hit in self.reader.recall(text, n=20, **options)}


@pytest.fixture
def pair(fleet: Fleet, tmp_path: Path) -> Iterator[Pair]:
    made = Pair(fleet, tmp_path)
    with made.source, made.reader:
        yield made


def see(memory: RobotMemory, label: str, x: float, times: int = 6, confidence: float = 0.9) -> int:
    for number in range(times):
        stored = memory.save_perception(
            f"a {label}", label=label, pose=(x, 1.0, 0.5), observed_at=10**18 + number * 10**9, confidence=confidence
        )
    return stored.memory_id


def test_what_another_robot_learns_is_recalled_corrected_withdrawn_and_purged(pair: Pair) -> None:
    source = pair.source
    facts = [source.learn(f"the lift {word}").memory_id for word in ("sticks in the rain", "stops at night", "is slow")]
    see(source, "mug", 2.0)
    source.save_perception("the lift rattles")  # what happens to a robot is no knowledge
    assert pair.step() == 0
    pair.grant("default")
    assert pair.step() == 4
    assert pair.shown("lift") == dict.fromkeys(
        ("the lift sticks in the rain", "the lift stops at night", "the lift is slow"), "@kitchen1/default"
    )
    assert pair.shown("", labels=["mug"]) == {"a mug": "@kitchen1/default"}
    assert pair.shown("lift", collection="default").keys() == pair.shown("lift", collection="@kitchen1").keys()
    assert pair.shown("lift", collection="hall") == {}
    source.update(facts[0], content="the lift sticks in the snow")
    source.forget(facts[1], "a mistake")
    source.purge(ids=[facts[2]])
    assert pair.step() == 2
    assert pair.shown("lift") == {"the lift sticks in the snow": "@kitchen1/default"}
    assert "is slow" not in "".join(map(str, units_of(pair.reader).values()))
    assert pair.step() == 0


def test_own_memories_weigh_more_and_are_never_mixed_with_those_of_others(pair: Pair) -> None:
    pair.grant("*")
    theirs = pair.source.learn("the gripper holds glasses with 5 N").memory_id
    see(pair.source, "mug", 2.0)
    pair.step()
    own = pair.reader.learn("the gripper holds glasses with 5 N")
    assert not own.similar_ids
    assert pair.reader.recall("gripper glasses 5 N", fold=False)[0].id == own.memory_id
    (hit,) = [hit for hit in pair.reader.recall("gripper", fold=False, explain=True) if hit.id != own.memory_id]
    assert ("another robot", 0.9) in {(part.name, part.value) for part in hit.explanation.parts}  # type: ignore[union-attr]
    seen = see(pair.reader, "mug", 2.0, times=1)
    assert pair.reader.get_memories(seen)[0].memory.collection == "default"
    assert {hit.memory.times_seen for hit in pair.reader.recall(labels=["mug"])} == {1, 6}
    session = pair.reader.start_session().session_id
    pair.reader.recall("gripper", session_id=None)
    pair.reader.end_session(session, 1.0)
    for number in range(2):
        pair.source.update(theirs, human_summary=f"glasses {number}")
        assert pair.step() == 1
    assert {unit["human_summary"] for unit in units_of(pair.reader).values() if "human_summary" in unit} >= {
        "glasses 1"
    }
    # What is of others never goes up again as one's own.
    pair.reader.parameters = pair.reader.parameters.changed(fleet_collections="*")
    push(pair.reader, pair.urls["new"])
    assert all(unit["collection"] == "default" for unit in pair.fleet.units("new").values() if "content" in unit)


def test_what_is_of_others_is_only_read(pair: Pair) -> None:
    pair.grant("default")
    pair.source.learn("the gate is open")
    pair.step()
    (hit,) = pair.reader.recall("gate")
    changes: tuple[Callable[[], object], ...] = (
        lambda: pair.reader.forget(hit.id, "wrong"),
        lambda: pair.reader.update(hit.id, content="x"),
        lambda: pair.reader.update(hit.id, add_tags=["x"]),
        lambda: pair.reader.restore(hit.id),
    )
    for change in changes:
        with pytest.raises(MemoryNotFoundError, match="it is of another robot, in '@kitchen1/default', and only read"):
            change()
    writes: tuple[Callable[[], object], ...] = (
        lambda: pair.reader.learn("x y", collection="@kitchen1/default"),
        lambda: pair.reader.save_perception("x y", collection="@new/lab"),
        lambda: pair.reader.start_session(collection="@new/lab"),
        lambda: pair.reader.parameters.changed(collection="@new"),
    )
    for write in writes:
        with pytest.raises(InvalidFieldError, match="begins with '@', as what other robots made, which is only read"):
            write()
    # Whoever does not want it may delete it for good.
    pair.reader.purge(collection="@kitchen1/default")
    pair.source.update(pair.source.recall("gate")[0].id, human_summary="changed")
    pair.step()
    assert pair.shown("gate") == {}


def test_a_robot_gets_what_it_was_granted_and_asks_for(pair: Pair) -> None:
    for collection in COLLECTIONS:
        pair.source.learn(f"a fact of {collection}", collection=collection)
    pair.source.parameters = pair.source.parameters.changed(fleet_collections="*, people")
    push(pair.source, pair.urls["kitchen1"])
    everything = {"collection": "*"}
    assert pair.shown("fact", **everything) == {}
    pair.reader.parameters = pair.reader.parameters.changed(fleet_subscriptions="default")
    for granted in ("*", "people"):
        pair.grant(granted)
        pair.pull()
        assert pair.shown("fact", **everything).keys() == {"a fact of default"}
    pair.reader.parameters = pair.reader.parameters.changed(fleet_subscriptions="*")
    for granted in ("*", "people"):
        pair.grant(granted, revoke=True)
    for granted, collections in (("lab", {"default", "lab"}), ("people", COLLECTIONS), ("*", COLLECTIONS)):
        pair.grant(granted)
        pair.pull()
        assert pair.shown("fact", **everything).keys() == {f"a fact of {name}" for name in collections}
    pair.grant("*", revoke=True)
    pair.source.learn("another fact", collection="default")
    pair.step()
    assert "another fact" not in pair.shown("fact", **everything)


def test_objects_come_while_they_are_confirmed_on_a_map_that_is_known(pair: Pair) -> None:
    pair.grant("*")
    see(pair.source, "mug", 2.0)
    see(pair.source, "cup", 5.0, times=1, confidence=0.2)
    pair.source.parameters = pair.source.parameters.changed(map_id="garage")
    see(pair.source, "tyre", 9.0)
    pair.step()
    objects = {"include_unconfirmed": True, "kinds": ["perception"], "collection": "*"}
    assert pair.shown("", **objects).keys() == {"a mug"}
    pair.reader.parameters = pair.reader.parameters.changed(map_id="garage")
    pair.pull()
    assert pair.shown("", **objects).keys() == {"a mug", "a tyre"}


def test_the_command_pulls_and_an_export_serves_without_a_fleet(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, export = pair.source, str(tmp_path / "kitchen1.jsonl")
    source.start_session()
    gate = source.learn("the gate is open", session_id="s1").memory_id
    source.learn("a visitor came", collection="people")
    see(source, "mug", 2.0)
    source.save_perception("the gate squeaks")
    push(source, pair.urls["kitchen1"])
    pair.grant("*")
    pulled, imported = (str(tmp_path / name) for name in ("pulled.db", "imported.db"))
    for path in (pulled, imported):
        RobotMemory(path, embedding_model="").close()
    (tmp_path / "memory.yaml").write_text(
        "memory:\n  ros__parameters:\n    fleet_subscriptions: default\n    map_id: house\n"
    )
    at = ["--fleet-url", pair.urls["new"], "--config", str(tmp_path / "memory.yaml")]
    assert main(["fleet", "pull", "--db", pulled, *at]) == 0
    assert main(["export", export, "--db", str(source.path)]) == 0
    assert main(["import", export, "--robot", "kitchen1", "--db", imported]) == 0
    assert capsys.readouterr().out == (
        "pulled: 2 memories of other robots\nexported: 4 memories\nimported: 3 memories\n"
    )
    for path, others in ((pulled, set()), (imported, {"a visitor came"})):
        with RobotMemory(path, embedding_model="") as memory:
            hits = memory.recall(collection="@kitchen1", kinds=["fact", "perception"], n=9)
            assert {hit.memory.content for hit in hits} == {"the gate is open", "a mug"} | others
            assert {hit.memory.session_id for hit in hits} == {""}
    source.forget(gate, "a mistake")
    assert main(["export", f"{export}.gz", "--db", str(source.path), "--since", export]) == 0
    assert main(["import", f"{export}.gz", "--robot", "kitchen1", "--db", imported]) == 0
    with RobotMemory(imported, embedding_model="") as memory:
        assert not memory.recall("gate")
    assert main(["import", export, "--robot", "Kitchen 1", "--db", imported]) == 1
    assert "--robot: 'Kitchen 1' must be up to 40 small letters" in capsys.readouterr().err


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_module, "_ROWS", 7)


def test_a_file_that_follows_has_what_its_source_has(pair: Pair, small_pages: None) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    pair.grant("*")
    for _ in range(4):
        live(pair.source, chance, 25)
        push(pair.source, pair.urls["kitchen1"])
        with closing(Pull(pair.reader, pair.urls["new"])) as puller:
            for _ in puller.pieces():
                if chance.random() < 0.3:
                    break
        pair.pull()
        own, theirs = ({u: r for u, r in units_of(m).items() if is_shared(r)} for m in (pair.source, pair.reader))
        own = {uuid_of_another("kitchen1", uuid): row for uuid, row in own.items()}
        assert {u: theirs[u]["human_summary"] for u in own} == {u: own[u]["human_summary"] for u in own}
        assert theirs.keys() == own.keys()


def is_shared(unit: dict[str, Any]) -> bool:
    is_known = unit.get("type") == "fact" or bool(unit.get("object") and unit["object"][0]["confirmed"])
    return is_known and unit["status"] == "active"


def test_a_server_that_was_restored_and_malformed_rows_stop_nothing(pair: Pair, small_pages: None) -> None:
    fleet, dump = pair.fleet, "pulled.dump"
    pair.grant("*")
    pair.source.learn("the lab is open")
    pair.step()
    fleet.server.run("pg_dump", "-Fc", "-f", dump, fleet.url)
    pair.source.learn("the hall is open")
    pair.step()
    fleet.query(f"DROP DATABASE {fleet.database} WITH (FORCE)", database="postgres")
    fleet.query(f"CREATE DATABASE {fleet.database}", database="postgres")
    fleet.server.run("pg_restore", "-d", fleet.url, dump)
    pair.source.learn("the attic is open")
    pair.step()
    assert pair.shown("open").keys() == {"the lab is open", "the hall is open", "the attic is open"}
    for body in ("{}", '{"object": 5}', '{"object": [], "history": {}}'):
        fleet.query(
            "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, stored, body, words) SELECT m.robot, "
            "gen_random_uuid(), m.epoch, 1, r.stored, jsonb_build_object('type', 'fact', 'collection', 'default', "
            "'content', 'x', 'status', 'active', 'observed_at', 0) || %s::jsonb, '' "
            "FROM robotmem.memories AS m JOIN robotmem.robots AS r ON r.id = m.robot LIMIT 1", body,
        )  # fmt: skip
    pair.source.learn("the shed is open")
    pair.step()
    assert "the shed is open" in pair.shown("open")
