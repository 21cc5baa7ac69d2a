"""A fact that says what another one says strengthens it; one that says anything else is stored."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.suites.deduplication import ADVERSARIAL, FRESH, NEVER, Pair, judge, read_pairs
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding import Embedder
from robotmem_ros.memory.learning.store_or_merge import Limits, same_lesson
from robotmem_ros.memory.text.statement import wording

from ...support.embedders import WordVectors
from ..conftest import OpenMemory

PAIRS = [*read_pairs(), *read_pairs(FRESH), *read_pairs(ADVERSARIAL)]
GLASS = "Hold the glass with 12.5 N"
TRICKY = [
    ("The force was 1.5 N at the valve", "The force was 15 N at the valve"),
    ("Push the valve with 10-15 N", "Push the valve with 10-20 N"),
    ("Turn the valve by 1/2 turn", "Turn the valve by 1/4 turn"),
    ("Turn the valve by ½ turn", "Turn the valve by ¼ turn"),
    ("Stage Ⅲ of the valve leaks", "Stage Ⅳ of the valve leaks"),
    ("The 2nd valve in the row leaks", "The 3rd valve in the row leaks"),
    ("Open the valve at more than 5 N", "Open the valve at less than 5 N"),
    ("Open the valve above 5 N", "Open the valve below 5 N"),
    ("阀门压力不低于5 bar", "阀门压力不高于5 bar"),
    ("阀门在5N以上打开", "阀门在5N以下打开"),
    ("Turn the valve clockwise to let water in", "Turn the valve counterclockwise to let water in"),
    ("The arm was able to open the valve", "The arm was unable to open the valve"),
    ("The valve opens on Mondays", "The valve opens except on Mondays"),
    ("The valve opens on Mondays", "The valve opens only on Mondays"),
    ("The grip on the egg was strong", "The grip on the egg was too strong"),
    ("The valve of the pump is closed", "The valve of the pump is almost closed"),
    (
        "Open the valve of the pump for visitors in the evening",
        "Stop opening the valve of the pump for visitors in the evening",
    ),
    ("The robot follows the person through the gate", "The person follows the robot through the gate"),
    ("Take the ramp instead of the stairs", "Take the stairs instead of the ramp"),
    ("Take the ramp rather than the stairs", "Take the stairs rather than the ramp"),
    ("All valves of the row leak", "Some valves of the row leak"),
    ("The valve never failed", "The valve failed"),
    ("grip_force=12 for the valve", "grip_force=13 for the valve"),
    ("See config/valve.yaml for the valve", "See config/pump.yaml for the valve"),
    ("The valve opened 3 of 10 times", "The valve opened 3 of 12 times"),
    ("The valve opened on 2026-11-20", "The valve opened on 2026-11-21"),
    ("The valve lost 5% of its force", "The valve lost 50% of its force"),
    ("The valve needs five hundred turns", "The valve needs six hundred turns"),
    ("The valve T-7 leaks", "The valve T-8 leaks"),
    ("The valve at (1, 2) leaks", "The valve at (1, 3) leaks"),
    ("The valve heats up to 60 °C", "The valve heats up to -60 °C"),
    ("Turn 2 valves by 3 turns", "Turn 3 valves by 2 turns"),
    ("The valve of robot B waits for robot C", "The valve of robot C waits for robot B"),
    ("The valve is on the pump", "The pump is on the valve"),
    ("If the valve is open, close the gate", "If the gate is open, close the valve"),
]
DANGEROUS = [pair for pair in PAIRS if pair.kind in NEVER]
DANGEROUS += [pair for pair in read_pairs(ADVERSARIAL) if not pair.is_one and pair.kind not in NEVER]


@pytest.mark.parametrize("pair", DANGEROUS, ids=lambda pair: " | ".join(pair.texts))
def test_other_numbers_units_negations_and_outcomes_are_never_one(pair: Pair) -> None:
    one, other = map(wording, pair.texts)
    # Even with vectors that are the same.
    assert same_lesson(one, other, 1.0, Limits(0.70, 0.85)) is None


@pytest.mark.parametrize(("one", "other"), TRICKY)
def test_no_small_difference_that_matters_is_overlooked(one: str, other: str) -> None:
    assert same_lesson(wording(one), wording(other), 1.0, Limits(0.50, 0.50)) is None


def test_most_pairs_are_judged_as_a_reader_does(model: Embedder) -> None:
    judged = judge(model)
    found = {pair: judged(pair) for pair in PAIRS}
    taken = [pair for pair in PAIRS if found[pair]]
    assert sum(pair.is_one for pair in taken) >= 0.95 * len(taken)
    assert len(taken) >= 0.8 * sum(pair.is_one for pair in PAIRS)
    assert len(PAIRS) >= 150


def test_the_same_text_raises_the_confidence_of_the_stored_fact(memory: RobotMemory) -> None:
    first = memory.learn(GLASS, confidence=0.5, observed_at=10)
    again = memory.learn("  hold the GLASS with 12.5 N.", observed_at=20, session_id="s2")
    assert (first.status, again.status) == ("stored", "duplicate")
    assert (again.memory_id, again.is_new, again.method, again.similarity) == (first.memory_id, False, "exact", 1.0)
    found = memory.recall("glass")
    assert (len(found), found[0].content, found[0].observed_at) == (1, GLASS, 20)
    assert found[0].confidence == again.confidence == pytest.approx(0.5 + 0.1 * 0.85 * 0.5)
    explained = memory.explain(first.memory_id)
    (repetition,) = explained.repetitions
    assert (explained.times_learned, repetition.session_id, repetition.confidence_before) == (2, "s2", 0.5)
    assert (repetition.content, repetition.observed_before) == ("hold the GLASS with 12.5 N.", 10)


def test_other_words_for_the_same_are_found_by_their_words(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    first = memory.learn("When the bottle is wet, grasp it at the neck")
    again = memory.learn("Grasp the bottle at the neck when it is wet")
    assert (again.memory_id, again.method, again.similarity) == (first.memory_id, "jaccard", 1.0)
    assert "no embedding model is configured" in first.reason


def test_the_same_meaning_is_found_by_the_model(real_memory: RobotMemory) -> None:
    real_memory.warm_up()
    first = real_memory.learn("The conveyor stops abruptly whenever dust covers the sensor")
    again = real_memory.learn("Whenever dust covers the sensor, the conveyor suddenly comes to a stop")
    assert (again.memory_id, again.method) == (first.memory_id, "cosine")
    assert 0.85 <= again.similarity <= 1.0
    assert again.reason == ""


def test_the_vector_by_which_a_fact_was_compared_is_the_one_that_is_stored(open_memory: OpenMemory) -> None:
    model = WordVectors()
    memory = open_memory(embedder=model)
    memory.warm_up()
    model.embedded.clear()
    texts = ["push the crate", "lift the crate with 5 N", "卸下箱子"]
    for text in texts:
        memory.learn(text)
    memory.flush()
    assert model.embedded == texts
    assert memory.status().pending_vectors == 0


def test_without_a_model_the_answer_says_that_meanings_were_not_compared(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    learned = memory.learn("a lesson")
    assert learned.reason.startswith("meanings were not compared: no embedding model is configured")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"task": {"success": True}}, {"task": {"success": False}}),
        ({"task": {"success": True}}, {}),
        ({"params": {"force": {"value": 8}}}, {"params": {"force": {"value": 9}}}),
        ({"env": {"sim_or_real": "sim"}}, {"env": {"sim_or_real": "real"}}),
        ({"flag": True}, {"flag": 1}),
        ({"objects": [1, 2]}, {"objects": [2, 1]}),
        ({"spatial": {"goal": [1, 2]}}, {"spatial": {"goal": [1, 3]}}),
        ({"spatial": {"goal": [1, 2]}}, {"spatial": {"goal": [1, 2], "frame_id": "odom"}}),
    ],
)
def test_the_same_text_in_other_circumstances_is_another_fact(
    memory: RobotMemory, one: dict[str, object], other: dict[str, object]
) -> None:
    assert memory.learn("grasped the cup", one).is_new
    assert memory.learn("grasped the cup", other).is_new
    assert not memory.learn("grasped the cup", one).is_new
    assert not memory.learn("grasped the cup", other).is_new


def test_what_a_repetition_adds_to_the_context_and_the_tags_is_kept(memory: RobotMemory) -> None:
    memory_id = memory.learn("grasped the cup", {"robot": {"name": "r2"}}, tags=["a"]).memory_id
    again = memory.learn("grasped the cup", {"robot": {"arm": "short"}, "shift": 3}, tags=["b"], confidence=0.97)
    found = memory.recall(context_filter={"shift": 3})[0]
    assert (found.id, found.context) == (memory_id, {"robot": {"name": "r2", "arm": "short"}, "shift": 3})
    assert found.tags == again.tags == ("a", "b")
    assert found.confidence == 0.97


def test_collections_do_not_mix_and_perceptions_are_never_duplicates(memory: RobotMemory) -> None:
    assert memory.learn(GLASS).is_new
    assert memory.learn(GLASS, collection="lab").is_new
    ids = {memory.save_perception(GLASS).memory_id for _ in range(3)}
    assert len(ids) == 3
    assert not memory.learn(GLASS).is_new


def test_a_forgotten_fact_is_stored_when_learned_again(memory: RobotMemory) -> None:
    memory.forget(memory.learn(GLASS).memory_id, "a test")
    assert memory.learn(GLASS).is_new


def test_a_corrected_fact_is_compared_by_its_new_text(memory: RobotMemory) -> None:
    memory_id = memory.learn(GLASS).memory_id
    memory.update(memory_id, "Push the crate")
    assert memory.learn("push the crate!").memory_id == memory_id
    assert memory.learn(GLASS).is_new


def test_thresholds_of_deduplication_are_parameters_and_deduplication_can_be_disabled(memory: RobotMemory) -> None:
    memory.learn("Push the crate of lamps gently towards the gate")
    longer = "Push the crate of lamps and ropes gently towards the gate"
    memory.parameters = memory.parameters.changed(duplicate_jaccard=0.95, duplicate_cosine=1.0)
    memory_id = memory.learn(longer).memory_id
    memory.parameters = memory.parameters.changed(duplicate_jaccard=0.80)
    assert memory.learn("Push the crate of lamps, ropes and hoses gently towards the gate").memory_id == memory_id
    memory.parameters = memory.parameters.changed(deduplicate=False)
    assert memory.learn(longer).is_new


def test_of_many_threads_that_learn_one_fact_at_once_one_stores_it(memory: RobotMemory) -> None:
    barrier, learned = threading.Barrier(8), []

    def learn(number: int) -> None:
        barrier.wait()
        learned.append(memory.learn(GLASS if number % 2 else "With 12.5 N, hold the glass"))

    threads = [threading.Thread(target=learn, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.is_new for one in learned].count(True) == 1
    assert {one.memory_id for one in learned} == {1}
    assert memory.explain(1).times_learned == 8


def test_only_the_last_hundred_repetitions_are_kept(memory: RobotMemory) -> None:
    for _ in range(120):
        memory.learn(GLASS)
    explained = memory.explain(1)
    assert (explained.times_learned, len(explained.repetitions)) == (120, 100)
    assert 0.99 < memory.recall("glass")[0].confidence <= 1.0


WORDS = [
    "robot", "shelf", "gate", "crate", "hose", "rope", "lid", "cart", "lamp", "drum", "sack", "tube", "3", "7", "not",
    "works", "fails", "left", "red",
]  # fmt: skip


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), max_size=25))
def test_the_index_finds_just_the_duplicates_that_comparing_with_all_does(texts: list[str]) -> None:
    limits = Limits(0.70, 0.85)
    with RobotMemory(":memory:", embedding_model="") as memory:
        kept: dict[int, str] = {}
        for text in texts:
            alike = {
                memory_id: match
                for memory_id, known in kept.items()
                if (match := same_lesson(wording(text), wording(known), None, limits))
            }
            learned = memory.learn(text)
            assert learned.is_new == (not alike)
            if learned.is_new:
                kept[learned.memory_id] = text
            else:
                assert learned.similarity == pytest.approx(max(match.similarity for match in alike.values()), abs=1e-6)


def test_two_processes_that_learn_one_fact_at_once_store_it_once(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    kept: list[bool] = []

    def learn(memory: RobotMemory) -> None:
        kept.extend(memory.learn(f"Push the crate with {force} N").is_new for force in range(1, 30))

    threads = [threading.Thread(target=learn, args=(memory,)) for memory in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(kept), kept.count(True), one.status().facts) == (58, 29, 29)
