"""Facts that contradict are linked; the older one is marked, and recall prefers the newer one."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import RobotMemory

from ..conftest import OpenMemory

OPPOSED = [
    ("Hold the glass with 12.5 N", "Hold the glass with 15 N", "force: 12.5 N, now 15 N"),
    ("The table is 80 cm wide", "The table is 1.2 m wide", "distance: 80 cm, now 1.2 m"),
    ("Grasping by the neck works", "Grasping by the neck fails", "other outcome"),
    ("The door of the lab is locked", "The door of the lab is not locked", "other lock"),
    ("Enter the lab at night", "Never enter the lab at night", "one is the negation of the other"),
    ("max_retries=3 for the pump", "max_retries=5 for the pump", "max_retries: 3, now 5"),
    ("抓取玻璃杯用12.5N的力", "抓取玻璃杯用15N的力", "force: 12.5 N, now 15 N"),
    ("用吸盘抓取纸箱成功", "用吸盘抓取纸箱失败", "other outcome"),
    ("3号门开着", "3号门关着", "other opening"),
    ("The charger is in bay 7.", "The charger has moved to the paint shop", "place: bay 7, now the paint shop"),
    ("The charger is in bay 1", "The charger is now in bay 12", "place: bay 1, now bay 12"),
    ("We keep the keys in the drawer", "We keep the keys on a hook", "place: the drawer, now a hook"),
    ("The green bag belongs to Theo", "The green bag belongs to Amira", "owner: Theo, now Amira"),
    ("The night shift lead is Karim", "The night shift lead is Svetlana", "which: Karim, now Svetlana"),
    ("The lab door code is 4711", "The lab door code is 9035", "which: 4711, now 9035"),
    ("The hall light is on", "The hall light is off", "switch: on, now off"),
    ("There are 14 crates left on rack B", "There are 9 crates left on rack B", "count: 14, now 9"),
    ("充电桩在3号库位", "充电桩现在在8号库位", "place: 3号库位, now 8号库位"),
    ("早班组长是王磊", "早班组长换成了陈静", "which: 王磊, now 陈静"),
]
CONSISTENT = [
    ("Hold the glass with 12.5 N", "Hold the plate with 15 N"),
    ("Hold the left handle with 12 N", "Hold the right handle with 15 N"),
    ("Grasping by the neck with 8 N failed", "Grasping by the neck with 12 N worked"),
    ("The table is 30 cm wide", "The table is 0.3 m wide"),
    ("Room 204 is an office of the ward", "Room 205 is an office of the ward"),
    ("The gripper opens 80 mm in 0.5 s", "The gripper opens 85 mm in 0.8 s"),
    ("Hold the glass with 12.5 N", "Drive through the gate at 0.4 m/s"),
    ("The mug is red", "The lamp hangs in the hall"),
    ("The red mug is in the sink", "The blue mug is in the cupboard"),
    ("The mug is in the kitchen", "The mug is on the kitchen table"),
    ("The lift is slow", "The lift is on the left"),
    ("The kitchen has a sink", "The kitchen has a stove"),
    ("A chair stands in the corner", "A chair stands by the window"),
    ("The robot dropped the mug in the hall", "The robot dropped the mug in the kitchen"),
    ("In the morning the key is in the box", "In the evening the key is in the car"),
    ("The ladder is in the shed.", "Is the ladder in the garage?"),
    ("The chairs are in the hall", "Some chairs are in the garden"),
    ("药箱在厨房", "药箱在厨房冰箱上面的柜子里"),
    ("展厅里有触摸屏", "展厅里有沙盘"),
]


@pytest.mark.parametrize(("older", "newer", "reason"), OPPOSED)
def test_another_value_or_outcome_of_one_subject_contradicts(
    memory: RobotMemory, older: str, newer: str, reason: str
) -> None:
    first, second = memory.learn(older), memory.learn(newer)
    assert (first.contradicts, second.contradicts) == ((), (first.memory_id,))
    found = {one.id: one.memory.contradicted_by for one in memory.recall(kinds="fact")}
    assert found == {first.memory_id: second.memory_id, second.memory_id: 0}
    (told,) = memory.explain(first.memory_id).contradictions
    assert (told.memory_id, told.reason, told.is_newer, told.content) == (second.memory_id, reason, True, newer)
    assert not memory.explain(second.memory_id).contradictions[0].is_newer


@pytest.mark.parametrize(("one", "other"), CONSISTENT)
def test_facts_that_can_both_be_true_are_not_linked(memory: RobotMemory, one: str, other: str) -> None:
    assert memory.learn(one).is_new
    learned = memory.learn(other)
    assert (learned.is_new, learned.contradicts) == (True, ())


def test_a_state_is_found_among_many_of_the_same_form(memory: RobotMemory) -> None:
    facts = [f"The crate {number} stands in aisle {number % 40} of the hall" for number in range(400)]
    memory.learn_many(facts)
    assert memory.learn("Crate 7 has been moved to the dock").contradicts == (8,)
    assert memory.learn("Crate 7 is in the office").contradicts == (8, 401)


def test_recall_ranks_the_newer_of_contradicting_facts_first(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    older = memory.learn("Hold the tall thin jar with 12.5 N").memory_id
    newer = memory.learn("With 15 N hold the tall thin jar of Anna").memory_id
    assert memory.explain(newer).contradictions[0].memory_id == older
    # By words alone the older, shorter one is first; that it is contradicted counts for more.
    answer = memory.recall("hold the tall thin jar")
    assert [found.id for found in answer] == [newer, older]
    assert answer[1].memory.contradicted_by == newer


def test_the_outcome_of_the_context_counts_like_one_in_the_text(memory: RobotMemory) -> None:
    memory.learn("grasped with 8 N", {"task": {"success": False}})
    assert memory.learn("grasped with 12 N", {"task": {"success": True}}).contradicts == ()
    assert memory.learn("grasped with 8 N", {"task": {"success": True}}).contradicts == (1, 2)


def test_a_text_does_not_contradict_itself_by_what_it_says(memory: RobotMemory) -> None:
    text = "Hold the thin glass with 12.5 N because it slips"
    memory.learn(text, {"task": {"success": True}})
    assert memory.learn(text).contradicts == ()
    assert memory.learn(text, {"task": {"success": False}}).contradicts == (1,)


def test_facts_in_different_contexts_do_not_contradict(memory: RobotMemory) -> None:
    memory.learn("Hold the glass with 12.5 N", {"robot": "r1"})
    assert memory.learn("Hold the glass with 15 N", {"robot": "r2"}).contradicts == ()
    assert memory.learn("Hold the glass with 14 N", {"robot": "r1", "shift": 2}).contradicts == (1,)
    assert memory.learn("Hold the glass with 15 N", collection="lab").contradicts == ()


def test_the_older_is_what_was_observed_earlier_not_what_was_stored_earlier(memory: RobotMemory) -> None:
    late = memory.learn("Hold the glass with 12.5 N", observed_at=20).memory_id
    early = memory.learn("Hold the glass with 15 N", observed_at=10).memory_id
    assert {one.id: one.memory.contradicted_by for one in memory.recall(kinds="fact")} == {late: 0, early: late}
    assert memory.explain(late).contradictions[0].reason == "force: 15 N, now 12.5 N"


def test_a_fact_learned_again_becomes_the_newer_one(memory: RobotMemory) -> None:
    one = memory.learn("Hold the glass with 12.5 N", observed_at=1).memory_id
    two = memory.learn("Hold the glass with 15 N", observed_at=2).memory_id
    memory.learn("Hold the glass with 12.5 N", observed_at=3)
    assert {found.id: found.memory.contradicted_by for found in memory.recall(kinds="fact")} == {one: 0, two: one}


def test_a_forgotten_or_corrected_fact_no_longer_contradicts(memory: RobotMemory) -> None:
    one = memory.learn("Hold the glass with 12.5 N").memory_id
    two = memory.learn("Hold the glass with 15 N").memory_id
    three = memory.learn("Hold the glass with 16 N").memory_id
    assert memory.recall(context_filter={"id": one})[0].memory.contradicted_by == three
    memory.forget(three, "a test")
    assert memory.recall(context_filter={"id": one})[0].memory.contradicted_by == two
    memory.update(two, "Hold the jug with 15 N")
    assert memory.recall(context_filter={"id": one})[0].memory.contradicted_by == 0
    memory.update(two, "Hold the glass with 11 N")
    assert memory.recall(context_filter={"id": one})[0].memory.contradicted_by == two
