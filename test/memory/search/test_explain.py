"""What recall tells of how a score came about. That its parts make up the score is checked in test_oracle.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import Hit, InvalidFieldError, RobotMemory
from robotmem_ros.memory.search.result import ScorePart

from ...support.embedders import WordVectors


def opened(folder: Path, **parameters: Any) -> RobotMemory:
    return RobotMemory(folder / "memory.db", embedder=WordVectors(), embedding_model="", **parameters)


def part(hit: Hit, name: str) -> ScorePart:
    """Return the only step of a name."""
    assert hit.explanation is not None
    (found,) = (one for one in hit.explanation.parts if one.name == name)
    return found


def test_nothing_is_explained_unless_asked(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.learn("the red mug is chipped")
        assert memory.recall("red mug")[0].explanation is None
        assert memory.recall(kinds=["fact"], explain=True)[0].explanation is None


def test_both_searches_tell_what_they_measured(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.learn("the red mug is chipped")
        memory.learn("a blue mug")
        memory.flush()
        first, second = memory.recall("chipped red mug", explain=True, min_relevance=0.0)
        assert first.explanation is not None
        assert second.explanation is not None
        assert (first.explanation.text_rank, first.explanation.vector_rank) == (1, 1)
        assert (second.explanation.text_rank, second.explanation.vector_rank) == (2, 2)
        assert first.explanation.bm25 > second.explanation.bm25 > 0
        assert first.explanation.bm25_share > second.explanation.bm25_share > 0
        assert [one.name for one in first.explanation.parts] == ["meaning", "words"]
        assert part(first, "words").reason == f"BM25 {first.explanation.bm25:.2f}, over that of each word once"
        assert part(first, "meaning").reason == f"cosine {first.similarity:.3f}, over the greatest one"


def test_without_a_model_there_are_words_alone(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.learn("the red mug is chipped")
        (found,) = memory.recall("red mug", explain=True)
        assert found.explanation is not None
        assert [one.name for one in found.explanation.parts] == ["words"]
        assert found.explanation.vector_rank == 0


def test_a_neighbour_of_the_session_is_named(tmp_path: Path) -> None:
    with opened(tmp_path, session_neighbor_weight=0.5) as memory:
        beside = memory.learn("the valve leaks", session_id="patrol").memory_id
        memory.learn("it was tightened with a wrench", session_id="patrol")
        memory.flush()
        found = {one.memory.content: one for one in memory.recall("the valve leaks", explain=True)}
        added = part(found["it was tightened with a wrench"], "session neighbour")
        assert added.operation == "add"
        assert f"memory {beside}" in added.reason


def test_a_newer_fact_that_contradicts_is_named(tmp_path: Path) -> None:
    with opened(tmp_path, contradicted_weight=0.5) as memory:
        memory.learn("the grip force of the glass is 12 N")
        newer = memory.learn("the grip force of the glass is 15 N").memory_id
        memory.flush()
        older = next(
            one for one in memory.recall("grip force of the glass", explain=True) if one.memory.contradicted_by
        )
        less = part(older, "contradicted")
        assert (less.operation, less.value) == ("multiply", 0.5)
        assert less.reason == f"memory {newer} contradicts it and is newer"


def test_the_real_world_and_outcomes_are_named(tmp_path: Path) -> None:
    with opened(tmp_path, real_weight=2.0) as memory:
        session = memory.start_session({}).session_id
        memory.learn("the door sticks", {"env": {"sim_or_real": "real"}}, session_id=session)
        memory.recall("the door sticks")
        memory.end_session(session, 1.0)
        (found,) = memory.recall("the door sticks", explain=True)
        assert part(found, "real world").value == 2.0


def test_reciprocal_ranks_are_told(tmp_path: Path) -> None:
    with opened(tmp_path, fusion="rrf") as memory:
        memory.learn("the red mug is chipped")
        memory.flush()
        (found,) = memory.recall("red mug", explain=True)
        assert part(found, "words").value == pytest.approx(0.5 / 61)
        assert part(found, "words").reason == "rank 1"


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_only_true_and_false_can_be_asked_for(tmp_path: Path, value: Any) -> None:
    with opened(tmp_path) as memory, pytest.raises(InvalidFieldError, match="explain"):
        memory.recall("red mug", explain=value)
