"""What goes up from a robot, and what is deleted in files of batches."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet.push import Push
from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.batch import opened_lines
from robotmem_ros.memory.config.parameters import Parameters

from .conftest import Fleet, push, units_of

IMAGE = b"\x89PNG" * 100


def fill(memory: RobotMemory) -> None:
    for collection in ("lab", "hall", "people", "people-at-home"):
        memory.learn(f"a fact of {collection}", collection=collection)
        memory.start_session(collection=collection)
        memory.save_perception(f"a sight of {collection}", collection=collection, data=IMAGE)


def sent(fleet: Fleet) -> set[str]:
    rows = fleet.query(
        "SELECT collection || '/' || type FROM robotmem.memories UNION ALL "
        "SELECT body ->> 'collection' || '/' || unit FROM robotmem.units"
    )
    return {part for (part,) in rows}


@pytest.mark.parametrize(
    ("collections", "parts"),
    [
        ("*", "lab/fact lab/perception lab/session hall/fact hall/perception hall/session"),
        ("lab, people/fact", "lab/fact lab/perception lab/session people/fact"),
        ("*/perception, !hall", "lab/perception"),
        ("*, !*/perception", "lab/fact lab/session hall/fact hall/session"),
        ("", ""),
    ],
)
def test_what_is_named_goes_up_and_people_stay_unless_they_are_named(
    fleet: Fleet, memory: RobotMemory, collections: str, parts: str
) -> None:
    fill(memory)
    url = fleet.add("some")
    memory.parameters = memory.parameters.changed(fleet_collections=collections)
    assert push(memory, url).backlog == 0
    assert sent(fleet) == {*parts.split()}
    fleet.query("UPDATE robotmem.robots SET epoch = '', revision = 0")
    push(memory, url)
    assert sent(fleet) == {*parts.split()}
    shown = fleet.everything()
    assert ("people" in shown) == ("people" in collections)
    assert "a fact of people-at-home" not in shown


def test_another_policy_takes_back_and_sends_the_rest(
    fleet: Fleet, memory: RobotMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(memory)
    url = fleet.add("changing")
    for collections, parts in (
        ("lab", "lab/fact lab/perception lab/session"),
        ("hall/fact, people/fact", "hall/fact people/fact"),
    ):
        memory.parameters = memory.parameters.changed(fleet_collections=collections)
        push(memory, url)
        assert sent(fleet) == {*parts.split()}
    # A command without the parameters of the node sends what the node does.
    memory.learn("another fact", collection="lab")
    memory.learn("another fact", collection="hall")
    assert main(["fleet", "push", "--fleet-url", url, "--db", str(memory.path)]) == 0
    assert capsys.readouterr().out.startswith("pushed: 1 memories")
    assert sent(fleet) == {"hall/fact", "people/fact"}


def test_areas_follow_their_file_unless_nothing_is_sent(fleet: Fleet, tmp_path: Path) -> None:
    url, file = fleet.add("areas"), tmp_path / "areas.yaml"
    bodies = []
    for x, collections in ((4, "*"), (6, "*"), (6, "")):
        file.write_text(f"areas: {{lab: [[0, 0], [{x}, 0], [{x}, 4]]}}")
        options: dict[str, Any] = {"areas_file": str(file), "map_id": "house", "fleet_collections": collections}
        with RobotMemory(tmp_path / "memory.db", embedding_model="", **options) as memory:
            memory.flush()
            push(memory, url)
            bodies += [fleet.query("SELECT body -> 'map_id', body -> 'polygons' FROM robotmem.units")]
    assert bodies == [
        [("house", {"lab": [[0, 0], [4, 0], [4, 4]]})], [("house", {"lab": [[0, 0], [6, 0], [6, 4]]})], [],
    ]  # fmt: skip


def test_a_command_sends_what_the_file_of_parameters_says(fleet: Fleet, memory: RobotMemory, tmp_path: Path) -> None:
    fill(memory)
    config = tmp_path / "memory.yaml"
    config.write_text("memory:\n  ros__parameters:\n    fleet_collections: lab/fact\n")
    assert (
        main(["fleet", "push", "--fleet-url", fleet.add("file"), "--db", str(memory.path), "--config", str(config)])
        == 0
    )
    assert sent(fleet) == {"lab/fact"}


def test_raw_data_go_up_to_their_size(fleet: Fleet, memory: RobotMemory) -> None:
    fill(memory)
    url = fleet.add("seeing")
    push(memory, url)
    assert fleet.query("SELECT count(data) FROM robotmem.memories") == [(0,)]
    memory.parameters = memory.parameters.changed(fleet_max_data=len(IMAGE))
    with closing(Push(memory, url)) as pusher:
        memory.save_perception("a small image", data=IMAGE)
        memory.save_perception("a large image", data=IMAGE + b"x")
        [*pusher.pieces()]
    rows = fleet.query(
        "SELECT content, data, body ? 'perception_data' FROM robotmem.memories WHERE content LIKE '%image'"
    )
    assert sorted(rows) == [("a large image", None, False), ("a small image", IMAGE, False)]


@pytest.mark.parametrize("text", ["lab,,hall", "!", "la*b", "*/ ,"])
def test_a_policy_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidFieldError, match="fleet_collections"):
        Parameters(fleet_collections=text)


def test_exports_are_written_again_without_what_was_deleted(
    fleet: Fleet, memory: RobotMemory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, db, at = tmp_path / "exports", str(memory.path), ["--fleet-url", fleet.url]
    folder.mkdir()
    url = fleet.add("cleaned")
    ids = [memory.learn(f"the code of the {name} is xylophone").memory_id for name in ("lab", "hall", "attic")]
    for name in ("1.jsonl", "2.jsonl.gz"):
        assert main(["export", str(folder / name), "--db", db]) == 0
    push(memory, url)
    memory.purge(ids=ids[:2])
    memory.learn("the shed is open")
    assert main(["export", str(folder / "3.jsonl"), "--db", db, "--since", str(folder / "1.jsonl")]) == 0
    push(memory, url)
    capsys.readouterr()
    for removed in (4, 0):
        assert main(["fleet", "clean", str(folder), *at]) == 0
        assert capsys.readouterr().out == f"cleaned: {removed} units that were deleted, from 3 files\n"
    for file in folder.iterdir():
        with opened_lines(file) as lines:
            assert "hall" not in "".join(lines)
    before = fleet.everything()
    assert main(["fleet", "load", str(folder), *at]) == 0
    assert fleet.everything() == before
    with RobotMemory(tmp_path / "copy.db", embedding_model=""):
        pass
    for name in ("1.jsonl", "3.jsonl"):
        assert main(["import", str(folder / name), "--db", str(tmp_path / "copy.db")]) == 0
    with RobotMemory(tmp_path / "copy.db", embedding_model="") as copy:
        assert {unit["content"] for unit in units_of(copy).values()} == {
            "the code of the attic is xylophone", "the shed is open",
        }  # fmt: skip
    (folder / "4.jsonl").write_text("{")
    assert main(["fleet", "clean", str(folder), *at]) == 1
    assert "was not written by `robotmem export`" in capsys.readouterr().err
    assert sorted(file.name for file in folder.iterdir()) == ["1.jsonl", "2.jsonl.gz", "3.jsonl", "4.jsonl"]
