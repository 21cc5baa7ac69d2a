"""What a file has is in the fleet, whatever happens to the process, the network, the server and the file."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from demo.network import Proxy
from robotmem_ros.fleet import push as push_module
from robotmem_ros.fleet.administration import load, rebuild, renew_robot, status
from robotmem_ros.fleet.connection import FleetError, connect
from robotmem_ros.fleet.push import Push
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.batch import Batch

from ..support.embedders import WordVectors
from ..support.forks import running
from .conftest import Fleet, push, units_of

PUSH = """
import sys
from robotmem_ros.fleet import push
from robotmem_ros.memory import RobotMemory
push._CHANGES = 8
with RobotMemory(sys.argv[1], embedding_model="", read_only=True) as memory:
    for _ in push.Push(memory, sys.argv[2]).pieces():
        print("piece", flush=True)
"""


def live(memory: RobotMemory, chance: random.Random, steps: int) -> None:
    """Do what a robot does: save, learn, correct, withdraw, bring back, purge, end sessions."""
    for _ in range(steps):
        ids = [entry.id for entry in memory.timeline(n=50)]
        some = chance.choice(ids) if ids else memory.learn("the lab is open").memory_id
        number = chance.randrange(10**6)
        act = chance.randrange(8)
        if act < 2:
            memory.learn(f"the grip of tool {number} is {number % 97} N", {"tool": number})
        elif act < 5:
            x, y = chance.uniform(0, 20), chance.uniform(0, 20)
            memory.save_perception(f"a mug {number}", label="mug", pose=(x, y, 0.0), data=b"raw", session_id="s1")
        elif act == 5:
            memory.update(some, human_summary=f"corrected {number}", add_tags=["corrected"])
        elif act == 6:
            memory.forget(some, "a mistake")
            if chance.random() < 0.5:
                memory.restore(some)
        else:
            memory.purge(ids=[some])


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "_CHANGES", 8)


def test_the_fleet_has_what_the_files_of_its_robots_have(fleet: Fleet, tmp_path: Path, small_batches: None) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    urls = {name: fleet.add(name) for name in ("first", "second")}
    for _ in range(4):
        for name, url in urls.items():
            # Each time it is opened a new epoch begins.
            with RobotMemory(tmp_path / f"{name}.db", embedding_model="") as memory:
                live(memory, chance, 12)
                assert push(memory, url).backlog == 0
                assert fleet.units(name) == units_of(memory)
                before = fleet.everything()
                assert push(memory, url).sent == 0
                assert fleet.query("SELECT max(latest - revision) FROM robotmem.robots") == [(0,)]
                # Only the time of the contact is another one.
                assert len(fleet.everything()) == pytest.approx(len(before), abs=20)
    with closing(connect(fleet.url)) as connection:
        assert [(robot.name, robot.backlog) for robot in status(connection)] == [("first", 0), ("second", 0)]


def test_a_push_that_is_killed_anywhere_is_completed_by_the_next(fleet: Fleet, memory: RobotMemory) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance, url = random.Random(seed), fleet.add("killed")
    live(memory, chance, 60)
    revision = 0
    for _ in range(3):
        with running(PUSH, memory.path, url) as process:
            for _ in range(chance.randint(1, 3)):
                process.stdout.readline()
            process.kill()
            process.wait()
        ((now,),) = fleet.query("SELECT revision FROM robotmem.robots")
        assert now >= revision
        revision = now
        live(memory, chance, 5)
    push(memory, url)
    assert fleet.units("killed") == units_of(memory)


def test_a_connection_that_is_cut_within_a_batch_loses_and_doubles_nothing(
    fleet: Fleet, memory: RobotMemory, small_batches: None
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with closing(Proxy(fleet.server.port)) as proxy:
        url = fleet.add("cut", port=proxy.port)
        live(memory, chance, 60)
        pusher = Push(memory, url)
        cuts = 0
        for _ in range(12):
            proxy.cut_after = chance.randint(1, 40_000)
            try:
                for _ in pusher.pieces():
                    pass
            except FleetError:
                cuts += 1
            live(memory, chance, 2)
        assert cuts
        proxy.cut_after = 0
        pusher.close()
        for _ in pusher.pieces():
            pass
        pusher.close()
    assert fleet.units("cut") == units_of(memory)


def test_a_server_that_was_restored_gets_again_what_it_lost(fleet: Fleet, memory: RobotMemory) -> None:
    url, dump = fleet.add("restored"), "backup.dump"
    memory.learn("the lab is open")
    pusher = Push(memory, url)
    [*pusher.pieces()]
    fleet.server.run("pg_dump", "-Fc", "-f", dump, fleet.url)
    fact = memory.learn("the lab is closed on Sunday").memory_id
    memory.purge(ids=[memory.learn("to be purged").memory_id])
    [*pusher.pieces()]
    after = fleet.units("restored")
    fleet.query(f"DROP DATABASE {fleet.database} WITH (FORCE)", database="postgres")
    fleet.query(f"CREATE DATABASE {fleet.database}", database="postgres")
    fleet.server.run("pg_restore", "-d", fleet.url, dump)
    assert len(fleet.units("restored")) == 1
    pusher.close()
    [*pusher.pieces()]
    assert fleet.units("restored") == after == units_of(memory)
    memory.forget(fact, "a mistake")
    [*pusher.pieces()]
    pusher.close()
    assert fleet.units("restored") == units_of(memory)


def test_a_file_that_was_restored_overwrites_nothing_newer(fleet: Fleet, tmp_path: Path) -> None:
    url, path, backup = fleet.add("rewound"), tmp_path / "memory.db", tmp_path / "backup.db"
    with RobotMemory(path, embedding_model="") as memory:
        lost, changed, purged = (memory.learn(f"the {name} is open").memory_id for name in ("lab", "kitchen", "hall"))
        push(memory, url)
    shutil.copy(path, backup)
    with RobotMemory(path, embedding_model="") as memory:
        for number in range(20):
            memory.update(lost, human_summary=f"newer {number}")
            memory.update(changed, human_summary=f"newer {number}")
        memory.learn("the shed is open")
        memory.purge(ids=[purged])
        push(memory, url)
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    shutil.copy(backup, path)
    with RobotMemory(path, embedding_model="") as memory:
        with pytest.raises(FleetError, match="put back from a backup and has stored nothing since"):
            push(memory, url)
        memory.forget(changed, "a mistake")
        memory.learn("the attic is open")
        push(memory, url)
        assert push(memory, url).sent == 0
    units = fleet.units("rewound").values()
    assert sorted((unit["content"], unit["human_summary"], unit["status"]) for unit in units if "content" in unit) == [
        ("the attic is open", "", "active"),
        ("the kitchen is open", "", "invalidated"),
        ("the lab is open", "newer 19", "active"),
        ("the shed is open", "", "active"),
    ]


def test_a_file_that_was_restored_before_all_was_sent_is_sent_again(
    fleet: Fleet, tmp_path: Path, small_batches: None
) -> None:
    url, path, backup = fleet.add("half"), tmp_path / "memory.db", tmp_path / "backup.db"
    with RobotMemory(path, embedding_model="") as memory:
        facts = [memory.learn(f"fact {number}").memory_id for number in range(10)]
        memory.backup(backup)
        memory.update(facts[0], human_summary="changed, and not sent yet")
        with closing(Push(memory, url)) as pusher:
            next(pusher.pieces())
        assert len(fleet.units("half")) == 8
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    shutil.copy(backup, path)
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("another fact")
        push(memory, url)
        assert fleet.units("half") == units_of(memory)


def test_two_robots_with_one_name_or_one_file_are_refused_and_named(
    fleet: Fleet, memory: RobotMemory, tmp_path: Path
) -> None:
    url = fleet.add("twin")
    memory.learn("the lab is open")
    push(memory, url)
    before = fleet.units("twin")
    with RobotMemory(tmp_path / "other.db", embedding_model="") as other:
        other.learn("the lab is closed")
        with pytest.raises(FleetError, match=r"robot 'twin' of the fleet is the file .* two robots have one name"):
            push(other, url)
        copy = fleet.add("copy")
        with pytest.raises(FleetError, match=r"another robot of the fleet already, and this is a copy of it; .*'copy'"):
            push(memory, copy)
        assert fleet.units("twin") == before
        assert fleet.units("copy") == {}
        # The disk was lost, and the robot has a new file. What is logged in still must not take the name again.
        lost = Push(memory, url)
        [*lost.pieces()]
        memory.learn("the hall is open")
        with closing(connect(fleet.url)) as connection:
            renew_robot(connection, "twin", tmp_path / "new.pass")
        for reason in ("terminating connection", "password authentication failed"):
            with pytest.raises(FleetError, match=reason):
                [*lost.pieces()]
        push(other, url.replace(url.partition("passfile=")[2], str(tmp_path / "new.pass")))
        assert fleet.units("twin") == before | units_of(other)


def test_two_copies_of_a_file_under_one_name_are_noticed(fleet: Fleet, memory: RobotMemory, tmp_path: Path) -> None:
    url = fleet.add("cloned")
    memory.learn("the lab is open")
    copy_path = memory.backup(tmp_path / "copy.db")
    push(memory, url)
    with RobotMemory(copy_path, embedding_model="") as copy:
        copy.learn("the hall is open")
        push(copy, url)
        memory.learn("the attic is open")
        before = fleet.everything()
        with pytest.raises(FleetError, match="two robots push copies of it under one name"):
            push(memory, url)
        assert fleet.everything() == before
        assert push(copy, url).backlog == 0


def test_vectors_of_one_model_have_one_length(fleet: Fleet, memory: RobotMemory) -> None:
    url = fleet.add("wrong")
    memory.learn("the lab is open")
    push(memory, url)
    with closing(connect(url)) as connection:
        for _ in range(2):
            for model, vector in (("x", "[1, 2]"), ("", "[1, 2, 3]")):
                with pytest.raises((psycopg.errors.ForeignKeyViolation, psycopg.errors.DataException)):
                    connection.execute("UPDATE robotmem.memories SET model = %s, embedding = %s", (model, vector))
            connection.execute("SELECT robotmem.add_model('x', 3)")
        with pytest.raises(psycopg.errors.RaiseException, match="model x have another length"):
            connection.execute("SELECT robotmem.add_model('x', 2)")
        connection.execute("UPDATE robotmem.memories SET model = 'x', embedding = '[1, 2, 3]'")


def test_vectors_have_an_index_once_all_were_sent(fleet: Fleet, tmp_path: Path) -> None:
    url = fleet.add("indexed")
    indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'robotmem' AND indexdef LIKE '%%hnsw%%'"
    with RobotMemory(tmp_path / "words.db", embedder=WordVectors()) as memory:
        for text in ("the lab is open", "the lift is slow"):
            memory.learn(text)
            memory.flush()
            push(memory, url)
            assert fleet.query(indexes) == [(1,)]


def test_what_is_purged_is_purged_in_the_fleet(fleet: Fleet, memory: RobotMemory) -> None:
    url = fleet.add("purging")
    memory.learn("the code of the safe is xylophone")
    push(memory, url)
    memory.learn_many([f"the xylophone is in room {number}" for number in range(50)])
    push(memory, url)
    fleet.query("ANALYZE")
    assert "xylophon" in fleet.everything()
    memory.purge(collection="default")
    memory.learn("the lab is open")
    push(memory, url)
    assert "xylophon" not in fleet.everything()
    assert b"xylophon" in raw_bytes(fleet)
    with closing(connect(fleet.url)) as connection:
        rebuild(connection)
    assert b"xylophon" not in raw_bytes(fleet)


def raw_bytes(fleet: Fleet) -> bytes:
    """Return the bytes of all tables and indexes."""
    fleet.query("CHECKPOINT")
    ((number,),) = fleet.query("SELECT oid FROM pg_database WHERE datname = current_database()")
    folder = fleet.server.folder / "data" / "base" / str(number)
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


def test_what_postgresql_refuses_is_stored_without_it(fleet: Fleet, memory: RobotMemory, tmp_path: Path) -> None:
    url = fleet.add("odd")
    memory.learn("the lab is open", context={"note": "x", "size": 1.5, "NaN \\\\u0000": "\\ud83d \U0001f600"})
    (row,) = memory.changes_since().rows  # type: ignore[union-attr]
    odd = {"a\0b": ["\0", "\ud83d"], "size": float("inf"), "NaN": "NaN"}
    batch = Batch(row["robot"], "00" * 8, 0, 1, ({**row, "content": "the \0lab", "context": odd},))
    push(memory, url)
    with closing(connect(fleet.url)) as connection:
        assert connection.execute("SELECT body -> 'context' FROM robotmem.memories").fetchone() == (row["context"],)
        fleet.query("DELETE FROM robotmem.memories")
        assert load(connection, [batch], "") == 1
        ((content, context),) = connection.execute("SELECT content, body -> 'context' FROM robotmem.memories")
    assert content == "the \ufffdlab"
    assert context == {"a\ufffdb": ["\ufffd", "?"], "size": None, "NaN": "NaN"}


def test_rows_of_others_and_malformed_rows_stop_no_robot(fleet: Fleet, memory: RobotMemory) -> None:
    url = fleet.add("calm")
    memory.learn("the lab is open")
    push(memory, url)
    body = '{"type": "?", "collection": "", "content": "", "status": "active", "observed_at": 0}'
    fleet.query(
        "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, body, words) "
        "SELECT id, gen_random_uuid(), 'zz', -1, %s, '' FROM robotmem.robots", body,
    )  # fmt: skip
    fleet.query("UPDATE robotmem.robots SET epoch = '0123456789abcdef', revision = 10 ^ 18, latest = -5")
    memory.learn("the lab is closed")
    push(memory, url)
    own, there = units_of(memory), fleet.units("calm")
    assert own == {uuid: there[uuid] for uuid in own}
