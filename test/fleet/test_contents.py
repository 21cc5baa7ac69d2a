"""What can be asked of a fleet: words, vectors, files that were loaded; and its command."""

from __future__ import annotations

import json
import shlex
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet.batches import words_of
from robotmem_ros.fleet.connection import open_database
from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage import feed
from robotmem_ros.memory.text.tokens import query_words

from ..support.docs import BLOCKS
from ..support.forks import output_of
from ..support.postgres import Server
from ..support.subprocesses import without
from .conftest import Fleet, push, units_of

TEXTS = (
    "hold the glass with 5 N",
    "厨房里的红色杯子",
    "the mugs are in the kitchen",
    "l'eau est froide",
    "a\\b 'c' \"d\" %s",
)


def test_words_are_those_of_the_robots_own_index(fleet: Fleet, memory: RobotMemory) -> None:
    url = fleet.add("words")
    for text in TEXTS:
        memory.learn(text)
    push(memory, url)
    for query in ("mug", "红色", "杯子", "eau", "glass 5"):
        words = query_words(query)
        hits = {hit.memory.content for hit in memory.recall(query, n=10)}
        tokens = " & ".join(f"'{word}'" for word in words)
        rows = fleet.query("SELECT content FROM robotmem.memories WHERE words @@ %s::text::tsquery", tokens)
        assert hits
        assert {content for (content,) in rows} <= hits
        assert rows


def test_a_label_alone_is_found_in_the_languages_of_the_fleet(fleet: Fleet, tmp_path: Path) -> None:
    url = fleet.add("labels")
    with open_memory(tmp_path / "labels.db", fleet_url=url, embedding_model="") as memory:
        memory.save_perception("De robot is in de hal en wacht op het signaal van de lift")
        flessen = memory.save_perception("flessen", label="flessen").memory_id
        memory.flush()
        push(memory, url)
        for scope in ("robot", "fleet"):
            assert [hit.id for hit in memory.recall("fles", scope=scope, deadline=30)] == [flessen], scope


def test_the_words_of_a_long_text_fit(fleet: Fleet) -> None:
    row = dict.fromkeys(("human_summary", "scope_files", "scope_entities", "label"), "")
    for content in ("x" * 100_000, " ".join(map(str, range(100_000))), "长" * 60_000, "\\' " * 30_000):
        fleet.query("SELECT %s::text::tsvector", words_of({**row, "content": content}))


def test_vectors_follow_their_texts(fleet: Fleet, tmp_path: Path) -> None:
    url = fleet.add("vectors")
    with RobotMemory(tmp_path / "memory.db") as memory:
        for text in TEXTS[:3]:
            memory.learn(text)
        memory.flush()
        model = memory.status().model_of_vectors
        push(memory, url)
        assert same_vectors(fleet, memory, model) == 3
        (index,) = fleet.query("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%%hnsw%%' AND %s <> ''", "x")
        assert model in index[0]
        fact = memory.recall("glass")[0].id
        memory.update(fact, content="hold the bottle with 7 N")
        memory.flush()
        push(memory, url)
        assert same_vectors(fleet, memory, model) == 3


def same_vectors(fleet: Fleet, memory: RobotMemory, model: str) -> int:
    """Check that the fleet has the vectors of the file, and return how many."""
    sql = "SELECT uuid, embedding::real[], parts::text[] FROM robotmem.memories WHERE model = %s"
    rows = fleet.query(sql, model)
    with memory.parts.database.snapshot() as snapshot:
        vectors = feed.vectors_of(snapshot, [uuid.hex for uuid, *_ in rows])
    for uuid, components, parts in rows:
        # The model does not read Chinese.
        kept = [components, *map(json.loads, parts or ())] if components else []
        assert len(kept) == len(vectors[uuid.hex])
        for vector, of_part in zip(vectors[uuid.hex], kept, strict=True):
            assert of_part == pytest.approx(vector.tolist(), abs=1e-3)
    return len(rows)


