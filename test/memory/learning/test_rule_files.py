"""Files of rules and tags of the user: added, replacing, and checked when they are loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.learning.classification import load_rules, load_taxonomy

from ..conftest import OpenMemory


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return the path of a file of the user."""
    return tmp_path / "own.yaml"


def opened(open_memory: OpenMemory, **files: object) -> RobotMemory:
    return open_memory(embedder=None, embedding_model="", **{name: str(path) for name, path in files.items()})


def test_a_category_of_the_user_is_added_to_those_of_the_package(own: Path, open_memory: OpenMemory) -> None:
    own.write_text("categories: {weather: {rain: {weight: 9, any: [raining, 下雨]}}}")
    memory = opened(open_memory, rules_file=own)
    assert memory.learn("It rained because of the clouds").category == "weather"
    assert memory.learn("今天下雨了").category == "weather"
    assert memory.learn("The cup slipped because it was wet").category == "root_cause"


def test_a_rule_of_the_same_name_replaces_that_of_the_package(own: Path, open_memory: OpenMemory) -> None:
    own.write_text("categories: {root_cause: {because: {weight: 4, any: [blame]}}}")
    memory = opened(open_memory, rules_file=own)
    assert memory.learn("We blame the wind").category == "root_cause"
    assert memory.learn("It shook because it can").category != "root_cause"


def test_replace_drops_the_rules_of_the_package(own: Path, open_memory: OpenMemory) -> None:
    own.write_text(
        "replace: true\ndefault: thing\ncategories: {wet: {water: {any: [water]}}}\n"
        "confidence: {base: 0.5, lowest: 0.1, highest: 0.6, signals: {sure: {add: 0.3, any: [surely]}}}"
    )
    memory = opened(open_memory, rules_file=own)
    learned = [memory.learn(text) for text in ("water must not leak", "never do that", "surely not")]
    assert [one.category for one in learned] == ["wet", "thing", "thing"]
    assert [one.confidence for one in learned] == [0.5, 0.5, 0.6]


def test_a_tag_of_the_user_is_added_and_can_be_given_by_category(own: Path, open_memory: OpenMemory) -> None:
    own.write_text("dimensions: {domain: {tags: {sailing: {any: [sail*], categories: [hazard]}}}}")
    memory = opened(open_memory, taxonomy_file=own)
    assert "sailing" in memory.learn("the sailboat drifts").tags
    assert {"sailing", "safety"} <= set(memory.learn("Danger of fire").tags)


BAD_RULES = [
    ("categories: [a]", "categories: .* must hold names with their values"),
    ("categories: {a: {b: {any: [no]}}}", r"categories\.a\.b\.any\[0\]: False must be text; words such as no, on and"),
    ("categories: {a: {b: {any: ['...']}}}", r"categories\.a\.b\.any\[0\]: '\.\.\.' has no word in it"),
    ("categories: {a: {b: {any: ['ab*']}}}", r"categories\.a\.b\.any\[0\]: 'ab\*' is no beginning of a word"),
    ("categories: {a: {b: {any: x}}}", r"categories\.a\.b\.any: 'x' must be a list"),
    ("categories: {a: {b: {}}}", r"categories\.a\.b: \{\} would always hold; give `any`, `pattern` or `has`"),
    ("categories: {a: {b: {unless: [x]}}}", r"categories\.a\.b: .* would always hold"),
    ("categories: {a: {b: {pattern: '('}}}", r"categories\.a\.b\.pattern: '\(' is no regular expression: missing"),
    ("categories: {a: {b: {has: [wings]}}}", r"categories\.a\.b\.has\[0\]: 'wings' is unknown; there are code"),
    ("categories: {a: {b: {any: [x], weight: heavy}}}", r"categories\.a\.b\.weight: 'heavy' must be a number"),
    ("categories: {a: {b: {any: [x], wieght: 3}}}", r"categories\.a\.b\.wieght: 3 is unknown here; there are also"),
    ("categories: {on: {b: {any: [x]}}}", r"categories\.True: .* stands under True, which is no name"),
    ("rules: {}", r"rules: \{\} is unknown here; there are categories, confidence, default, replace"),
    ("default: 7", "default: 7 must be text"),
    ("replace: often", "replace: 'often' must be true or false"),
    ("confidence: {base: 2}", r"confidence\.base: 2 must lie in 0 to 1"),
    ("confidence: {base: 0.1}", "confidence: .* must have lowest <= base <= highest"),
    ("confidence: {signals: {x: {any: [y]}}}", r"confidence\.signals\.x: .* needs `add`"),
    ("a: [", "cannot be read: "),
    ("- a", r"\['a'\] must hold names with their values"),
]


@pytest.mark.parametrize(("content", "error"), BAD_RULES, ids=[error[:30] for _, error in BAD_RULES])
def test_a_bad_file_of_rules_is_an_error_that_names_the_entry(
    own: Path, open_memory: OpenMemory, content: str, error: str
) -> None:
    own.write_text(content)
    with pytest.raises(InvalidFieldError, match=f"^rules_file.*{re.escape(own.name)}.*{error}"):
        opened(open_memory, rules_file=own)


BAD_TAGS = [
    ("{}", r"\{\} needs `dimensions`"),
    ("dimensions: {a: {tags: {b: {}}}}", r"dimensions\.a\.tags\.b: \{\} would never be given"),
    ("dimensions: {domain: {tags: {debug: {any: [x]}}}}", r"domain\.tags\.debug: .* is a tag of capability"),
    ("dimensions: {a: {tags: {domain: {any: [x]}}}}", r"dimensions\.a\.tags\.domain: .* is a dimension"),
    ("dimensions: {a: {tags: {b: {any: [x], display_name: 3}}}}", r"tags\.b\.display_name: 3 must be text"),
    ("dimensions: {a: {tags: {b: {categories: x}}}}", r"tags\.b\.categories: 'x' must be a list"),
]


@pytest.mark.parametrize(("content", "error"), BAD_TAGS, ids=[error[:30] for _, error in BAD_TAGS])
def test_a_bad_file_of_tags_is_an_error_that_names_the_entry(
    own: Path, open_memory: OpenMemory, content: str, error: str
) -> None:
    own.write_text(content)
    with pytest.raises(InvalidFieldError, match=f"^taxonomy_file.*{re.escape(own.name)}.*{error}"):
        opened(open_memory, taxonomy_file=own)


def test_a_missing_file_is_an_error(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"^rules_file: '/no/such/rules.yaml' cannot be read: "):
        opened(open_memory, rules_file="/no/such/rules.yaml")


def test_the_rules_of_the_package_are_loaded_once() -> None:
    assert load_rules() is load_rules()
    assert load_taxonomy() is load_taxonomy()
