"""`robotmem import --from`: facts and perceptions of other memories."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import Memory, RobotMemory
from robotmem_ros.memory.clocks import utc


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def imported(db: Path, file: Path, kind: str, *more: str) -> int:
    return main(["import", str(file), "--from", kind, "--no-model", "--db", str(db), *more])


def memories(db: Path) -> list[Memory]:
    with RobotMemory(db, embedding_model="", session_maintenance=False) as memory:
        ids = sorted(entry.id for entry in memory.timeline(n=100, collection="*"))
        return [details.memory for details in memory.get_memories(ids)]


def lines(file: Path, rows: Iterable[object]) -> Path:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return file


TABLE = """\
Text,label,x,y,z,yaw,Timestamp,tags,room,force
"the gripper slips, on ""wet"" mugs",,,,,,2026-01-31T12:00,"grip, mugs",007,12.5
a red mug,mug,1.5,2,0.8,3.141592653589793,1764000000.25,red|cup,kitchen,
"""


def test_a_table_becomes_facts_and_objects_with_all_that_it_says(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts.csv").write_text(TABLE)
    assert imported(db, tmp_path / "facts.csv", "csv") == 0
    told = capsys.readouterr().out
    assert "imported: 2 memories\n" in told
    assert "Timestamp as observed_at" in told
    assert "kept in the context: room (2), force (1)" in told
    fact, mug = memories(db)
    assert (fact.kind.value, fact.content, fact.tags) == ("fact", 'the gripper slips, on "wet" mugs', ("grip", "mugs"))
    assert fact.observed_datetime.isoformat() == "2026-01-31T12:00:00+00:00"
    assert (fact.context["room"], fact.context["force"], fact.source) == ("007", 12.5, "import")
    assert (mug.label, mug.times_seen, mug.tags, mug.observed_at) == (
        "mug",
        1,
        ("cup", "red"),
        1_764_000_000_250_000_000,
    )
    assert mug.pose is not None
    assert mug.pose[:3] == (1.5, 2.0, 0.8)
    assert mug.pose[5:] == pytest.approx((1.0, 0.0), abs=1e-9)


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_tables_of_spreadsheets_are_read_as_well(db: Path, tmp_path: Path, change: Any) -> None:
    text = TABLE.replace("slips, on", "slips on").replace('"grip, mugs"', "grip|mugs").replace(",", ";")
    (tmp_path / "facts.csv").write_text(change(text), encoding="utf-8", newline="")
    assert imported(db, tmp_path / "facts.csv", "csv") == 0
    assert [memory.tags for memory in memories(db)] == [("grip", "mugs"), ("cup", "red")]


GRAPH: list[dict[str, Any]] = [
    {
        "type": "entity", "name": "John_Smith", "entityType": "person",
        "observations": ["Speaks Spanish", "John Smith sings"],
    },
    {"type": "entity", "name": "Dock_A", "entityType": "charger", "observations": [], "_branch": "main"},
    {"type": "relation", "from": "John_Smith", "to": "Dock_A", "relationType": "maintains"},
]  # fmt: skip


@pytest.mark.parametrize("is_one_document", [False, True])
def test_a_graph_becomes_a_fact_for_each_observation_relation_and_bare_entity(
    db: Path, tmp_path: Path, *, is_one_document: bool
) -> None:
    file = lines(tmp_path / "memory.jsonl", GRAPH)
    if is_one_document:
        bare = [{name: value for name, value in item.items() if name != "type"} for item in GRAPH]
        file.write_text(json.dumps({"entities": bare[:2], "relations": bare[2:]}, indent=2))
    assert imported(db, file, "mcp") == 0
    spanish, sings, dock, relation = memories(db)
    assert [spanish.content, sings.content] == ["John Smith: Speaks Spanish", "John Smith sings"]
    assert (spanish.scope_entities, spanish.context["entity"]) == (
        ("John_Smith",),
        {"name": "John_Smith", "type": "person"},
    )
    assert (dock.content, dock.context["_branch"]) == ("Dock A: charger", "main")
    assert (relation.content, {*relation.scope_entities}) == ("John Smith maintains Dock A", {"John_Smith", "Dock_A"})
    assert relation.context["relation"] == {"from": "John_Smith", "type": "maintains", "to": "Dock_A"}


def test_a_second_import_stores_only_what_came_to_the_file(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts.csv").write_text(TABLE)
    file = lines(tmp_path / "memory.jsonl", GRAPH)
    for _ in range(2):
        assert imported(db, tmp_path / "facts.csv", "csv") == 0
        assert imported(db, file, "mcp") == 0
    assert "imported: 0 memories, 4 were imported before" in capsys.readouterr().out
    before = memories(db)
    with RobotMemory(db, embedding_model="") as memory:
        memory.forget(before[0].id, "wrong")
    GRAPH[1]["observations"].append("is in the kitchen")
    try:
        assert imported(db, lines(tmp_path / "copy.jsonl", GRAPH), "mcp") == 0
    finally:
        GRAPH[1]["observations"].clear()
    assert imported(db, tmp_path / "facts.csv", "csv") == 0
    assert [memory.content for memory in memories(db)] == [
        *(memory.content for memory in before[1:]), "Dock A: is in the kitchen",
    ]  # fmt: skip
    assert imported(db, file, "mcp", "--collection", "kitchen") == 0
    assert [memory.collection for memory in memories(db)].count("kitchen") == 4


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (1_764_000_000, 1_764_000_000_000_000_000),
        ("1764000000.123456789", 1_764_000_000_123_456_789),
        (1_764_000_000_123, 1_764_000_000_123_000_000),
        (1_764_000_000_123_456_789, 1_764_000_000_123_456_789),
        ({"sec": 1_764_000_000, "nanosec": 5}, 1_764_000_000_000_000_005),
        ("2025-11-24 16:00:00Z", 1_764_000_000_000_000_000),
        ("2025-11-24T17:00:00+01:00", 1_764_000_000_000_000_000),
    ],
)  # fmt: skip
def test_times_are_read_in_the_units_that_programs_write(
    db: Path, tmp_path: Path, stamp: object, expected: int
) -> None:
    assert imported(db, lines(tmp_path / "a.jsonl", [{"memory": "a fact", "created_at": stamp}]), "jsonl") == 0
    (fact,) = memories(db)
    assert fact.observed_datetime == utc(expected)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"position": [1, 2, 3], "theta": math.pi}, (1, 2, 3, 0, 0, 1, 0)),
        ({"position": [1, 2]}, (1, 2, 0, 0, 0, 0, 1)),
        ({"position": "1, 2, 3"}, (1, 2, 3, 0, 0, 0, 1)),
        (
            {"pose": {"position": {"x": 1, "y": 2, "z": 3}, "orientation": {"x": 0, "y": 0, "z": 1, "w": 0}}},
            (1, 2, 3, 0, 0, 1, 0),
        ),
        ({"pose": {"header": {}, "pose": {"position": {"x": 1, "y": 2}}}}, (1, 2, 0, 0, 0, 0, 1)),
        ({"positionX": 1, "positionY": 2, "qz": 1, "qw": 0}, (1, 2, 0, 0, 0, 1, 0)),
    ],
)  # fmt: skip
def test_places_are_read_as_programs_and_messages_have_them(
    db: Path, tmp_path: Path, place: dict[str, object], expected: tuple[float, ...]
) -> None:
    assert imported(db, lines(tmp_path / "a.jsonl", [{"caption": "a corridor", **place}]), "jsonl") == 0
    (corridor,) = memories(db)
    assert corridor.pose == pytest.approx(expected, abs=1e-9)
    assert corridor.context_json == "{}"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "'{' is no JSON (Expecting property name"),
        ("5", "5 must be a JSON object, or a text"),
        ('{"room": "kitchen"}', "text: None is missing; its key is one of text, content"),
        ('{"text": "!!"}', "text: '!!' has no letter and no digit"),
        ('{"insight": 5}', "insight: 5 must be"),
        ('{"text": "a", "X": 1}', "y: None is missing; a place has x and y"),
        ('{"text": "a", "x": "here", "y": 1}', "x: 'here' must be a number"),
        ('{"text": "a", "position": ["a", 1, 2]}', "position[0]: 'a' must be a number"),
        ('{"text": "a", "createdAt": "31.01.2026"}', "createdAt: '31.01.2026' is no time"),
        ('{"text": "a", "certainty": "80 %"}', "certainty: '80 %' must be a number"),
        ('{"text": "a", "confidence": 7}', "confidence: 7.0 must lie in 0 to 1"),
        ('{"text": "a", "keywords": [5]}', "keywords"),
        ('{"label": "mug", "x": 1, "y": 2, "tags": {"a": 1}}', "tags"),
        ('{"text": "a", "metadata": {"a": NaN}}', "metadata: {'a': nan} cannot be written as JSON"),
        ('{"text": "a", "room": NaN, "b": Infinity}', "b"),
        *((f'{{"text": "a", "b": {"[" * depth}{"]" * depth}}}', "") for depth in (70, 900, 100_000)),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_named_and_the_rest_is_imported(
    db: Path, tmp_path: Path, row: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text(f'{{"text": "before"}}\n\n{row}\n"after"\n')
    assert imported(db, file, "jsonl") == 1
    told = capsys.readouterr()
    assert f"line 3 of {file}" in told.err
    assert words in told.err
    assert "not understood: 1" in told.out
    assert [memory.content for memory in memories(db)] == ["before", "after"]
    file.write_text('{"text": "before"}\n\n"mended"\n"after"\n')
    assert imported(db, file, "jsonl") == 0
    assert [memory.content for memory in memories(db)] == ["before", "after", "mended"]


def test_a_row_with_more_cells_than_the_head_and_a_broken_quote_are_named(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "facts.csv"
    file.write_text("text,room\none\ntwo, and more,hall,1\n\nthree,hall\n")
    assert imported(db, file, "csv") == 1
    assert f"line 3 of {file}: 'two, and more,hall,1' has 4 cells, and the head has 2" in capsys.readouterr().err
    assert [memory.content for memory in memories(db)] == ["one", "three"]
    file.write_text('text,room\nfour,hall\n"five,hall\nsix,hall\n')
    assert imported(db, file, "csv") == 1
    assert f"line 3 of {file}: '\"five,hall' is no CSV (unexpected end of data)" in capsys.readouterr().err
    assert [memory.content for memory in memories(db)] == ["one", "three", "four"]


def test_columns_of_the_same_name_do_not_hide_each_other(db: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("text,room,room,text\na,hall,kitchen,b\n")
    assert imported(db, tmp_path / "facts.csv", "csv") == 0
    (fact,) = memories(db)
    assert (fact.content, fact.context) == ("a", {"room": "hall", "room (3)": "kitchen", "text (4)": "b"})


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"type": "codegraph", "name": "a"}, "type: 'codegraph' must be entity or relation"),
        ({"type": "entity", "name": 5}, "name: 5 must be the name of the entity"),
        ({"type": "entity", "name": "a", "observations": "text"}, "observations: 'text' must be a list"),
        ({"type": "entity", "name": "a", "observations": [{"content": 5}]}, "observations[0], content: 5 must be"),
        ({"type": "relation", "from": "a", "to": "b"}, "relationType: None must be a name"),
    ],
)  # fmt: skip
def test_an_item_that_no_graph_has_is_named(
    db: Path, tmp_path: Path, item: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lines(tmp_path / "memory.jsonl", [*GRAPH, item])
    assert imported(db, file, "mcp") == 1
    assert f"line 4 of {file}, {words}" in capsys.readouterr().err
    assert len(memories(db)) == 4


def test_keys_that_collide_are_all_kept(db: Path, tmp_path: Path) -> None:
    row = {"text": "a", "content": "b", "metadata": {"id": 1}, "id": 2, "embedding": [0.1], "summary": "s" * 300}
    assert imported(db, lines(tmp_path / "a.jsonl", [row]), "jsonl") == 0
    (fact,) = memories(db)
    assert fact.content == "a"
    assert fact.context == {"metadata": {"id": 1}, "id": 2, "content": "b", "summary": "s" * 300}


def test_lists_in_a_document_compressed_files_and_keys_that_the_caller_names_are_read(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"results": [{"Notiz": "der Greifer rutscht", "kind": "fact", "x": 1}], "count": 1}
    file = tmp_path / "export.json.gz"
    file.write_bytes(gzip.compress(json.dumps(document, indent=1).encode()))
    assert imported(db, file, "jsonl", "--key", "Notiz=text") == 1
    assert f"count of {file}: 1 is no list of memories" in capsys.readouterr().err
    (fact,) = memories(db)
    assert (fact.content, fact.context) == ("der Greifer rutscht", {"x": 1})
    with pytest.raises(SystemExit):
        imported(db, file, "jsonl", "--key", "Notiz=txet")
    assert "'Notiz=txet' is no KEY=FIELD; did you mean 'text'?" in capsys.readouterr().err


def test_a_file_without_any_memory_makes_no_database(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").write_text("")
    assert imported(db, tmp_path / "empty", "csv") == 0
    (tmp_path / "graph").write_text('{"type": "codegraph"}\n')
    assert imported(db, tmp_path / "graph", "mcp") == 1
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert imported(db, tmp_path / "binary", "jsonl") == 1
    assert "is no UTF-8 text" in capsys.readouterr().err
    assert main(["import", str(lines(tmp_path / "facts.jsonl", ["a"])), "--db", str(db)]) == 1
    assert "what other memories wrote is imported with --from" in capsys.readouterr().err
    assert not db.exists()


PLACES = """\
Name,x,y,yaw,floor
charger,1.0,2.0,1.5707963267948966,wood
7th bay,4,5,,
,1,2,3,
ramp,,,,
"""
WAYPOINTS = """\
waypoints:
  waypoint0:
    pose:
      - 1.5
      - 2
      - 0
    orientation:
      - 0.6
      - 0
      - 0
      - 0.8
  dock: {x: 1, y: 2, theta: 3.141592653589793}
  lift: {position: {x: 3, y: 4, z: 0}, orientation: {x: 0, y: 0, z: 1, w: 0}}
  hall: [1, 2, 3]