def test_a_fleet_that_is_lost_is_loaded_from_exports(
    fleet: Fleet, postgres: object, memory: RobotMemory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, db, at = tmp_path / "exports", str(memory.path), ["--fleet-url", fleet.url]
    folder.mkdir()
    fleet.add("loaded")
    forgotten = memory.learn("the lab is open").memory_id
    purged = memory.learn("the hall is open").memory_id
    assert main(["export", str(folder / "1.jsonl"), "--db", db]) == 0
    memory.forget(forgotten, "a mistake")
    memory.purge(ids=[purged])
    memory.learn("the attic is open")
    assert main(["export", str(folder / "2.jsonl.gz"), "--db", db, "--since", str(folder / "1.jsonl")]) == 0
    capsys.readouterr()
    assert main(["fleet", "load", str(folder), *at]) == 1
    assert "is no robot of the fleet yet; name the robot by --robot NAME" in capsys.readouterr().err
    assert main(["fleet", "load", str(folder), "--robot", "loaded", *at]) == 0
    assert capsys.readouterr().out == "loaded: 4 memories from 2 files\n"
    assert fleet.units("loaded") == units_of(memory)
    before = fleet.everything()
    (folder / "1.jsonl").rename(folder / "3.jsonl")
    assert main(["fleet", "load", str(folder), *at]) == 0
    assert fleet.everything() == before
    assert main(["fleet", "rebuild", "--from", str(folder), *at]) == 0
    assert sorted(fleet.everything().split("\n")) == sorted(before.split("\n"))


def test_what_follows_from_the_bodies_is_computed_again(
    fleet: Fleet, memory: RobotMemory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--fleet-url", fleet.url]
    url = fleet.add("rebuilt")
    for text in TEXTS:
        memory.learn(text)
    memory.save_perception("a Mug", label="Mugs", pose=(1, 2, 0))
    push(memory, url)
    before = fleet.everything()
    fleet.query("UPDATE robotmem.memories SET words = 'x', label_key = 'x' WHERE content <> %s", TEXTS[0])
    fleet.query("DELETE FROM robotmem.words WHERE word <> ''")
    assert fleet.everything() != before
    assert main(["fleet", "rebuild", *at]) == 0
    assert capsys.readouterr().out == "rebuilt: words of 5 memories were others, and all indexes\n"
    assert sorted(fleet.everything().split("\n")) == sorted(before.split("\n"))
    body = '{"type": "?", "collection": "", "content": "", "status": "active", "observed_at": 0}'
    fleet.query(
        "INSERT INTO robotmem.memories (robot, uuid, epoch, revision, body, words) "
        "SELECT id, gen_random_uuid(), '', 0, %s, '' FROM robotmem.robots", body,
    )  # fmt: skip
    assert main(["fleet", "rebuild", *at]) == 0
    assert "words of 0 memories" in capsys.readouterr().out


def test_an_export_since_another_has_only_what_changed(
    memory: RobotMemory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db, first, second, new = str(memory.path), tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "new.db"
    memory.learn("the lab is open")
    assert main(["export", str(first), "--db", db]) == 0
    memory.learn("the attic is open")
    assert main(["export", str(second), "--db", db, "--since", str(first)]) == 0
    assert capsys.readouterr().out == "exported: 1 memories\nexported: 1 memories\n"
    for file in (first, second):
        assert main(["import", str(file), "--db", str(new)]) == 0
    with RobotMemory(new, embedding_model="") as copy:
        assert units_of(copy).keys() == units_of(memory).keys()
        copy.learn("the shed is open")
    capsys.readouterr()
    (tmp_path / "no.jsonl").write_text("{}\n")
    for since, why in ((tmp_path / "no.jsonl", "is no whole export"), (first, "is no part of the history")):
        assert main(["export", str(tmp_path / "3.jsonl"), "--db", str(new), "--since", str(since)]) == 1
        assert why in capsys.readouterr().err
    assert not (tmp_path / "3.jsonl").exists()


def test_the_command_says_what_is_missing(fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--fleet-url", fleet.url]
    for arguments, why in {
        ("status",): "name the fleet by --fleet-url, the variable ROBOTMEM_FLEET_URL or fleet_url in --config",
        ("robot", "remove", "x", *at): "'robot remove x' is none of: init, robot add NAME PASSWORD_FILE",
        ("robot", "renew", "nobody", str(tmp_path / "pass"), *at): "the fleet has no robot 'nobody'",
        ("load", str(tmp_path), *at): "has no files named *.jsonl or *.jsonl.gz",
        ("status", "--fleet-url", fleet.server.url("postgres")): "has no fleet yet; make it by `robotmem fleet init`",
        ("status", "--fleet-url", "postgresql://localhost:1/x"): "connection failed",
    }.items():
        assert main(["fleet", *arguments]) == 1
        assert why in capsys.readouterr().err
    assert main(["fleet", "status", *at]) == 0
    assert capsys.readouterr().out == "no robots\n"
    assert main(["fleet", "status", "--json", *at]) == 0
    assert json.loads(capsys.readouterr().out) == {"robots": []}


def test_the_commands_of_the_page_make_a_fleet(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(open_database(postgres.url("postgres"))) as connection:
        connection.execute("CREATE DATABASE of_the_page")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROBOTMEM_FLEET_URL", postgres.url("of_the_page"))
    blocks = [block for block in BLOCKS if (block.page, block.needs, block.kind) == ("fleet.md", "PostgreSQL", "sh")]
    for command in [command for block in blocks for command, _ in block.commands()][1:]:
        program, *arguments = shlex.split(command)
        assert (program, main(arguments)) == ("robotmem", 0)
    assert "kitchen1  never" in capsys.readouterr().out


def test_a_fleet_of_a_later_version_is_refused(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.query("INSERT INTO robotmem.migrations (n) VALUES (2)")
    assert main(["fleet", "status", "--fleet-url", fleet.url]) == 1
    assert "the fleet has version 2 and this program version 1; use a newer robotmem" in capsys.readouterr().err
    with closing(open_database(fleet.url)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_without_psycopg_the_command_names_it() -> None:
    code = "import sys; sys.stderr = sys.stdout\nfrom robotmem_ros.cli.main import main\nmain(['fleet', 'status'])"
    told = output_of(without("psycopg") + code)
    assert "fleet needs psycopg (pip install 'robotmem_ros[fleet]')" in told
