"""Consolidation of a session, each rule of it; the names of the first tests are the rules as they were asked for."""

from __future__ import annotations

import random

import pytest

from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory, SessionNotFoundError
from robotmem_ros.memory.sessions import consolidation

from ...support.consistency import check_file
from ..conftest import OpenMemory
from .test_clusters import all_pairs

ALIKE = ("hold the thin glass softly", "hold the thin glass very softly", "always hold the thin glass softly")


def learn(memory: RobotMemory, text: str, session: str = "s", **more: object) -> int:
    """A lesson that can be consolidated."""
    options: dict[str, object] = {"category": "grasp", "confidence": 0.8}
    return memory.learn(text, session_id=session, **{**options, **more}).memory_id  # type: ignore[arg-type]


def statuses(memory: RobotMemory) -> dict[int, tuple[str, int | None]]:
    """Status and what stands for it, by id."""
    with memory._database.reader() as connection:
        return {
            memory_id: (status, by)
            for memory_id, status, by in connection.execute("SELECT id, status, superseded_by FROM memories")
        }


def test_only_active_memories_of_the_same_session_and_collection_are_consolidated(memory: RobotMemory) -> None:
    kept = [learn(memory, text) for text in ALIKE[:2]]
    others = [learn(memory, ALIKE[0], "other"), learn(memory, ALIKE[1], "")]
    others.append(learn(memory, ALIKE[2], collection="lab"))
    gone = learn(memory, ALIKE[2])
    third = learn(memory, "charge before noon")
    memory.forget(gone, "a test")
    done = memory.consolidate("s")
    assert (done.considered, done.superseded) == (3, 1)
    assert [status for memory_id, (status, _) in statuses(memory).items() if memory_id in (*others, third)] == [
        "active"
    ] * 4
    assert statuses(memory)[kept[0]] == ("superseded", kept[1])


@pytest.mark.parametrize("category", ["constraint", "postmortem", "gotcha"])
def test_constraints_postmortems_and_gotchas_are_protected(memory: RobotMemory, category: str) -> None:
    for text in ALIKE:
        learn(memory, text, category=category)
    assert memory.consolidate("s").considered == 0


def test_high_confidence_is_preserved(memory: RobotMemory) -> None:
    for confidence in (0.95, 1.0, 0.96):
        learn(memory, ALIKE[0], confidence=confidence)
    assert memory.consolidate("s").considered == 0
    for text in ALIKE:
        learn(memory, text, confidence=0.949)
    assert memory.consolidate("s").superseded == 2


def test_perceptions_are_never_consolidated(memory: RobotMemory) -> None:
    for _ in range(3):
        memory.save_perception(ALIKE[0], session_id="s", confidence=0.8)
    assert memory.consolidate("s").considered == 0


def test_fewer_than_three_memories_are_skipped(memory: RobotMemory) -> None:
    for text in ALIKE[:2]:
        learn(memory, text)
    done = memory.consolidate("s")
    assert (done.considered, done.superseded) == (2, 0)


def test_memories_are_grouped_by_category(memory: RobotMemory) -> None:
    for text, category in zip(ALIKE, ("grasp", "hazard", "navigation"), strict=True):
        learn(memory, text, category=category)
    done = memory.consolidate("s")
    assert (done.considered, done.superseded) == (3, 0)


def test_all_pairs_within_a_cluster_exceed_the_threshold(memory: RobotMemory) -> None:
    # The second is like both others, which are not like each other.
    chain = ["red mug shelf lamp", "mug shelf lamp door", "shelf lamp door rug"]
    ids = [learn(memory, text, confidence=0.5 + index / 10) for index, text in enumerate(chain)]
    memory.consolidate("s")
    assert statuses(memory) == {ids[0]: ("active", None), ids[1]: ("superseded", ids[2]), ids[2]: ("active", None)}


def test_the_representative_has_the_highest_confidence_then_access_count_then_is_the_newest(
    memory: RobotMemory,
) -> None:
    for session, confidences, recalled, expected in (
        ("confidence", (0.7, 0.9, 0.8), 0, 1),
        ("access", (0.8, 0.8, 0.8), 1, 0),
        ("newest", (0.8, 0.8, 0.8), 0, 2),
    ):
        ids = [learn(memory, text, session, confidence=one) for text, one in zip(ALIKE, confidences, strict=True)]
        if recalled:
            memory.recall(session_id=session, context_filter={"id": ids[0]})
            memory.flush()
        (merge,) = memory.consolidate(session).merges
        assert merge.kept.id == ids[expected], session


