"""Consolidation of a session: groups of similar facts with a representative; only repetitions are superseded."""

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
    """Learn a fact that can be grouped."""
    options: dict[str, object] = {"category": "grasp", "confidence": 0.8}
    return memory.learn(text, session_id=session, **{**options, **more}).memory_id  # type: ignore[arg-type]


def groups(memory: RobotMemory, session: str = "s") -> list[list[int]]:
    """Consolidate a session; return the ids of each group, the representative first."""
    done = memory.sessions.consolidate(session)
    return [[group.representative.id, *(fact.id for fact in group.members)] for group in done.groups]


def statuses(memory: RobotMemory) -> dict[int, tuple[str, int | None]]:
    """Return the status and the replacement of each memory, by id."""
    with memory.parts.database.snapshot() as snapshot:
        return {
            memory_id: (status, by)
            for memory_id, status, by in snapshot.rows("SELECT id, status, superseded_by FROM memories")
        }


def test_only_active_facts_of_the_same_session_and_collection_are_grouped(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE[:2]]
    learn(memory, ALIKE[0], "other")
    learn(memory, ALIKE[1], "")
    learn(memory, ALIKE[2], collection="lab")
    gone = learn(memory, ALIKE[2])
    learn(memory, "charge before noon")
    memory.forget(gone, "a test")
    done = memory.sessions.consolidate("s")
    assert (done.considered, done.grouped, done.superseded) == (3, 1, 0)
    assert (done.groups[0].representative.id, done.groups[0].members[0].id) == (ids[1], ids[0])


@pytest.mark.parametrize("category", ["constraint", "postmortem", "gotcha"])
def test_constraints_postmortems_and_gotchas_are_never_grouped(memory: RobotMemory, category: str) -> None:
    for text in ALIKE:
        learn(memory, text, category=category)
    assert memory.sessions.consolidate("s").considered == 0


def test_facts_of_high_confidence_are_never_grouped(memory: RobotMemory) -> None:
    for confidence in (0.95, 1.0, 0.96):
        learn(memory, ALIKE[0], confidence=confidence)
    assert memory.sessions.consolidate("s").considered == 0
    for text in ALIKE:
        learn(memory, text, confidence=0.949)
    assert memory.sessions.consolidate("s").grouped == 2


def test_perceptions_are_never_consolidated(memory: RobotMemory) -> None:
    for _ in range(3):
        memory.save_perception(ALIKE[0], session_id="s", confidence=0.8)
    assert memory.sessions.consolidate("s").considered == 0


def test_fewer_than_three_memories_are_skipped(memory: RobotMemory) -> None:
    for text in ALIKE[:2]:
        learn(memory, text)
    done = memory.sessions.consolidate("s")
    assert (done.considered, done.groups) == (2, ())


def test_memories_are_grouped_by_category(memory: RobotMemory) -> None:
    for text, category in zip(ALIKE, ("grasp", "hazard", "navigation"), strict=True):
        learn(memory, text, category=category)
    done = memory.sessions.consolidate("s")
    assert (done.considered, done.groups) == (3, ())


def test_all_pairs_within_a_cluster_exceed_the_threshold(memory: RobotMemory) -> None:
    # The second is like both others, which are not like each other.
    chain = ["crate gate shelf lamp", "gate shelf lamp drum", "shelf lamp drum sack"]
    ids = [learn(memory, text, confidence=0.5 + index / 10) for index, text in enumerate(chain)]
    assert groups(memory) == [[ids[2], ids[1]]]


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
        ((representative, *_),) = groups(memory, session)
        assert representative == ids[expected], session


