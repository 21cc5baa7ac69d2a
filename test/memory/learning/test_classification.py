"""Category, confidence, tags and scope of a fact, and the rule of each decision; values of the caller win."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bench.suites.classification import FRESH, category_of, read_sentences
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.learning.classification import load_classifier, load_rules, load_taxonomy

CATEGORIES = {
    "constraint", "preference", "worldview", "tradeoff", "root_cause", "decision", "revert", "pattern", "architecture",
    "config", "postmortem", "gotcha", "self_defect", "calibration", "grasp", "navigation", "hazard",
    "human_interaction", "observation", "observation_object", "observation_place", "observation_event",
    "observation_measurement",
}  # fmt: skip
DIMENSIONS = {
    "metacognition", "capability", "domain", "technique", "timing", "boundary", "experience", "self_defect",
    "reflection",
}  # fmt: skip
SEED = "grip_force=12.5N works best because sensor was calibrated"


def rules_of(memory: RobotMemory, memory_id: int) -> dict[str, dict[str, str]]:
    """Return the rule of each value, by field."""
    found: dict[str, dict[str, str]] = {}
    for field, value, rule in memory.explain(memory_id).decisions:
        found.setdefault(field, {})[value] = rule
    return found


def test_the_rules_know_every_category_and_the_labelled_sentences_use_no_other() -> None:
    rules = load_rules()
    assert {*rules.categories, rules.default} == CATEGORIES
    assert {sentence.category for sentence in read_sentences()} == CATEGORIES
    assert {sentence.category for sentence in read_sentences(FRESH)} == CATEGORIES
    assert len(read_sentences()) >= 200


def test_most_labelled_sentences_get_their_category() -> None:
    classifier = load_classifier()
    right = [category_of(classifier, sentence.text) == sentence.category for sentence in read_sentences()]
    assert sum(right) >= 0.9 * len(right)


def test_the_taxonomy_has_nine_dimensions_and_fifty_tags_and_more(memory: RobotMemory) -> None:
    meta = load_taxonomy().meta
    assert {tag.tag for tag in meta.values() if tag.parent is None} == DIMENSIONS
    assert len([tag for tag in meta.values() if tag.parent]) >= 50
    memory.learn("a fact")
    with sqlite3.connect(memory.path) as connection:
        assert set(connection.execute("SELECT tag, parent, display_name FROM tag_meta")) == set(meta.values())
    connection.close()


def test_the_example_of_the_specification_gets_its_category_and_tags(memory: RobotMemory) -> None:
    learned = memory.learn(SEED)
    assert (learned.category, learned.confidence) == ("root_cause", 0.90)
    assert {"root_cause", "measurement"} <= set(learned.tags)
    found = memory.recall(context_filter={"params.grip_force.value": {"$gte": 12, "$lt": 13}})[0]
    assert found.memory.context == {"params": {"grip_force": {"value": 12.5, "unit": "N"}}}
    assert (found.memory.category, found.memory.tags, found.memory.confidence) == (
        learned.category,
        learned.tags,
        learned.confidence,
    )


def test_each_decision_says_which_rule_made_it(memory: RobotMemory) -> None:
    decided = rules_of(memory, memory.learn(SEED).memory_id)
    assert decided["category"] == {"root_cause": "root_cause.because"}
    assert decided["confidence"] == {"0.9": "confidence.causal (+0.05) + confidence.measurement (+0.05)"}
    assert decided["tag"]["root_cause"] == "tag.root_cause + category root_cause"
    assert decided["scope_entity"] == {"grip_force": "scope.identifier"}
    assert decided["params.grip_force"] == {"12.5 N": "parameter.written"}
    assert rules_of(memory, memory.learn("zzz").memory_id) == {
        "category": {"observation": "default"},
        "confidence": {"0.8": "default"},
        "tag": {"observation": "category observation"},
    }


def test_what_the_caller_gives_wins_over_the_rules(memory: RobotMemory) -> None:
    given: dict[str, object] = {"category": "mine", "tags": ["b", "a"], "confidence": 0.42}
    given |= {"scope_files": ["x.py"], "scope_entities": ["y"]}
    memory_id = memory.learn(SEED, {"params": {"own": 1}}, **given).memory_id  # type: ignore[arg-type]
    found = memory.recall(context_filter={"id": memory_id})[0]
    assert (found.memory.category, found.memory.tags, found.memory.confidence) == ("mine", ("a", "b"), 0.42)
    assert found.memory.context == {"params": {"own": 1}}
    assert rules_of(memory, memory_id) == {
        "category": {"mine": "caller"}, "confidence": {"0.42": "caller"}, "tag": {"a": "caller", "b": "caller"},
        "scope_files": {"x.py": "caller"}, "scope_entities": {"y": "caller"},
    }  # fmt: skip
    with sqlite3.connect(memory.path) as connection:
        assert connection.execute("SELECT scope_files, scope_entities FROM memories").fetchall() == [("x.py", "y")]
        assert connection.execute("SELECT tags FROM memories").fetchone() == ('{"a": "user", "b": "user"}',)
    connection.close()


def test_tags_of_rules_are_marked_as_such(memory: RobotMemory) -> None:
    memory.learn(SEED)
    with sqlite3.connect(memory.path) as connection:
        sources = connection.execute("SELECT DISTINCT t.value FROM memories, json_each(tags) AS t").fetchall()
        assert sources == [("auto",)]
    connection.close()


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        ("the tray is blue", None, 0.80),
        ("the tray is blue", {"task": "sorting"}, 0.85),
        ("the tray weighs 2 kg", None, 0.85),
        ("the limits stand in config/arm.yaml", None, 0.85),
        ("maybe the tray is blue", None, 0.65),
        ("也许托盘是蓝色的?", None, 0.55),
        ("measured: the tray weighs 2 kg because set_load() said so in config/arm.yaml", {"a": 1}, 0.95),
    ],
)
def test_confidence_is_estimated_from_signals(
    memory: RobotMemory, text: str, context: dict[str, object] | None, expected: float
) -> None:
    assert memory.learn(text, context).confidence == pytest.approx(expected)


def test_a_forgotten_memory_can_still_be_explained(memory: RobotMemory) -> None:
    memory_id = memory.learn(SEED).memory_id
    memory.forget(memory_id, "a test")
    assert memory.explain(memory_id).status == "invalidated"
    assert memory.explain(memory_id).decisions


def test_a_perception_is_not_classified(memory: RobotMemory) -> None:
    memory_id = memory.save_perception("a red mug because of 5 N").memory_id
    assert memory.explain(memory_id).decisions == ()
    found = memory.recall(kinds="perception")[0]
    assert (found.memory.category, found.memory.tags, found.memory.context) == ("", (), {})


def test_files_and_names_of_a_fact_can_be_queried(memory: RobotMemory) -> None:
    memory_id = memory.learn("MoveGroup in src/arm/plan.py listens on /joint_states in room 12, not XK-4711").memory_id
    entities = rules_of(memory, memory_id)
    assert set(entities["scope_file"]) == {"src/arm/plan.py"}
    assert entities["scope_entity"] == {
        "/joint_states": "scope.topic", "MoveGroup": "scope.identifier", "XK-4711": "scope.part number",
        "room 12": "scope.place",
    }  # fmt: skip


def test_an_older_taxonomy_in_the_file_is_replaced(tmp_path: Path) -> None:
    own = tmp_path / "tags.yaml"
    own.write_text("replace: true\ndimensions: {mood: {tags: {calm: {any: [calm]}}}}")
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("one")
    with RobotMemory(path, embedding_model="", taxonomy_file=str(own)) as memory:
        assert memory.learn("a calm sea").tags == ("calm",)
    with sqlite3.connect(path) as connection:
        rows = set(connection.execute("SELECT tag, parent, display_name FROM tag_meta"))
    connection.close()
    assert rows == {("mood", None, "Mood"), ("calm", "mood", "Calm")}
