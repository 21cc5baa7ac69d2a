"""Learning: a repetition reinforces a fact; a similar fact is stored and linked."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding.embedder import ServiceFailedError
from robotmem_ros.memory.text.normal_form import normal_form
from robotmem_ros.memory.text.statement import jaccard, statement

from ...support.embedders import BreakingVectors, WordVectors
from ...support.examples import examples
from ..conftest import OpenMemory

GLASS = "Hold the glass with 12.5 N"


@pytest.fixture
def words_only(open_memory: OpenMemory) -> RobotMemory:
    """Open a memory without a model, in which only words count."""
    return open_memory(embedder=None, embedding_model="")


def test_the_same_text_raises_the_confidence_of_the_stored_fact(memory: RobotMemory) -> None:
    first = memory.learn(GLASS, confidence=0.5, observed_at=10)
    again = memory.learn("  hold the GLASS with 12.5 N.", observed_at=20, session_id="s2")
    assert (first.status, again.status) == ("stored", "duplicate")
    assert (again.memory_id, again.is_new, again.method, again.similarity) == (first.memory_id, False, "exact", 1.0)
    found = memory.recall("glass")
    assert (len(found), found[0].memory.content, found[0].memory.observed_at) == (1, GLASS, 20)
    assert found[0].memory.confidence == again.confidence == pytest.approx(0.5 + 0.1 * 0.85 * 0.5)
    explained = memory.explain(first.memory_id)
    (repetition,) = explained.repetitions
    assert (explained.times_learned, repetition.session_id, repetition.confidence_before) == (2, "s2", 0.5)
    assert (repetition.content, repetition.observed_before) == ("hold the GLASS with 12.5 N.", 10)


def test_the_vector_that_was_compared_is_the_one_that_is_stored(open_memory: OpenMemory) -> None:
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


def test_without_a_model_the_result_says_that_meanings_were_not_compared(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    learned = memory.learn("a fact")
    assert learned.reason.startswith("meanings were not compared: no embedding model is configured")


def test_a_fact_is_learned_although_the_service_of_the_model_fails_and_both_result_and_log_say_why(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    model = BreakingVectors()
    memory = open_memory(embedder=model)
    memory.warm_up()
    model.error = ServiceFailedError("HTTP 500")
    assert memory.learn("push the crate").reason == "meanings were not compared: HTTP 500"
    assert "meanings were not compared: HTTP 500" in caplog.messages
    assert memory.learn("lift the crate").reason.startswith("meanings were not compared: HTTP 500")


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
def test_the_same_text_with_a_conflicting_context_is_another_fact(
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
    assert (found.id, found.memory.context) == (memory_id, {"robot": {"name": "r2", "arm": "short"}, "shift": 3})
    assert found.memory.tags == again.tags == ("a", "b")
    assert found.memory.confidence == 0.97


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


def test_many_threads_that_learn_one_fact_at_once_store_it_once(memory: RobotMemory) -> None:
    barrier, learned = threading.Barrier(8), []

    def learn(number: int) -> None:
        barrier.wait()
        learned.append(memory.learn(GLASS if number % 2 else "Please hold glass with 12.5 N!"))

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
    assert 0.99 < memory.recall("glass")[0].memory.confidence <= 1.0


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


def test_a_fact_in_other_words_is_stored_and_linked_by_its_words(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=None, embedding_model="")
    first = memory.learn("When the bottle is wet, grasp it at the neck")
    again = memory.learn("Grasp the bottle at the neck when it is wet")
    assert (first.status, again.status) == ("stored", "similar")
    assert (again.similar_ids, again.method, again.similarity) == ((first.memory_id,), "jaccard", 1.0)
    found = {one.id: one.memory.similar_ids for one in memory.recall("wet bottle")}
    assert found == {first.memory_id: (again.memory_id,), again.memory_id: (first.memory_id,)}


def test_a_fact_of_the_same_meaning_is_stored_and_linked_by_the_model(real_memory: RobotMemory) -> None:
    real_memory.warm_up()
    first = real_memory.learn("The conveyor stops abruptly whenever dust covers the sensor")
    again = real_memory.learn("Whenever dust covers the sensor, the conveyor suddenly comes to a stop")
    assert (again.status, again.similar_ids, again.method) == ("similar", (first.memory_id,), "cosine")
    assert 0.85 <= again.similarity <= 1.0
    assert again.reason == ""


def test_a_fact_that_was_forgotten_corrected_or_purged_is_no_longer_linked(memory: RobotMemory) -> None:
    texts = ("Never enter the storage room", "Never enter the storage room alone", "Never enter a storage room at all")
    one, two, three = (memory.learn(text).memory_id for text in texts)
    assert set(memory.recall(context_filter={"id": one})[0].memory.similar_ids) == {two, three}
    memory.forget(two, "a test")
    assert memory.recall(context_filter={"id": one})[0].memory.similar_ids == (three,)
    memory.restore(two)
    memory.update(three, "The lamp hangs in the hall")
    assert memory.recall(context_filter={"id": one})[0].memory.similar_ids == (two,)
    memory.update(three, texts[2])
    assert set(memory.recall(context_filter={"id": one})[0].memory.similar_ids) == {two, three}
    memory.purge(ids=[two])
    assert memory.recall(context_filter={"id": one})[0].memory.similar_ids == (three,)


def test_the_thresholds_of_similarity_are_parameters(words_only: RobotMemory) -> None:
    words_only.parameters = words_only.parameters.changed(similar_jaccard=0.95)
    words_only.learn("Push the crate of lamps gently towards the gate")
    assert words_only.learn("Push the crate of lamps and ropes gently towards the gate").status == "stored"
    words_only.parameters = words_only.parameters.changed(similar_jaccard=0.70)
    assert words_only.learn("Push the crate of lamps and hoses gently towards the gate").status == "similar"


def test_deduplication_can_merge_similar_facts_or_be_disabled(words_only: RobotMemory) -> None:
    words_only.parameters = words_only.parameters.changed(deduplication="seed")
    first = words_only.learn("Push the crate of lamps and ropes gently towards the gate")
    again = words_only.learn("Push the crate of lamps gently towards the gate")
    assert (again.status, again.memory_id, again.method) == ("duplicate", first.memory_id, "jaccard")
    words_only.parameters = words_only.parameters.changed(deduplication="off")
    repeated = words_only.learn("Push the crate of lamps and ropes gently towards the gate")
    assert (repeated.status, repeated.similar_ids, repeated.method) == ("similar", (first.memory_id,), "exact")


def test_a_fact_is_linked_with_the_sixteen_most_similar_ones_at_most(words_only: RobotMemory) -> None:
    for number in range(40):
        learned = words_only.learn(f"Charge the small robot number {number} at the dock near the old gate")
    assert len(learned.similar_ids) == 16


def test_among_many_repetitions_in_other_contexts_the_right_one_is_reinforced(words_only: RobotMemory) -> None:
    ids = [words_only.learn("grasped the cup", {"robot": f"r{number}"}).memory_id for number in range(40)]
    assert words_only.learn("grasped the cup", {"robot": "r1"}).memory_id == ids[1]


WORDS = [
    "robot", "shelf", "gate", "crate", "hose", "rope", "lid", "cart", "lamp", "drum", "sack", "tube", "3", "7", "not",
    "works", "fails", "left", "red", "and", "or", "the", "A", "B", "only",
]  # fmt: skip
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join), max_size=25)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None)
@given(texts=TEXTS)
def test_merged_and_linked_facts_are_those_of_comparing_with_every_fact(texts: list[str]) -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        kept: dict[int, str] = {}
        for text in texts:
            learned = memory.learn(text)
            same = [key for key, known in kept.items() if normal_form(known) == normal_form(text)]
            assert learned.is_new == (not same)
            if same:
                assert [learned.memory_id] == same
                continue
            alike = {key: jaccard(statement(known).terms, statement(text).terms) for key, known in kept.items()}
            expected = {key for key, similarity in alike.items() if similarity >= 0.70}
            assert set(learned.similar_ids) <= expected
            assert len(learned.similar_ids) == min(len(expected), 16)
            kept[learned.memory_id] = text