def test_all_members_of_a_group_stay_active_and_a_recall_may_ask_for_representatives_only(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    assert groups(memory) == [[ids[2], ids[1], ids[0]]]
    assert set(statuses(memory).values()) == {("active", None)}
    assert {found.id for found in memory.recall("glass")} == set(ids)
    assert [found.id for found in memory.recall("glass", representatives_only=True)] == [ids[2]]
    memory.flush()
    assert check_file(memory.path) == 3


def test_only_a_repetition_that_adds_nothing_is_superseded(memory: RobotMemory) -> None:
    texts = ("hold the thin glass softly", "Hold the thin glass softly!", "hold the thin glass very softly")
    ids = [learn(memory, text) for text in texts]
    ids.append(learn(memory, texts[0], context={"shift": 3}, confidence=0.7))
    done = memory.sessions.consolidate("s")
    (group,) = done.groups
    assert (group.representative.id, [fact.id for fact in group.superseded]) == (ids[2], [])
    more = [learn(memory, text, "t") for text in (*texts[:2], "wash the mug")]
    memory.sessions.consolidate("t")
    assert statuses(memory)[more[0]] == ("superseded", more[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("turn left at the old gate", "turn right at the old gate"),
        ("open the valve of the pump", "close the valve of the pump"),
        ("open the valve before the pump", "open the pump before the valve"),
        ("never enter the storage room alone", "never enter the storage room"),
        ("fill the tank to at least 3 bar", "fill the tank to at most 3 bar"),
    ],
)
def test_facts_of_different_texts_are_never_superseded(memory: RobotMemory, one: str, other: str) -> None:
    for text in (one, other, "charge before noon"):
        learn(memory, text)
    memory.sessions.consolidate("s")
    assert set(statuses(memory).values()) == {("active", None)}


def test_facts_with_other_numbers_or_outcomes_stay_active(memory: RobotMemory) -> None:
    for text in ("a grip of 12.5 N holds the glass", "a grip of 15 N holds the glass", "the grip held the glass"):
        learn(memory, text)
    for success in (True, False):
        learn(memory, "grasp the cup at its rim", context={"task": {"success": success}})
    assert memory.sessions.consolidate("s").groups == ()


def test_a_dry_run_returns_the_groups_and_changes_nothing(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    told = memory.sessions.consolidate("s", dry_run=True)
    assert (told.dry_run, told.considered, told.grouped) == (True, 3, 2)
    (group,) = told.groups
    assert (group.representative.content, [fact.id for fact in group.members]) == (ALIKE[2], [ids[1], ids[0]])
    assert len(memory.recall("glass", representatives_only=True)) == 3
    done = memory.sessions.consolidate("s")
    assert (done.groups, done.dry_run) == (told.groups, False)
    assert memory.sessions.consolidate("s").groups == done.groups


def test_forgetting_the_representative_dissolves_the_group(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    memory.sessions.consolidate("s")
    memory.forget(ids[2], "it was wrong")
    assert {found.id for found in memory.recall("glass", representatives_only=True)} == {ids[0], ids[1]}


def test_rewording_the_representative_dissolves_the_group(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    memory.sessions.consolidate("s")
    memory.update(ids[2], confidence=0.7, category="hazard")
    assert len(memory.recall("glass", representatives_only=True)) == 1
    memory.update(ids[2], "the lamp is hot")
    found = memory.recall("thin glass softly", n=2, representatives_only=True)
    assert {one.id for one in found} == {ids[0], ids[1]}


def test_forgetting_a_fact_restores_what_it_superseded_with_its_vector(memory: RobotMemory) -> None:
    ids = [learn(memory, "hold the thin glass softly") for _ in range(3)]
    memory.sessions.consolidate("s")
    assert statuses(memory)[ids[0]] == ("superseded", ids[2])
    memory.forget(ids[2], "it was wrong")
    memory.flush()
    assert {found.id for found in memory.recall("glass", fold=False)} == set(ids[:2])
    assert check_file(memory.path) == 3
    assert memory.status().pending_vectors == 0


def test_a_superseded_fact_cannot_be_forgotten_but_can_be_restored(memory: RobotMemory) -> None:
    ids = [learn(memory, "hold the thin glass softly") for _ in range(3)]
    memory.sessions.consolidate("s")
    with pytest.raises(MemoryNotFoundError, match=r"it is superseded \(consolidated\)"):
        memory.forget(ids[0], "a test")
    memory.restore(ids[0])
    assert {found.id for found in memory.recall("glass", fold=False)} == {ids[0], ids[2]}


def test_facts_that_changed_after_the_plan_are_skipped(memory: RobotMemory) -> None:
    ids = [learn(memory, text) for text in ALIKE]
    more = [learn(memory, f"{text} please, kitchen robot") for text in ("wash the mug", "wash the blue mug")]
    with memory.parts.database.snapshot() as snapshot:
        planned = consolidation.plan(snapshot, "s", "default")
    assert planned.grouped == 2
    memory.update(ids[0], "another text")
    memory.forget(more[1], "a test")
    done = memory.parts.database.write(lambda transaction: consolidation.apply(transaction, planned)).result()
    assert [[fact.id for fact in group.members] for group in done.groups] == [[ids[1]]]
    assert statuses(memory)[more[0]] == ("active", None)


def test_an_unknown_session_is_an_error(memory: RobotMemory) -> None:
    learn(memory, ALIKE[0])
    with pytest.raises(SessionNotFoundError, match="session_id: 'x' cannot be used, there is no such session, nor a"):
        memory.sessions.consolidate("x")
    with pytest.raises(SessionNotFoundError):
        memory.sessions.consolidate("s", "lab")
    with pytest.raises(InvalidFieldError, match="session_id: '' is blank"):
        memory.sessions.consolidate("")


def test_consolidation_of_many_facts_gives_the_result_of_comparing_all_pairs(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    draw = random.Random(1)
    words = ["ba" + chr(97 + n // 10) + chr(97 + n % 10) + "ok" for n in range(60)]
    texts = [" ".join(draw.sample(words[10 * topic : 10 * topic + 10], 8)) for topic in draw.choices(range(6), k=400)]
    ids = [learn(memory, text) for text in texts]
    expected = [
        [ids[399 - one] for one in cluster]
        for cluster in all_pairs([frozenset(text.split()) for text in reversed(texts)], 0.5)
        if len(cluster) > 1
    ]
    assert groups(memory) == expected
