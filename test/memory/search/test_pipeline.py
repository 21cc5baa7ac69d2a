"""The pipeline as a whole: what ran, what was missing, scores, order and counting."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import pytest

from robotmem_ros.memory import Mode, RobotMemory

from ...support.embedders import BreakingVectors
from ..conftest import OpenMemory

HERE = {"field": "position", "target": [0.0, 0.0]}


def damage(memory: RobotMemory, statement: str) -> None:
    """Runs SQL on the database by hand, as nobody should."""
    with sqlite3.connect(memory.status().db_path) as connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def three_mugs(memory: RobotMemory) -> RobotMemory:
    """A memory that knows three mugs, 1 to 3 m from the origin."""
    for index, text in enumerate(("red mug", "blue mug", "green mug here"), start=1):
        memory.save_perception(text, pose=(float(index), 0.0, 0.0), observed_at=index)
    memory.flush()
    return memory


def test_with_words_and_vectors_the_mode_is_hybrid(three_mugs: RobotMemory) -> None:
    result = three_mugs.recall("red mug")
    assert (result.mode, result.reason, result[0].memory.content) == (Mode.HYBRID, "", "red mug")


def test_without_a_query_the_mode_is_structured_and_the_newest_comes_first(three_mugs: RobotMemory) -> None:
    result = three_mugs.recall(kinds="perception")
    assert (result.mode, result.reason) == (Mode.STRUCTURED, "")
    assert [hit.id for hit in result] == [3, 2, 1]
    assert {memory.score for memory in result} == {1.0}
    assert all(math.isnan(memory.distance) for memory in result)


def test_without_a_query_a_spatial_sort_orders_by_distance(three_mugs: RobotMemory) -> None:
    result = three_mugs.recall(spatial_sort=HERE)
    assert (result.mode, [hit.distance for hit in result]) == (Mode.STRUCTURED, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(("query", "spatial_sort"), [("red mug", None), ("", HERE), ("red mug", HERE)])
def test_an_empty_memory_has_an_empty_result(
    memory: RobotMemory, query: str, spatial_sort: dict[str, object] | None
) -> None:
    assert not memory.recall(query, spatial_sort=spatial_sort).memories


def test_equal_distances_stand_newest_first(memory: RobotMemory) -> None:
    for observed_at, point in ((1, (1, 0, 0)), (3, (0, 1, 0)), (2, (0, 0, 1)), (3, (0, -1, 0))):
        memory.save_perception("mug", pose=point, observed_at=observed_at)
    result = memory.recall(spatial_sort={"field": "position", "target": [0, 0, 0]})
    assert [found.id for found in result] == [4, 2, 3, 1]


def test_without_a_model_the_mode_is_bm25_only_and_says_why(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    memory.learn("red mug")
    result = memory.recall("mug")
    assert result.mode is Mode.BM25_ONLY
    assert result.reason == "no embedding model is configured (parameter embedding_model)"
    assert memory.status().mode is Mode.BM25_ONLY
    assert "no embedding model is configured" in memory.status().reason


@pytest.mark.parametrize("fusion", ["scores", "rrf"])
@pytest.mark.parametrize("spatial_sort", [None, HERE])
@pytest.mark.parametrize(("search", "mode"), [("vector", Mode.BM25_ONLY), ("text", Mode.VEC_ONLY)])
def test_a_search_of_weight_zero_does_not_run(
    three_mugs: RobotMemory, fusion: str, spatial_sort: dict[str, object], search: str, mode: Mode
) -> None:
    damage(three_mugs, "DROP TABLE memories_vec" if search == "vector" else "DROP TABLE memories_fts")
    three_mugs.parameters = three_mugs.parameters.changed(fusion=fusion, **{f"{search}_weight": 0.0})
    reason = f"the {search} search is switched off ({search}_weight is 0)"
    result = three_mugs.recall("red mug", spatial_sort=spatial_sort)
    assert (result.mode, result.reason) == (mode, reason)
    assert result[0].memory.content == "red mug"


def test_an_unknown_model_is_no_error_but_a_reason(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="/no/such/model")
    memory.learn("red mug")
    result = memory.recall("mug")
    assert (len(result), result.mode) == (1, Mode.BM25_ONLY)
    assert "'/no/such/model' is neither a folder" in result.reason


def test_when_no_memory_holds_a_word_the_mode_is_vec_only(three_mugs: RobotMemory) -> None:
    result = three_mugs.recall("screwdriver", min_relevance=0.0)
    assert (result.mode, result.reason) == (Mode.VEC_ONLY, "no memory holds a word of the query")


@pytest.mark.parametrize("query", ["the red mug", "red mug blue mug plant"])
@pytest.mark.parametrize("spatial_sort", [None, HERE])
def test_no_recall_asks_the_index_of_words_that_is_for_other_programs(
    three_mugs: RobotMemory, query: str, spatial_sort: dict[str, object] | None
) -> None:
    damage(three_mugs, "DROP TABLE memories_fts")
    assert three_mugs.recall(query, spatial_sort=spatial_sort)[0].memory.content == "red mug"


@pytest.mark.parametrize("query", ["the red mug", "red mug blue mug plant"])
@pytest.mark.parametrize("spatial_sort", [None, HERE])
def test_broken_vectors_leave_the_text_search(
    three_mugs: RobotMemory, query: str, spatial_sort: dict[str, object] | None
) -> None:
    damage(three_mugs, "DROP TABLE memories_vec")
    result = three_mugs.recall(query, spatial_sort=spatial_sort)
    assert result.mode is Mode.BM25_ONLY
    assert "red mug" in [hit.memory.content for hit in result]
    assert result.reason.startswith("vector search failed: no such table: memories_vec")


@pytest.mark.parametrize("query", ["the red mug", "red mug and plant", "red plant and blue mug"])
@pytest.mark.parametrize("spatial_sort", [None, HERE])
@pytest.mark.parametrize("error", [RuntimeError("boom"), KeyError("boom"), OSError("boom")])
def test_a_failing_model_leaves_the_text_search(
    open_memory: OpenMemory, query: str, spatial_sort: dict[str, object] | None, error: Exception
) -> None:
    embedder = BreakingVectors()
    memory = open_memory(embedder=embedder)
    memory.save_perception("red mug", pose=(1, 0, 0))
    memory.flush()
    embedder.error = error
    result = memory.recall(query, spatial_sort=spatial_sort)
    assert (result.mode, [found.memory.content for found in result]) == (Mode.BM25_ONLY, ["red mug"])
    assert result.reason.startswith("vector search failed")
    assert "boom" in result.reason


def test_a_memory_that_only_one_search_found_is_not_cut(real_memory: RobotMemory) -> None:
    by_word = real_memory.learn("part number XK4711 needs a torque wrench").memory_id
    for index in range(30):
        real_memory.learn(f"a mug of colour {index} stands on the table")
    by_meaning = real_memory.learn("the couch is in the parlour").memory_id
    real_memory.flush()
    assert real_memory.recall("XK4711", n=1)[0].id == by_word
    assert real_memory.recall("sofa in the living room", n=1)[0].id == by_meaning


def test_the_best_score_is_one_and_scores_fall(real_memory: RobotMemory) -> None:
    for text in ("grip force for a glass", "grip force", "a plant", "the force was too high", "door"):
        real_memory.learn(text)
    real_memory.flush()
    result = real_memory.recall("grip force of a glass", n=100)
    scores = [hit.score for hit in result]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_what_happened_in_the_real_world_counts_half_more(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="", fusion="rrf")
    for origin in ("sim", "real", "Real", True):
        memory.learn("grip force", {"env": {"sim_or_real": origin}})
    scores = {found.memory.context["env"]["sim_or_real"]: found.score for found in memory.recall("grip force")}
    # By BM25 all are equal, so the newest is first: ranks 0 True, 1 Real, 2 real, 3 sim.
    best = 1.5 / 63
    expected = {True: 1 / 61, "Real": 1 / 62, "real": best, "sim": 1 / 64}
    assert scores == pytest.approx({origin: score / best for origin, score in expected.items()})


@pytest.mark.parametrize(("n", "expected"), [(0, 1), (1, 1), (-7, 1), (100, 100), (101, 100), (10**9, 100)])
@pytest.mark.parametrize("query", ["mug", ""])
def test_n_is_cut_to_1_to_100_and_the_reason_tells_it(memory: RobotMemory, query: str, n: int, expected: int) -> None:
    memory.save_many(f"mug {number}" for number in range(120))
    result = memory.recall(query, n, collection="default")
    assert len(result) == expected
    assert (f"n: {n} was cut to {expected}; it lies in 1 to 100" in result.reason) == (n != expected)


def test_returned_memories_are_counted_after_the_result(three_mugs: RobotMemory) -> None:
    three_mugs.recall("red", n=1)
    three_mugs.recall("red", n=1)
    three_mugs.flush()
    assert [found.memory.content for found in three_mugs.recall(context_filter={"access_count": 2})] == ["red mug"]
    three_mugs.flush()
    assert len(three_mugs.recall(context_filter={"access_count": 0}, n=10)) == 2


def test_a_failure_to_count_does_not_fail_the_query(three_mugs: RobotMemory, caplog: pytest.LogCaptureFixture) -> None:
    damage(
        three_mugs, "CREATE TRIGGER no BEFORE UPDATE OF access_count ON memories BEGIN SELECT raise(ABORT, 'no'); END"
    )
    assert three_mugs.recall("red mug", n=1)[0].memory.content == "red mug"
    three_mugs.flush()
    assert "recalls could not be counted" in caplog.text


def test_a_memory_of_another_map_or_frame_is_never_compared(open_memory: OpenMemory, tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="", map_id="upstairs") as upstairs:
        upstairs.save_perception("mug", pose=(0, 0, 0))
    memory = open_memory(embedder=None, embedding_model="", map_id="downstairs")
    memory.save_perception("mug", pose=(5, 0, 0))
    memory.save_perception("mug", pose=(1, 0, 0), frame_id="odom")
    result = memory.recall("mug", spatial_sort=HERE)
    assert [(found.distance, found.memory.map_id, found.memory.frame_id) for found in result] == [
        (5.0, "downstairs", "map")
    ]
    assert "positions in 'odom' were not compared" in result.reason
    in_odom = memory.recall("mug", spatial_sort={**HERE, "frame_id": "odom"})
    assert [found.distance for found in in_odom] == [1.0]


@pytest.mark.parametrize("far", [1e6, 3e7, 5e7])
def test_positions_far_out_are_found_with_and_without_a_limit(memory: RobotMemory, far: float) -> None:
    memory.save_perception("mug", pose=(far, -far, 0.0))
    memory.save_perception("mug", pose=(far * 2, 0.0, 0.0))
    for limit in ({}, {"max_distance": abs(far) * 1e-3}, {"max_distance": 0.0}):
        result = memory.recall(spatial_sort={"field": "position", "target": [far, -far, 0.0], **limit}, n=1)
        assert [(found.id, found.distance) for found in result] == [(1, 0.0)]


def test_a_target_without_height_compares_in_x_and_y(memory: RobotMemory) -> None:
    memory.learn("flat", {"spatial": {"goal": [3, 4]}})
    memory.learn("high", {"spatial": {"goal": [0, 0, 12.0]}})
    flat = memory.recall(spatial_sort={"field": "spatial.goal", "target": [0, 0]})
    assert [(found.memory.content, found.distance) for found in flat] == [("high", 0.0), ("flat", 5.0)]
    high = memory.recall(spatial_sort={"field": "spatial.goal", "target": [0, 0, 0]})
    assert [(found.memory.content, found.distance) for found in high] == [("flat", 5.0), ("high", 12.0)]


def test_a_memory_without_the_field_never_appears_in_a_spatial_answer(memory: RobotMemory) -> None:
    memory.save_perception("mug without a place")
    memory.save_perception("mug", pose=(1, 1, 1))
    for goal in ([1], [1, 2, 3, 4], ["1", "2"], [True, False], [], {"x": 1}, None, [1, None], [[1, 2]]):
        memory.learn("mug", {"spatial": {"goal": goal}})
    assert [found.id for found in memory.recall("mug", spatial_sort=HERE)] == [2]
    assert len(memory.recall("mug", spatial_sort={"field": "spatial.goal", "target": [0, 0]})) == 0
