"""What `reason` says of a result that is empty, or that leaves something out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.embedders import Borrowed, HeldVectors
from ..conftest import OpenMemory

ORIGIN = {"target": [0.0, 0.0, 0.0]}


def test_tags_have_no_path_but_a_key_of_that_name_has(memory: RobotMemory) -> None:
    memory.learn("one", {"tags": {"shelf": "A"}}, tags=["kitchen"])
    with pytest.raises(InvalidFieldError, match=r"context_filter: 'tags.shelf' .*context\.tags\.shelf"):
        memory.recall(context_filter={"tags.shelf": "A"})
    assert len(memory.recall(context_filter={"tags": {"$contains": "kitchen"}})) == 1
    result = memory.recall(context_filter={"context.tags.shelf": "A"})
    assert (len(result), result.reason) == (1, "")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("tsak.success", "no memory here has 'tsak.success'; did you mean 'task.success'?"),
        ("task.sucess", "no memory here has 'task.sucess'; did you mean 'task.success'?"),
        ("labl", "no memory here has 'labl'; did you mean 'label'?"),
        ("context.label", "no memory here has 'context.label'"),
        ("zzz", "no memory here has 'zzz'"),
    ],
)
@pytest.mark.parametrize("wanted", [True, {"$exists": False}])
def test_a_path_that_no_context_has_is_named(memory: RobotMemory, path: str, told: str, wanted: object) -> None:
    memory.learn("one", {"task": {"success": True}})
    result = memory.recall(context_filter={path: wanted})
    assert len(result) == (wanted is not True)
    assert result.reason.startswith(f"context_filter: {told}")
    assert (";" in result.reason) == (";" in told) or path == "context.label"


def test_of_many_unknown_paths_some_are_named(memory: RobotMemory) -> None:
    memory.learn("one", {"task": {"success": True}})
    result = memory.recall(context_filter={f"x{number}": 1 for number in range(50)})
    assert result.reason == (
        "context_filter: no memory here has 'x0'; context_filter: no memory here has 'x1'; "
        "context_filter: no memory here has 'x2'; nor 47 other paths of the filter"
    )


def test_known_paths_give_no_reason(memory: RobotMemory) -> None:
    memory.learn("one", {"task": {"success": True, "name": "tidy"}})
    wanted = {"task.success": False, "task": {"$exists": True}, "context.task.name": "tidy", "label": "mug"}
    result = memory.recall(context_filter=wanted)
    assert (len(result), result.reason) == (0, "")


@pytest.mark.parametrize("query", [{"query": "mug"}, {"kinds": "fact"}, {"query": "mug", "spatial_sort": ORIGIN}])
def test_an_unknown_collection_is_named_with_near_ones(memory: RobotMemory, query: dict[str, object]) -> None:
    memory.save_perception("red mug", pose=[0, 0, 0], collection="kitchen")
    memory.flush()
    result = memory.recall(**query, collection="kichten")  # type: ignore[arg-type]
    assert len(result) == 0
    assert "there is no memory in the collection 'kichten'; did you mean 'kitchen'?" in result.reason
    assert "collection" not in memory.recall("mug", collection="kitchen").reason


def test_a_collection_whose_memories_are_gone_is_empty(memory: RobotMemory) -> None:
    memory.forget(memory.learn("one", collection="lab").memory_id, "wrong")
    assert memory.recall("one", collection="lab").reason == "there is no memory in the collection 'lab'"


def test_an_unknown_session_is_named(memory: RobotMemory) -> None:
    memory.learn("one", session_id="morning")
    result = memory.recall("one", session_id="evening")
    assert result.reason == "no memory of the collection 'default' has the session_id 'evening'"
    assert memory.recall(session_id="morning", kinds="perception").reason == ""


@pytest.fixture
def waiting() -> Iterator[HeldVectors]:
    """A model that waits no longer than the test lasts."""
    model = HeldVectors("memory")
    yield model
    model.release.set()


def test_memories_that_wait_for_their_vectors_are_counted(waiting: HeldVectors) -> None:
    with RobotMemory(":memory:", embedder=Borrowed(waiting)) as memory:
        for number in range(3):
            memory.save_perception(f"memory {number}", pose=[number, 0, 0])
        for spatial_sort in (None, ORIGIN):
            result = memory.recall("kettle", spatial_sort=spatial_sort)
            assert (len(result), result.reason) == (0, "3 of 3 memories have no vector yet")
        assert memory.recall("kettle", as_of=0).reason == "3 of 3 memories have no vector yet"
        waiting.release.set()
        memory.flush()
        assert memory.recall("kettle", min_relevance=0.0).reason == "no memory holds a word of the query"


def place(memory: RobotMemory) -> None:
    """Mugs and chairs with and without a position; in other frames, and in another map."""
    memory.save_perception("red mug", pose=[1, 0, 0])
    memory.save_perception("red mug on a shelf")
    memory.save_perception("red chair")
    memory.learn("a red mug is fragile", {"spatial": {"base": [1, 2]}})
    memory.save_perception("old red mug", pose=[1, 0, 0], frame_id="odom")
    memory.parameters = memory.parameters.changed(map_id="hall")
    memory.save_perception("red mug in the hall", pose=[1, 0, 0])
    memory.forget(memory.save_perception("another red mug").memory_id, "broken")
    memory.save_perception("red mug of others", collection="others")
    memory.parameters = memory.parameters.changed(map_id="")
    memory.flush()


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("db_path", [":memory:", None])
def test_what_matches_without_a_position_is_counted(open_memory: OpenMemory, db_path: str | None, n: int) -> None:
    memory = open_memory(db_path)
    place(memory)
    result = memory.recall("red mug", n=n, spatial_sort=ORIGIN)
    assert [found.memory.content for found in result] == ["red mug"]
    assert result.reason == (
        "positions in 'odom' were not compared; 2 memories match but have no 'position'; "
        "1 memory matches but has a 'position' in frame 'odom'; "
        "1 memory matches but has a 'position' in frame 'map' of map 'hall'"
    )
    by_kind = memory.recall(kinds="fact", n=n, spatial_sort=ORIGIN)
    assert by_kind.reason.endswith("; 1 memory matches but has no 'position'")
    of_others = memory.recall(collection="others", spatial_sort=ORIGIN)
    assert of_others.reason == "1 memory matches but has no 'position'"


def test_a_field_that_no_memory_has_is_named_with_near_ones(memory: RobotMemory) -> None:
    memory.learn("grasp", {"spatial": {"object_position": [1, 2, 3]}})
    result = memory.recall(spatial_sort={"field": "spatial.objct_position", **ORIGIN})
    assert len(result) == 0
    assert result.reason == (
        "no memory has a 'spatial.objct_position'; did you mean 'spatial.object_position'?; "
        "1 memory matches but has no 'spatial.objct_position'"
    )


@pytest.mark.parametrize("query", ["", "mug"])
def test_all_memories_without_a_position_are_counted_whether_the_result_is_full_or_not(
    memory: RobotMemory, query: str
) -> None:
    memory.save_perception("mug", pose=[1, 0, 0])
    for future in [memory.store(one) for one in _mugs(memory, 300)]:
        future.result()
    memory.flush()
    for n in (1, 2):
        result = memory.recall(query, n=n, spatial_sort=ORIGIN, collection="default")
        assert result.reason == "300 memories match but have no 'position'"


def _mugs(memory: RobotMemory, count: int) -> Iterator[NewMemory]:
    for number in range(count):
        yield new_perception(memory.parameters, NewPerception(description=f"mug {number} of many"), now=lambda: 1)


def test_memories_that_were_never_sure_are_told_of_where_nothing_was_found(memory: RobotMemory) -> None:
    memory.save_perception("an old red mug", observed_at=10**18, collection="attic", confidence=0.2)
    memory.save_perception("a new red mug", collection="kitchen")
    told = "some memories have less confidence now than min_confidence 0.3"
    for collections in ("attic", "*", ["attic", "kitchen"]):
        assert memory.recall(before=10**18 + 1, collections=collections).reason == told
    assert told not in memory.recall("zebra", collection="kitchen").reason
    assert len(memory.recall("mug", collection="attic", min_confidence=0.0)) == 1