def test_non_representatives_are_superseded_by_the_representative_and_none_is_deleted(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    memory.consolidate("s")
    assert statuses(memory) == {
        ids[0]: ("superseded", ids[2]), ids[1]: ("superseded", ids[2]), ids[2]: ("active", None)
    }  # fmt: skip
    assert [found.id for found in memory.recall("glass")] == [ids[2]]
    memory.flush()
    assert check_file(memory.path) == 3


def test_facts_with_other_numbers_or_outcomes_stay_active(memory: RobotMemory) -> None:
    for text in ("a grip of 12.5 N holds the glass", "a grip of 15 N holds the glass", "the grip held the glass"):
        learn(memory, text)
    for success in (True, False):
        learn(memory, "grasp the cup at its rim", context={"task": {"success": success}})
    assert memory.consolidate("s").superseded == 0


def test_a_dry_run_shows_what_would_be_done_and_changes_nothing(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    told = memory.consolidate("s", dry_run=True)
    assert (told.dry_run, told.considered, told.superseded) == (True, 3, 2)
    (merge,) = told.merges
    assert (merge.kept.content, [lesson.id for lesson in merge.superseded]) == (ALIKE[2], [ids[1], ids[0]])
    assert merge.similarity == pytest.approx(0.8)
    assert set(statuses(memory).values()) == {("active", None)}
    done = memory.consolidate("s")
    assert (done.merges, done.dry_run) == (told.merges, False)
    assert memory.consolidate("s").merges == ()


def test_forgetting_the_representative_brings_the_others_back(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    memory.consolidate("s")
    memory.forget(ids[2], "it was wrong")
    memory.flush()
    assert {found.id for found in memory.recall("glass")} == {ids[0], ids[1]}
    assert check_file(memory.path) == 3
    assert memory.status().pending_vectors == 0


def test_rewording_the_representative_brings_the_others_back(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    memory.consolidate("s")
    memory.update(ids[2], confidence=0.7, category="hazard")
    assert len(memory.recall("glass")) == 1
    memory.update(ids[2], "the lamp is hot")
    memory.flush()
    assert {found.id for found in memory.recall("thin glass softly", n=2)} == {ids[0], ids[1]}
    assert set(statuses(memory).values()) == {("active", None)}


def test_restoring_is_one_change_of_status(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    memory.consolidate("s")
    with pytest.raises(MemoryNotFoundError, match=r"it is superseded \(consolidated\)"):
        memory.forget(ids[0], "a test")
    sql = "UPDATE memories SET status = 'active', superseded_by = NULL WHERE id = ?"
    memory._database.write(lambda connection: connection.execute(sql, (ids[0],))).result()
    assert {found.id for found in memory.recall("glass")} == {ids[0], ids[2]}


def test_what_changed_after_the_plan_is_left_alone(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    more = [learn(memory, f"{text} please, kitchen robot") for text in ("wash the mug", "wash the blue mug")]
    with memory._database.snapshot() as connection:
        planned = consolidation.plan(connection, "s", "default", 0.5)
    assert planned.superseded == 3
    memory.update(ids[0], "another text")
    memory.forget(more[1], "a test")
    done = memory._database.write(lambda connection: consolidation.apply(connection, planned)).result()
    assert [[lesson.id for lesson in merge.superseded] for merge in done.merges] == [[ids[1]]]
    assert statuses(memory)[more[0]] == ("active", None)


def test_the_threshold_is_a_parameter(open_memory: OpenMemory) -> None:
    memory = open_memory(consolidation_similarity=0.9)
    for text in ALIKE:
        learn(memory, text)
    # Of the first two, only a function word is not the same.
    assert [merge.similarity for merge in memory.consolidate("s").merges] == [1.0]


def test_an_unknown_session_is_an_error(memory: RobotMemory) -> None:
    learn(memory, ALIKE[0])
    with pytest.raises(SessionNotFoundError, match="session_id: 'x' cannot be used, there is no such session, nor a"):
        memory.consolidate("x")
    with pytest.raises(SessionNotFoundError):
        memory.consolidate("s", "lab")
    with pytest.raises(InvalidFieldError, match="session_id: '' has nothing to read"):
        memory.consolidate("")


def test_consolidation_of_many_facts_gives_the_result_of_comparing_all_pairs(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    draw = random.Random(1)
    words = [f"word{n}x" for n in range(60)]
    texts = [" ".join(draw.sample(words[10 * topic : 10 * topic + 10], 8)) for topic in draw.choices(range(6), k=400)]
    ids = [learn(memory, text) for text in texts]
    expected = [
        [ids[399 - one] for one in cluster]
        for cluster in all_pairs([frozenset(text.split()) for text in reversed(texts)], 0.5)
        if len(cluster) > 1
    ]
    merges = memory.consolidate("s").merges
    assert [[merge.kept.id, *(lesson.id for lesson in merge.superseded)] for merge in merges] == expected
