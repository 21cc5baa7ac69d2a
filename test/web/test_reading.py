"""What the console tells of a memory is what the memory tells."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.doctor import CHECKS
from robotmem_ros.memory.maps import Move, OccupancyGrid, Origin, PathPart

from ..support.intake import DROPPED, report
from ..support.web import NOW, SCRIPT, SECOND, client_of, png


def get(client: httpx.Client, path: str, status: int = 200, **parameters: object) -> dict[str, object]:
    response = client.get(path, params=parameters)  # type: ignore[arg-type]
    assert response.status_code == status, response.text
    found: dict[str, object] = response.json()
    return found


def test_status_and_stats_tell_how_the_memory_is(client: httpx.Client) -> None:
    status = get(client, "/api/status")
    assert (status["facts"], status["perceptions"], status["memories"], status["read_only"]) == (5, 6, 11, False)
    assert status["mode"] == "bm25_only"
    assert "embedding_model" in str(status["reason"])
    assert int(str(status["last_written_at"])) <= int(str(status["answered_at"]))
    assert (status["needs_token"], int(str(status["free_bytes"])) > 0) == (False, True)
    stats = get(client, "/api/stats")
    assert stats["memories"] == 11
    assert {"value": "visitors", "memories": 1} in list(stats["collections"])  # type: ignore[call-overload]


def test_status_tells_what_nodes_reported_of_their_intake(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with RobotMemory(db, embedding_model="") as memory, client_of(db) as client:
        assert client.get("/api/status").json()["intake"] == {"reports": [], "is_seen": False, "trouble": ""}
        memory.store_intake("a", report(3.0)).result()
        intake = client.get("/api/status").json()["intake"]
        (told,) = intake["reports"]
        assert (intake["is_seen"], intake["trouble"]) == (True, f"/detections: {DROPPED}")
        assert (told["node"], told["state"], told["is_current"], told["age"] >= 3.0) == (
            "/memory",
            "active",
            True,
            True,
        )
        detections, tf = told["topics"]
        assert (detections["received"], detections["stored"], detections["drops"]) == (85, 5, {"unknown_frame": 80})
        assert (tf["role"], tf["last_received_at"], tf["problem"]) == ("transforms", None, "")
        (finding,) = (one for one in client.get("/api/doctor").json()["findings"] if one["name"] == "intake")
        assert finding["severity"] == "warn"


def test_the_doctor_has_a_finding_for_each_check(client: httpx.Client) -> None:
    told = client.get("/api/doctor").json()
    assert [finding["name"] for finding in told["findings"]] == [check.name for check in CHECKS]
    assert {finding["severity"] for finding in told["findings"]} <= {"ok", "warn"}
    indexes = next(finding for finding in told["findings"] if finding["name"] == "indexes")
    assert (indexes["severity"], indexes["remedy"]) == ("ok", "")


def test_memories_come_by_time_and_page_by_page(client: httpx.Client) -> None:
    ids, cursor = [], ""
    while True:
        page = client.get("/api/memories", params={"n": 4, "cursor": cursor}).json()
        ids += [one["id"] for one in page["memories"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert sorted(ids) == list(range(1, 12))
    mugs = client.get("/api/memories", params={"labels": "mug", "oldest_first": True}).json()["memories"]
    assert [one["snippet"] for one in mugs] == [f"a red mug on shelf {number}" for number in (4, 3, 2, 1, 0)]
    assert mugs[0]["observed_at"] == str(NOW - 4 * SECOND)
    assert mugs[0]["position"] == [16.0, 1.0, 0.8]
    assert mugs[0]["orientation"] == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"type": "fact"}, 5),
        ({"kind": "perception"}, 6),
        ({"category": "postmortem"}, 1),
        ({"collection": "visitors"}, 1),
        ({"days": 0.01}, 0),
        ({"days": 100_000}, 11),
        ({"confidence": 1.0}, 0),
        ({"kinds": ["fact", "perceptions"]}, 11),
        ({"type": "facts", "kinds": "perception"}, 11),
    ],
)
def test_memories_take_the_conditions_of_a_timeline_and_short_names(
    client: httpx.Client, query: dict[str, object], count: int
) -> None:
    assert len(client.get("/api/memories", params=query).json()["memories"]) == count  # type: ignore[arg-type]


def test_a_search_finds_what_a_recall_finds_and_explains_it(client: httpx.Client, shared_db: tuple[Path, str]) -> None:
    with RobotMemory(shared_db[0], embedding_model="", read_only=True) as memory:
        wanted = [one.id for one in memory.recall("red mug on shelf 3", collection="*")]
    found = client.get("/api/search", params={"q": "red mug on shelf 3", "explain": True}).json()
    assert [one["id"] for one in found["memories"]] == wanted
    assert found["mode"] == "bm25_only"
    first = found["memories"][0]
    assert first["content"] == "a red mug on shelf 3"
    assert first["explanation"]["parts"]
    assert (first["similarity"], first["distance"]) == (None, None)


def test_a_search_by_distance_takes_json_and_a_brief_one_marks_the_words(client: httpx.Client) -> None:
    target = json.dumps({"target": [9.0, 1.0, 0.8]})
    found = client.get("/api/search", params={"q": "mug", "spatial_sort": target, "brief": True, "n": 1}).json()
    (one,) = found["memories"]
    assert one["snippet"] == "a red **mug** on shelf 2"
    assert one["distance"] == pytest.approx(1.0)


def test_a_search_gives_a_text_once_with_its_count(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.save_many({"description": "a green cup", "pose": [x, 0.0, 0.0]} for x in (1.0, 3.0, 5.0))
    with client_of(tmp_path / "memory.db") as client:
        for brief in (False, True):
            (cup,) = client.get("/api/search", params={"q": "cup", "brief": brief}).json()["memories"]
            assert (cup["id"], cup["folded_count"]) == (3, 2)
        assert len(client.get("/api/search", params={"q": "cup", "fold": False}).json()["memories"]) == 3


def test_browsing_does_not_count_as_use_and_a_search_does(db: Path) -> None:
    def counted() -> int:
        with (
            RobotMemory(db, embedding_model="", read_only=True) as memory,
            memory.parts.database.snapshot() as snapshot,
        ):
            return int(snapshot.row("SELECT sum(access_count) FROM memories")[0])

    with client_of(db) as client:
        for path in ("memories", "memory/6", "objects", "objects/6", "stats", "recent-failures"):
            assert client.get(f"/api/{path}").status_code == 200
    assert counted() == 0
    with client_of(db) as client:
        assert len(client.get("/api/search", params={"q": "mug", "n": 3}).json()["memories"]) == 3
        assert client.get("/api/search", params={"q": "zeppelin"}).json()["memories"] == []
    assert counted() == 3
    with client_of(db) as client:
        told = client.get("/api/recalls").json()
        assert [(entry["caller"], entry["hits"]) for entry in told["recalls"]] == [("console", 0), ("console", 3)]
        assert [(entry["query"], len(entry["digest"])) for entry in told["recalls"]] == [("", 16), ("", 16)]
        assert all(int(entry["recalled_at"]) > 0 and entry["milliseconds"] > 0 for entry in told["recalls"])
        used = told["most_used"][0]
        details = client.get(f"/api/memory/{used['id']}").json()
        assert (details["access_count"], details["return_count"]) == (used["access_count"], used["return_count"])
        assert details["last_accessed"] == used["last_accessed"]


def test_a_memory_in_full_has_its_sightings_and_its_image(client: httpx.Client) -> None:
    told = client.get("/api/memory/6").json()
    assert told["memory"]["content"] == "a red mug on shelf 0"
    assert (told["status"], len(told["sightings"]), told["history"]) == ("active", 1, [])
    assert told["data"] == {
        "perception_type": "visual", "bytes": len(png()), "data_format": "png", "metadata": {"format": "png"},
        "image": "/api/memory/6/image",
    }  # fmt: skip
    image = client.get(told["data"]["image"])
    assert (image.content, image.headers["content-type"]) == (png(), "image/png")
    assert image.headers["x-content-type-options"] == "nosniff"


def test_what_only_says_that_it_is_an_image_is_not_served_as_one(client: httpx.Client) -> None:
    assert client.get("/api/memory/7").json()["data"]["image"] is None
    assert "has no image" in str(get(client, "/api/memory/7/image", 404)["error"])
    assert "is the id of no memory" in str(get(client, "/api/memory/99", 404)["error"])


def test_the_id_of_an_object_that_became_a_part_of_another_one_names_that(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with RobotMemory(db, embedding_model="") as memory:
        old_id, new_id = (memory.save_perception("a mug", label="mug", pose=(x, 0.0, 0.0)).memory_id for x in (0, 5))
        memory.update(old_id, pose=(5.0, 0.0, 0.0))
        memory.save_perception("a mug", label="mug", pose=(5.0, 0.0, 0.0))
        old_id, new_id = (old_id, new_id) if memory.explain(old_id).reason else (new_id, old_id)
        with client_of(db) as client:
            for path in (f"/api/objects/{old_id}", f"/api/memory/{old_id}/image"):
                assert f"the same object, replaced by {new_id}" in str(get(client, path, 404)["error"])


def test_objects_have_their_sightings(client: httpx.Client) -> None:
    objects = client.get("/api/objects", params={"limit": 2}).json()["objects"]
    assert [one["id"] for one in objects] == [6, 7]
    assert objects[0] == {
        "id": 6, "label": "mug", "position": [0.0, 1.0, 0.8], "confidence": objects[0]["confidence"],
        "frame_id": "map", "first_seen": str(NOW), "last_seen": str(NOW), "times_seen": 1, "confirmed": True,
        "presence": 0.5,  # nobody has looked for long
        "uncertainty": objects[0]["uncertainty"], "collection": "default", "map_id": "", "fleet_robot": "",
        "size": None, "orientation": [0.0, 0.0, 0.0, 1.0],
    }  # fmt: skip
    assert 0.0 < objects[0]["uncertainty"] < 1.0
    told = client.get("/api/objects/6").json()
    assert told["description"] == "a red mug on shelf 0"
    assert told["sightings"][0]["observed_at"] == str(NOW)
    assert "is the id of no object" in str(get(client, "/api/objects/1", 404)["error"])


def test_sessions_come_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        started = [memory.start_session(f"patrol {n}", "ab"[n % 2]).session_id for n in range(5)]
        assert [session.session_id for session in memory.sessions.latest(n=2, cursor=started[2])] == [
            started[1],
            started[0],
        ]
    with client_of(path) as client:
        pages, cursor = [], None
        while cursor != "":
            page = client.get("/api/sessions", params={"n": 2, "cursor": cursor or ""}).json()
            pages.append([session["session_id"] for session in page["sessions"]])
            cursor = page["cursor"]
        latest = started[::-1]
        assert pages == [latest[:2], latest[2:4], latest[4:]]
        of_one = client.get("/api/sessions", params={"n": 2, "collection": "a"}).json()
        ids = [session["session_id"] for session in of_one["sessions"]]
        assert (ids, of_one["cursor"]) == ([started[4], started[2]], started[2])
        refused = client.get("/api/sessions", params={"cursor": "nothing"})
        assert (refused.status_code, refused.json()["field"]) == (400, "cursor")


def test_sessions_and_their_memories_and_failures(client: httpx.Client, shared_db: tuple[Path, str]) -> None:
    (session,) = client.get("/api/sessions").json()["sessions"]
    assert (session["session_id"], session["outcome"], session["is_open"]) == (shared_db[1], 0.2, False)
    memories = client.get(f"/api/sessions/{shared_db[1]}/memories").json()["memories"]
    assert len(memories) == 10
    failures = client.get("/api/recent-failures").json()
    assert [one["id"] for one in failures["memories"]] == [1]
    assert [one["session_id"] for one in failures["sessions"]] == [shared_db[1]]


def test_problems_are_facts_of_failures_and_whatever_says_that_it_failed(tmp_path: Path) -> None:
    db, failed = tmp_path / "memory.db", {"task": {"success": False}}
    with RobotMemory(db, embedding_model="") as memory:
        memory.learn("the drawer was locked", category="gotcha", observed_at=NOW)
        memory.save_perception("the glass slipped", context=failed, observed_at=NOW + SECOND)
        memory.save_perception("the glass held", context={"task": {"success": True}}, observed_at=NOW + 2 * SECOND)
        memory.save_perception(
            "a mug on the floor", label="mug", pose=(1, 2, 0), confidence=0.2, context=failed,
            observed_at=NOW + 3 * SECOND, collection="lab",
        )  # fmt: skip
        memory.learn("too little force", failed, category="postmortem", observed_at=NOW + 4 * SECOND)
        for _ in range(2):
            memory.save_perception("the glass slipped", context=failed, observed_at=NOW - SECOND)
    with client_of(db) as client:
        found = client.get("/api/recent-failures").json()["memories"]
        assert [one["snippet"] for one in found] == [
            "too little force", "a mug on the floor", "the glass slipped", "the drawer was locked",
            "the glass slipped", "the glass slipped",
        ]  # fmt: skip
        assert [one["snippet"] for one in client.get("/api/recent-failures?n=2").json()["memories"]] == [
            one["snippet"] for one in found[:2]
        ]


@pytest.mark.parametrize("field", ["collections", "categories", "labels"])
def test_values_are_counted(client: httpx.Client, shared_db: tuple[Path, str], field: str) -> None:
    with RobotMemory(shared_db[0], embedding_model="", read_only=True) as memory:
        wanted = [{"value": value, "memories": number} for value, number in memory.counts(field)]
    assert client.get(f"/api/{field}").json() == {"reason": "", field: wanted}


def test_tags_are_listed_in_their_tree_and_changed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        learned = memory.learn("milk stands in the fridge", {"task": "tidy", "params": {"t": 4}}, tags=["Fridge"])
    with client_of(path) as client:
        for body in ({"tag": "Kitchen"}, {"tag": "fridge", "parent": "KITCHEN", "display_name": "The fridge"}):
            assert client.post("/api/tags", json=body).status_code == 201
        listed = {tag["value"]: tag for tag in client.get("/api/tags").json()["tags"]}
        assert listed["fridge"] == {
            "value": "fridge", "parent": "kitchen", "display_name": "The fridge", "memories": 1,
        }  # fmt: skip
        (found,) = client.get("/api/search", params={"tags": "kitchen"}).json()["memories"]
        assert (found["id"], found["task"], found["params"]) == (learned.memory_id, "tidy", {"t": 4})
        assert (found["robot"], found["source"]) == (None, "")
        renamed = client.put("/api/tags/fridge", json={"new_tag": "Icebox"})
        assert (renamed.status_code, renamed.json()) == (200, {"memories": 1, "merged": False})
        removed = client.request("DELETE", "/api/tags/icebox", headers={"Content-Type": "application/json"})
        assert (removed.status_code, removed.json()["memories"]) == (200, 1)
        refused = client.put("/api/tags/icebox", json={"new_tag": "x"})
        assert (refused.status_code, refused.json()["field"]) == (400, "tag")


def test_a_moment_of_the_past_tells_what_was_seen_in_the_minute_before(client: httpx.Client) -> None:
    told = client.get("/api/at", params={"time": str(NOW)}).json()
    assert [one["id"] for one in told["memories"]] == [7, 8, 9, 10]
    assert told["time"] == str(NOW)


def test_any_text_comes_back_as_it_is(client: httpx.Client) -> None:
    response = client.get("/api/memory/11")
    assert response.headers["content-type"] == "application/json"
    assert response.json()["memory"]["content"] == SCRIPT


def test_the_map_is_described_and_drawn_and_the_path_follows(db: Path) -> None:
    grid = OccupancyGrid(
        frame_id="map", resolution=0.5, origin=Origin(-1.0, -2.0, 0.1), width=2, height=1, cells=b"\0d"
    )
    with RobotMemory(db, embedding_model="") as memory:
        memory.maps.save(grid)
        moves = [Move(NOW + number * SECOND, float(number), 0.0, 0.0, NOW) for number in range(3)]
        memory.maps.store_path(PathPart(moves, "map", "", "default")).result()
    with client_of(db) as client:
        told = client.get("/api/map").json()
        assert (told["origin"], told["width"], told["height"]) == ([-1.0, -2.0, 0.1], 2, 1)
        image = client.get(told["image"])
        assert (image.content, image.headers["content-type"]) == (grid.png(), "image/png")
        assert "immutable" in image.headers["cache-control"]
        points = client.get("/api/path", params={"after": str(NOW + SECOND)}).json()["path"]
        assert [one["position"] for one in points] == [[1.0, 0.0], [2.0, 0.0]]
        assert client.get("/api/at", params={"time": str(NOW + 2)}).json()["path_point"]["position"] == [0.0, 0.0]


def test_without_a_map_that_is_said(client: httpx.Client) -> None:
    assert "no occupancy grid" in str(get(client, "/api/map", 404)["error"])
    assert get(client, "/api/path") == {"path": []}


@pytest.mark.parametrize(
    ("path", "parameters", "field", "value"),
    [
        ("memories", {"n": "many"}, "n", "many"),
        ("memories", {"nn": "1"}, "nn", "1"),
        ("memories", {"after": "soon"}, "after", "soon"),
        ("memories", {"cursor": "nonsense"}, "cursor", "nonsense"),
        ("memories", {"type": "feelings"}, "type.0", "feelings"),
        ("memories", {"collection": "a\x01"}, "collection", "a\x01"),
        ("memories", {"oldest_first": "perhaps"}, "oldest_first", "perhaps"),
        ("memories", {"confidence": "0.5", "min_confidence": "0.4"}, "confidence", None),
        ("search", {"q": "mug", "min_confidence": "2"}, "min_confidence", "2"),
        ("search", {"q": "mug", "query": "cup"}, "q", "mug"),
        ("search", {"near": "{"}, "near", "{"),
        ("search", {"q": "mug", "explain": "perhaps"}, "explain", "perhaps"),
        ("search", {"q": "nul\0"}, "query", "nul\0"),
        ("at", {}, "time", None),
        ("objects", {"limit": "0"}, "limit", "0"),
        ("memory/none", {}, "id", "none"),
    ],
)
def test_bad_input_is_told_with_field_and_value(
    client: httpx.Client, path: str, parameters: dict[str, str], field: str, value: object
) -> None:
    told = get(client, f"/api/{path}", 400, **parameters)
    assert told["field"] == field
    if value is not None:
        assert told["value"] == value
    assert field in str(told["error"])
    assert " should " not in str(told["error"])


def test_a_search_for_nothing_finds_the_latest(client: httpx.Client) -> None:
    found = client.get("/api/search").json()
    assert (found["mode"], found["memories"][0]["id"]) == ("structured", 6)


def test_what_is_not_there_is_told_as_json(client: httpx.Client) -> None:
    assert "nothing at '/api/nothing'" in str(get(client, "/api/nothing", 404)["error"])
    response = client.get("/api/login")
    assert (response.status_code, response.headers["allow"]) == (405, "DELETE, POST")


def test_what_has_faded_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "faded.db"
    with RobotMemory(path, embedding_model="") as memory:
        told = memory.learn("the sofa is grey", confidence=0.9, observed_at=1_700_000_000 * 10**9)
        memory.update(told.memory_id, decay_rate=0.7)
    with client_of(path) as client:
        for brief in (False, True):
            found = get(client, "/api/search", q="sofa", brief=brief)
            assert [one["faded"] for one in found["memories"]] == [True]  # type: ignore[attr-defined]
            assert "has faded" in str(found["reason"])
        assert get(client, "/api/search", q="sofa", min_confidence=0.3)["memories"] == []
        assert get(client, f"/api/memory/{told.memory_id}")["memory"]["faded"] is True  # type: ignore[index]
