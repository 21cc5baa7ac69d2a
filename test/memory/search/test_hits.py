"""Results as Python shows them: hits around memories, as dicts, tables and lines."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from datetime import datetime, timezone

import pytest

from robotmem_ros.memory import Hit, RecallResult, RobotMemory, RobotMemoryError

SEEN = 1_790_000_000_123_456_789


@pytest.fixture
def result(memory: RobotMemory) -> RecallResult:
    """Return a mug and a lamp, the nearest first."""
    memory.save_perception("a red\nmug <b>", label="mug", pose=(3, 0, 0), observed_at=SEEN, context={"task": "tidy"})
    memory.save_perception("a lamp", pose=(5, 0, 0), observed_at=SEEN)
    return memory.recall(spatial_sort={"target": [0, 0, 0]})


def test_a_result_is_a_sequence_of_hits_with_memories_in_them(result: RecallResult) -> None:
    assert [hit.id for hit in result] == [hit.memory.id for hit in result.hits] == [1, 2]
    assert len(result) == 2
    assert result[-1] == result.hits[1]
    assert result.memories == tuple(hit.memory for hit in result)
    assert [hit.distance for hit in result] == [3.0, 5.0]


def test_a_dict_has_the_fields_of_the_memory_and_of_the_hit_as_json_holds_them(result: RecallResult) -> None:
    first, _ = result.to_dicts()
    assert json.loads(json.dumps(first, allow_nan=False)) == first == result[0].to_dict()
    assert first.items() >= result.memories[0].to_dict().items()
    assert first.keys() == result.memories[0].to_dict().keys() | {one.name for one in fields(Hit)} - {"memory"}
    assert (first["kind"], first["context"], first["observed_at"]) == ("perception", {"task": "tidy"}, SEEN)
    assert (first["pose"]["x"], first["distance"], first["similarity"]) == (3.0, 3.0, None)


def test_times_are_datetimes_too(result: RecallResult, memory: RobotMemory) -> None:
    found = result.memories[0]
    assert found.observed_datetime == datetime(2026, 9, 21, 14, 13, 20, 123456, timezone.utc)
    assert abs(datetime.now(timezone.utc) - found.created_datetime).total_seconds() < 3600
    (entry, _), (sighting,) = memory.timeline(), memory.object_history(1)
    seen = (entry, sighting, result.brief()[0])
    assert {one.observed_datetime for one in seen} == {found.observed_datetime}


def test_a_hit_and_a_memory_are_shown_in_one_line(result: RecallResult) -> None:
    line = "1 'a red mug <b>' at (3.00, 0.00, 0.00) in map, 2026-09-21 14:13:20 UTC"
    assert repr(result[0]) == f"<Hit {line}, relevance 1.00>"
    assert repr(result[0].memory) == f"<Memory {line}>"


def test_a_long_text_is_cut_in_the_line(memory: RobotMemory) -> None:
    memory.learn("a long text " * 50)
    assert len(repr(memory.recall("text")[0])) < 200


def test_a_table_shows_what_texts_say_as_text(result: RecallResult) -> None:
    html = result._repr_html_()
    assert html.count("<tr>") == 3
    assert "mug &lt;b&gt;" in html
    assert "<b>" not in html
    assert "<td>(3.00, 0.00, 0.00) in map</td>" in html


def test_what_is_missing_is_shown_under_the_table(memory: RobotMemory) -> None:
    assert "in the collection &#x27;&lt;i&gt;&#x27;</p>" in memory.recall(collections=["<i>"])._repr_html_()


def test_pandas_gets_a_column_for_each_field(result: RecallResult) -> None:
    pytest.importorskip("pandas")
    table = result.to_pandas()
    assert table["content"].tolist() == ["a red\nmug <b>", "a lamp"]
    assert table["distance"].tolist() == table["x"].tolist() == [3.0, 5.0]
    assert table["observed_at"][0].value == SEEN
    assert table["first_seen"].isna().tolist() == [False, True]


def test_pandas_gets_the_columns_of_an_empty_result(memory: RobotMemory) -> None:
    pytest.importorskip("pandas")
    assert {"id", "x", "observed_at", "relevance"} <= {*memory.recall("mug").to_pandas().columns}


def test_without_pandas_the_error_says_what_to_install(result: RecallResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # as if it were not installed
    with pytest.raises(RobotMemoryError, match="pip install pandas"):
        result.to_pandas()


def test_a_memory_that_was_not_recalled_is_a_row_and_nothing_else(result: RecallResult, memory: RobotMemory) -> None:
    (details,) = memory.get_memories([1])
    assert details.memory == result.memories[0]
