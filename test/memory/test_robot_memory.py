"""The verbs, as a program uses them, with the real model."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path

import pytest

from robotmem_ros.memory import (
    InvalidFieldError,
    Kind,
    Memory,
    MemoryNotFoundError,
    Mode,
    Parameters,
    Pose,
    RobotMemory,
)
from robotmem_ros.memory.embedding import Embedder
from robotmem_ros.memory.embedding.fastembed_provider import find_folder

from ..support.clock import Clock
from ..support.embedders import Borrowed
from .conftest import OpenMemory


def test_a_fact_comes_back_with_all_that_was_learnt(real_memory: RobotMemory) -> None:
    stored = real_memory.learn(
        "  A glass needs 12.5 N of grip force ", {"params": {"force": 12.5}, "task": {"success": True}}, "morning",
        human_summary="glass: 12.5 N", category="grasp", tags=["glass", "force", "glass"], confidence=0.8,
        observed_at=928_123_456_789,
    )  # fmt: skip
    real_memory.flush()
    answer = real_memory.recall("how hard should I hold a glass?")
    found = answer[0]
    assert answer.mode is Mode.HYBRID
    assert (found.id, found.memory.kind, found.memory.content) == (
        stored.memory_id,
        Kind.FACT,
        "A glass needs 12.5 N of grip force",
    )
    assert (found.memory.human_summary, found.memory.category, found.memory.tags) == (
        "glass: 12.5 N",
        "grasp",
        ("force", "glass"),
    )
    assert (found.memory.session_id, found.memory.collection, found.memory.confidence) == ("morning", "default", 0.8)
    assert found.memory.context == {"params": {"force": 12.5}, "task": {"success": True}}
    assert found.memory.observed_at == 928_123_456_789
    assert (found.memory.pose, found.memory.perception_type, found.memory.label, found.memory.frame_id) == (
        None,
        "",
        "",
        "map",
    )
    assert (found.score, math.isnan(found.distance)) == (1.0, True)


def test_a_perception_comes_back_with_its_pose_and_sense(real_memory: RobotMemory) -> None:
    real_memory.save_perception(
        "something soft", "tactile", b"\x00\x01", {"format": "raw"}, {"robot": {"name": "r2"}}, session_id="s",
        collection="lab", pose=(1, 2, 3, 0, 0, 0, 2), frame_id="odom", label="cushion", confidence=0.4, observed_at=7,
    )  # fmt: skip
    found = real_memory.recall("soft cushion", collection="lab")[0]
    assert (found.memory.kind, found.memory.perception_type, found.memory.label) == (
        Kind.PERCEPTION,
        "tactile",
        "cushion",
    )
    assert (found.memory.pose, found.memory.frame_id) == (Pose(1, 2, 3, 0, 0, 0, 1), "odom")
    assert (found.memory.collection, found.memory.session_id, found.memory.observed_at) == ("lab", "s", 7)
    assert len(real_memory.recall("soft cushion")) == 0


def test_data_and_vectors_stay_out_of_what_is_printed(memory: RobotMemory) -> None:
    from robotmem_ros.memory.models import NewPerception
    from robotmem_ros.memory.new_memory import new_perception

    new = new_perception(memory.parameters, NewPerception(description="mug", data=b"secret bytes"), now=lambda: 1)
    assert "secret" not in repr(new)
    assert {entry.name for entry in fields(Memory)} & {"embedding", "vector", "data", "perception_data"} == set()


def test_a_meaning_is_found_without_a_common_word(real_memory: RobotMemory) -> None:
    for text in ("the couch stands in the parlour", "the battery is nearly empty", "the door is locked"):
        real_memory.learn(text)
    real_memory.flush()
    assert (
        real_memory.recall("where can I sit down on a sofa", n=1)[0].memory.content == "the couch stands in the parlour"
    )
    assert real_memory.recall("low power", n=1)[0].memory.content == "the battery is nearly empty"


def test_a_forgotten_memory_is_not_found(real_memory: RobotMemory) -> None:
    wrong = real_memory.learn("the key hangs beside the door").memory_id
    right = real_memory.learn("the key lies in the drawer").memory_id
    real_memory.flush()
    real_memory.forget(wrong, "the key was moved")
    for answer in (real_memory.recall("key"), real_memory.recall(kinds="fact"), real_memory.recall("beside the key")):
        assert [found.id for found in answer] == [right]
    assert real_memory.status().facts == 1


def test_a_correction_replaces_only_what_is_given(real_memory: RobotMemory) -> None:
    memory_id = real_memory.learn("the mug is red", {"a": 1}, tags=["x"], category="c", human_summary="s").memory_id
    real_memory.update(memory_id, "the mug is blue", context={"b": 2}, confidence=0.5)
    real_memory.flush()
    found = real_memory.recall("blue mug")[0]
    assert (found.memory.content, found.memory.context, found.memory.confidence) == ("the mug is blue", {"b": 2}, 0.5)
    assert (found.memory.tags, found.memory.category, found.memory.human_summary) == (("x",), "c", "s")
    real_memory.update(memory_id, tags=[], category="", human_summary="")
    found = real_memory.recall("blue mug")[0]
    assert (found.memory.content, found.memory.tags, found.memory.category, found.memory.human_summary) == (
        "the mug is blue",
        (),
        "",
        "",
    )
    with pytest.raises(InvalidFieldError, match=f"^memory_id: {memory_id} gets no correction; give at least one field"):
        real_memory.update(memory_id)


def test_collections_and_sessions_do_not_mix(memory: RobotMemory, open_memory: OpenMemory) -> None:
    memory.learn("mug", session_id="s1")
    memory.learn("mug", session_id="s2", collection="lab")
    lab = open_memory(collection="lab")
    assert [found.memory.session_id for found in memory.recall("mug")] == ["s1"]
    assert [found.memory.session_id for found in lab.recall("mug")] == ["s2"]
    assert [found.memory.session_id for found in memory.recall("mug", collection="lab")] == ["s2"]
    assert len(memory.recall("mug", session_id="s2")) == 0


def test_a_memory_below_min_confidence_is_not_found(memory: RobotMemory) -> None:
    for confidence in (0.0, 0.29, 0.3, 1.0):
        memory.save_perception(f"mug seen with {confidence}", confidence=confidence)
    assert sorted(found.memory.confidence for found in memory.recall("mug")) == [0.3, 1.0]
    assert len(memory.recall("mug", min_confidence=0.0)) == 4
    assert [found.memory.confidence for found in memory.recall("mug", min_confidence=1.0)] == [1.0]


def test_the_robots_clock_gives_the_time_of_observation(open_memory: OpenMemory) -> None:
    clock = Clock(5)
    memory = open_memory(clock=clock)
    memory.learn("one")
    clock.now = 6
    memory.save_perception("two")
    assert [found.memory.observed_at for found in memory.recall(after=0)] == [6, 5]
    clock.now = 0
    with pytest.raises(InvalidFieldError, match="observed_at: None is not given, and the clock shows no time yet"):
        memory.learn("three")


def test_positions_in_the_context_are_in_the_frame_it_names(memory: RobotMemory) -> None:
    spatial = {"frame_id": "kitchen", "goal": [3, 4, 0]}
    memory.learn("cup", {"spatial": spatial})
    memory.save_perception("cup", context={"spatial": spatial}, frame_id="hall")
    goal = {"field": "spatial.goal", "target": [0, 0, 0]}
    for frame in ("kitchen", "hall"):
        answer = memory.recall("cup", spatial_sort={**goal, "frame_id": frame})
        assert [(found.memory.frame_id, found.distance) for found in answer] == [(frame, 5.0)]


def test_the_status_tells_what_there_is(real_memory: RobotMemory, model: Embedder, tmp_path: Path) -> None:
    real_memory.learn("a fact")
    real_memory.save_perception("a sight")
    real_memory.save_perception("another sight")
    real_memory.flush()
    status = real_memory.status()
    assert (status.facts, status.perceptions, status.memories, status.pending_vectors) == (1, 2, 3, 0)
    assert (status.mode, status.reason, status.embedding_model) == (Mode.HYBRID, "", model.name)
    assert status.db_path == str(tmp_path / "memory.db")
    assert status.db_bytes >= (tmp_path / "memory.db").stat().st_size > 0
    assert status.schema_version >= 1


def test_a_memory_with_no_argument_but_its_path_uses_the_default_model(tmp_path: Path) -> None:
    with RobotMemory(str(tmp_path / "memory.db")) as memory:
        memory.warm_up()
        memory.learn("red mug")
        memory.flush()
        assert memory.recall("mug").mode is Mode.HYBRID
        folder = find_folder(Parameters().embedding_model)
        assert folder is not None
        assert memory.status().embedding_model == folder.name
    with RobotMemory(tmp_path / "memory.db") as memory:
        # Also until it is loaded: else the file would seem to have vectors of another model.
        assert memory.parts.embedder.name == folder.name


def test_the_default_place_is_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Embedder
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with RobotMemory(embedder=Borrowed(model)) as memory:
        assert memory.learn("red mug").memory_id == 1
    assert (tmp_path / ".robotmem" / "memory.db").stat().st_mode & 0o777 == 0o600


def test_a_memory_tells_its_file_and_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("the door is open")
        assert repr(memory) == f"<RobotMemory {str(path)!r}: 1 memories, bm25_only>"
    assert repr(memory) == f"<RobotMemory {str(path)!r}: the memory is closed; open a new RobotMemory>"


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFieldError, match=r"^colour: 'red' is no parameter; there are .*busy_timeout"):
        RobotMemory(tmp_path / "memory.db", colour="red")
    assert list(tmp_path.iterdir()) == []


def test_a_correction_may_move_positions_to_another_frame_but_not_away_from_the_pose(memory: RobotMemory) -> None:
    def nearest(frame: str) -> list[int]:
        sort = {"field": "spatial.goal", "target": [0, 0], "frame_id": frame}
        return [found.id for found in memory.recall(spatial_sort=sort)]

    moved = {"spatial": {"frame_id": "odom", "goal": [1.0, 2.0]}}
    fact = memory.learn("the goal", {"spatial": {"goal": [1.0, 2.0]}}).memory_id
    memory.update(fact, context=moved)
    assert (nearest("map"), nearest("odom")) == ([], [fact])
    seen = memory.save_perception("a goal", pose=[0, 0, 0]).memory_id
    with pytest.raises(InvalidFieldError, match=r"context.spatial.frame_id: 'odom' differs from the frame 'map'"):
        memory.update(seen, context=moved)


def test_the_data_and_metadata_of_a_perception_are_given_back(memory: RobotMemory) -> None:
    image = b"\x89PNG secret pixels"
    seen = memory.save_perception("a shelf", "visual", image, {"format": "png", "camera": {"gain": 2}}).memory_id
    found = memory.data(seen)
    assert (found.data, found.data_format, found.perception_type) == (image, "png", "visual")
    assert found.metadata == {"format": "png", "camera": {"gain": 2}}
    assert "secret" not in repr(found)
    only_metadata = memory.data(memory.save_perception("a hum", "auditory", metadata={"format": 3}).memory_id)
    assert (only_metadata.data, only_metadata.data_format) == (b"", "")


def test_a_memory_without_data_is_reported(memory: RobotMemory) -> None:
    fact = memory.learn("mugs are red").memory_id
    gone = memory.save_perception("a shelf", data=b"x").memory_id
    memory.forget(gone, "a test")
    for wanted, why in ((fact, "it is a fact without data"), (gone, r"it is invalidated \(a test\)"), (99, "no such")):
        with pytest.raises(MemoryNotFoundError, match=f"^memory_id: {wanted} cannot be used, .*{why}"):
            memory.data(wanted)
    memory.restore(gone)
    assert memory.data(gone).data == b"x"
    for verb in (memory.data, memory.history, memory.object_history, memory.explain, memory.restore):
        with pytest.raises(InvalidFieldError, match="memory_id: 'x' must be a whole number"):
            verb("x")  # type: ignore[arg-type]
