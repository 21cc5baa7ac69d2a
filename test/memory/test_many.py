"""`learn_many` and `save_many`: what the single verbs would do one after the other, all or nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, ReadOnlyError, RobotMemory
from robotmem_ros.memory.storage import vector_rows

from ..support.clock import Clock
from ..support.embedders import WordVectors
from ..support.examples import examples
from .conftest import OpenMemory

TABLES = {
    "memories": "id, type, content, context, label, confidence, category, observed_at, x, y, session_id, status",
    "fact_links": "*",
    "objects": "memory_id, times_seen, first_seen, last_seen, confirmed",
}
FACTS = st.fixed_dictionaries(
    {
        "insight": st.sampled_from(
            ["the mug needs 12 N", "the mug needs 15 N", "a mug needs 12 N", "dock 3 is wet", "杯子"]
        )
    },
    optional={
        "context": st.sampled_from([None, {"task": {"success": True}}, {"task": {"success": False}}, "night"]),
        "confidence": st.sampled_from([0.4, 0.9]),
        "observed_at": st.sampled_from(["2026-01-31T12:00", 10**18]),
        "tags": st.sampled_from([["wet"], []]),
    },
)
PERCEPTIONS = st.fixed_dictionaries(
    {"description": st.sampled_from(["a red mug", "a chair", "a wet floor"])},
    optional={
        "label": st.sampled_from(["mug", "chair"]),
        "pose": st.sampled_from([(1.0, 2.0, 0.0), (1.1, 2.0, 0.0), (5.0, 2.0, 0.0)]),
        "observed_at": st.sampled_from([10**18, 10**18 + 10**9]),
        "perception_type": st.sampled_from(["visual", "procedural"]),
    },
)


def content(memory: RobotMemory) -> dict[str, list[Any]]:
    memory.flush()
    with memory.parts.database.snapshot() as snapshot:
        rows = {
            name: sorted(map(repr, snapshot.rows(f"SELECT {columns} FROM {name}"))) for name, columns in TABLES.items()
        }
        rows["vectors"] = [*snapshot.rows("SELECT memory_id FROM memories_vec ORDER BY memory_id")]
        rows["tags"] = sorted(map(repr, snapshot.rows("SELECT memory_id, tag FROM memory_tags")))
        return rows


@settings(max_examples=examples(20), deadline=None)
@given(
    facts=st.lists(FACTS, max_size=12),
    perceptions=st.lists(PERCEPTIONS, max_size=12),
    before=st.lists(FACTS, max_size=3),
)
def test_many_are_stored_as_one_by_one(
    facts: list[dict[str, Any]], perceptions: list[dict[str, Any]], before: list[dict[str, Any]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        clock.now = 2 * 10**18
        single, many = (
            RobotMemory(Path(folder, name), embedder=WordVectors(), clock=clock, synchronous="normal") for name in "ab"
        )
        with single, many:
            for memory in (single, many):
                memory.wait_for_model()
                for fact in before:
                    memory.learn(**fact)
            assert many.learn_many(facts) == [single.learn(**fact) for fact in facts]
            assert many.save_many(perceptions) == [single.save_perception(**entry) for entry in perceptions]
            assert content(many) == content(single)


def test_facts_that_come_before_maintenance_has_noted_the_model_are_compared(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.flush()
    memory.parts.database.write(
        lambda transaction: transaction.execute("DELETE FROM settings WHERE name = 'embedding_model'")
    ).result()
    first, second = memory.learn_many(["the mug needs 12 N", "the mug needs 15 N"])
    assert (second.method, second.similar_ids) == ("cosine", (first.memory_id,))
    with memory.parts.database.snapshot() as snapshot:
        assert vector_rows.model(snapshot) == WordVectors().name


def test_a_text_alone_is_an_entry_and_a_generator_will_do(memory: RobotMemory) -> None:
    first, second = memory.learn_many(text for text in ("the mug is red", "the dock is wet"))
    assert (first.memory_id, second.memory_id) == (1, 2)
    assert [stored.memory_id for stored in memory.save_many(["a chair", {"description": "a lamp"}])] == [3, 4]
    assert memory.learn_many([]) == memory.save_many(iter(())) == []


def test_progress_ends_with_all(open_memory: OpenMemory) -> None:
    memory, calls = open_memory(), []
    memory.wait_for_model()
    memory.learn_many((f"fact {number}" for number in range(100)), progress=lambda *numbers: calls.append(numbers))
    assert calls == sorted(calls)
    assert calls[-1] == (100, 100)
    for store in (memory.save_many, open_memory(":memory:", embedder=None, embedding_model="").learn_many):
        calls.clear()
        store((f"fact {number}" for number in range(700)), progress=lambda *numbers: calls.append(numbers))
        assert calls == sorted(calls)
        assert calls[-1] == (700, 700)
    assert len(memory.recall("fact", n=100)) == 100


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"insight": "ok", "confidence": 1.5}, r"facts\[1\].confidence: 1.5 must lie in"),
        ({"insight": ""}, r"facts\[1\].insight: '' "),
        ({"category": "constraint"}, r"facts\[1\].insight: None "),
        ({"insigth": "ok"}, r"facts\[1\].insigth: 'ok' is no argument of a memory; did you mean 'insight'"),
        ({"insight": "ok", "observed_at": "soon"}, r"facts\[1\].observed_at: 'soon' "),
        ({"insight": "ok", "observed_at": 1_700_000_000}, r"facts\[1\].observed_at: 1700000000 "),
        (5, r"facts\[1\]: 5 must be a mapping"),
        (None, r"facts\[1\]: None must be a mapping"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_and_nothing_is_stored(
    memory: RobotMemory, entry: Any, error: str
) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{error}"):
        memory.learn_many([{"insight": "the first one"}, entry])
    assert memory.status().memories == 0


@pytest.mark.parametrize("entries", ["a text", {"description": "a mug"}, 5, None])
def test_a_single_entry_is_no_list(memory: RobotMemory, entries: Any) -> None:
    with pytest.raises(InvalidFieldError, match=r"^perceptions: .* must be a list"):
        memory.save_many(entries)


def test_an_iterable_that_fails_leaves_nothing(memory: RobotMemory) -> None:
    def descriptions() -> Iterator[str]:
        yield "the first one"
        raise OSError("the source ended")

    with pytest.raises(OSError, match="the source ended"):
        memory.save_many(descriptions())
    assert memory.status().memories == 0


def test_one_id_or_many_are_changed_and_all_or_none(memory: RobotMemory) -> None:
    first, second, third = (learned.memory_id for learned in memory.learn_many(["a fact", "a rule", "a hint"]))
    memory.forget((number for number in (first, second)), "wrong")
    with pytest.raises(MemoryNotFoundError, match=f"memory_id: {second} "):
        memory.forget([third, second], "wrong")
    assert [details.memory.id for details in memory.get_memories([first, second, third])] == [third]
    with pytest.raises(MemoryNotFoundError, match=f"memory_id: {third} "):
        memory.restore([first, third])
    memory.restore([first, second])
    memory.forget(third, "wrong")
    assert [details.memory.id for details in memory.get_memories([first, second, third])] == [first, second]
    assert memory.purge(ids=third).memories == 1
    assert memory.get_memories(third).reason == f"memory {third} was deleted"


def test_a_memory_that_is_read_only_says_so(memory: RobotMemory, open_memory: OpenMemory) -> None:
    memory.learn("a fact")
    reader = open_memory(memory.path, read_only=True)
    for store in (reader.learn_many, reader.save_many):
        with pytest.raises(ReadOnlyError):
            store(["another one"])