"""


def test_a_file_of_places_becomes_named_places(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "places.csv").write_text(PLACES)
    (tmp_path / "places.yaml").write_text(WAYPOINTS)
    assert [imported(db, tmp_path / name, "places") for name in ("places.csv", "places.yaml", "places.csv")] == [1] * 3
    told = capsys.readouterr()
    assert "imported: 0 memories, 2 were imported before\n" in told.out
    assert f"line 4 of {tmp_path}/places.csv, name: None is missing; a place has a name\n" in told.err
    assert f"line 5 of {tmp_path}/places.csv, pose: None is missing; a place has a name and a pose\n" in told.err
    assert f"hall of {tmp_path}/places.yaml: [1, 2, 3] must be a mapping, such as {{x: 1.0" in told.err
    found = {memory.label: memory for memory in memories(db)}
    assert {memory.perception_type for memory in found.values()} == {"place"}
    half = math.sqrt(0.5)
    assert {name: memory.pose for name, memory in found.items()} == {
        "charger": pytest.approx((1.0, 2.0, 0.0, 0.0, 0.0, half, half)),
        "7th bay": pytest.approx((4.0, 5.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
        "waypoint0": pytest.approx((1.5, 2.0, 0.0, 0.0, 0.0, 0.8, 0.6)),
        "dock": pytest.approx((1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
        "lift": pytest.approx((3.0, 4.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
    }
    assert found["charger"].context["floor"] == "wood"


def test_a_file_of_places_that_is_none_is_told(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "places.yaml").write_text("waypoints: [")
    assert imported(db, tmp_path / "places.yaml", "places") == 1
    assert capsys.readouterr().err.startswith(f"robotmem: file: '{tmp_path}/places.yaml' cannot be read: while parsing")
    assert not db.exists()
