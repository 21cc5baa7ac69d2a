"""A query that says when is a query with a window."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.text.time_words import TimeWords
from robotmem_ros.memory.times import moment

from ..conftest import OpenMemory

NOW = int(datetime(2026, 10, 28, 15, 20).astimezone().timestamp()) * 10**9


@pytest.fixture
def memory(open_memory: OpenMemory) -> RobotMemory:
    memory = open_memory(clock=lambda: NOW)
    for days, text in ((0, "the mug is in the sink"), (1, "the mug is on the table"), (2, "the mug is on the shelf")):
        at = NOW - int(timedelta(days=days).total_seconds()) * 10**9
        memory.save_perception(text, observed_at=at)
    return memory


def test_words_of_time_are_the_window_of_a_recall(memory: RobotMemory) -> None:
    result = memory.recall("where was the mug yesterday")
    explicit = memory.recall(
        "where was the mug", after=moment("after", "yesterday", NOW), before=moment("before", "today", NOW)
    )
    assert [hit.memory.content for hit in result] == ["the mug is on the table"]
    assert [(hit.id, hit.relevance) for hit in result] == [(hit.id, hit.relevance) for hit in explicit]
    assert explicit.time_words is None
    assert result.time_words == TimeWords(
        "yesterday", moment("after", "yesterday", NOW), moment("before", "today", NOW)
    )
    assert result.reason.startswith("'yesterday' is from 2026-10-27T00:00:00")


def test_words_of_time_alone_list_the_window(memory: RobotMemory) -> None:
    assert [hit.memory.content for hit in memory.recall("昨天")] == ["the mug is on the table"]
    assert len(memory.recall("since yesterday")) == 2


def test_an_empty_window_is_named_and_nothing_else_is_searched(memory: RobotMemory) -> None:
    result = memory.recall("where was the mug last week")
    assert not result
    assert "'last week' is from 2026-10-19T00:00:00" in result.reason
    assert result.time_words is not None


@pytest.mark.parametrize("given", [{"after": 1}, {"before": NOW}, {"max_age": 9e8}, {"as_of": NOW}])
def test_a_time_in_the_request_wins(memory: RobotMemory, given: dict[str, float]) -> None:
    result = memory.recall("where was the mug last week", **given)  # type: ignore[arg-type]
    assert result
    assert result.time_words is None


def test_the_parameter_turns_it_off(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=lambda: NOW, time_words=False)
    memory.learn("the mug broke last week")
    result = memory.recall("what broke last week")
    assert result
    assert result.time_words is None


def test_a_caller_turns_it_off_and_on_for_a_text(open_memory: OpenMemory) -> None:
    for parameter in (True, False):
        memory = open_memory(clock=lambda: NOW, time_words=parameter)
        memory.learn("the mug broke")
        assert memory.recall("the mug yesterday", time_words=False)
        assert not memory.recall("the mug yesterday", time_words=True)
        with pytest.raises(InvalidFieldError, match=r"^time_words: 'no' "):
            memory.recall("the mug yesterday", time_words="no")  # type: ignore[arg-type]


def test_a_simulated_clock_has_no_days(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=lambda: 90 * 10**9)
    memory.learn("the mug broke")
    result = memory.recall("the mug yesterday")
    assert result
    assert result.time_words is None
