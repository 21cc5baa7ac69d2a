"""The checks at every door, on any value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, Pose
from robotmem_ros.memory import validation as check
from robotmem_ros.memory.errors import shown

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(value=ANYTHING)
def test_whatever_comes_in_is_used_or_refused_by_its_name(value: Any) -> None:
    for door in (
        lambda: check.text("field", value, limit=50),
        lambda: check.name("field", value),
        lambda: check.names("field", value),
        lambda: check.number("field", value),
        lambda: check.whole("field", value),
        lambda: check.time_ns("field", value),
        lambda: check.pose("field", value),
        lambda: check.json_object("field", value, limit=500),
        lambda: check.context("field", value, limit=500),
    ):
        refusals = _refusals(door)
        assert all(refusal.startswith("field") and len(refusal) < 400 for refusal in refusals)


def _refusals(door: Any) -> list[str]:
    try:
        door()
    except InvalidFieldError as error:
        return [str(error)]
    return []


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | FINITE | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(value=st.dictionaries(TEXTS, JSON, max_size=4))
def test_a_good_object_passes_as_it_is_given_as_text_or_as_mapping(value: dict[str, object]) -> None:
    assert check.json_object("field", value, limit=10**6) == value
    assert check.json_object("field", json.dumps(value), limit=10**6) == value
    assert json.loads(check.compact_json(value)) == value


def test_the_depth_of_json_ends_at_64() -> None:
    # {"a": 1} has one level.
    for levels, good in ((64, True), (65, False)):
        nested = "[" * (levels - 1) + "1" + "]" * (levels - 1)
        refusals = _refusals(lambda nested=nested: check.json_object("field", f'{{"a": {nested}}}', limit=1000))
        assert (refusals == []) == good


@given(
    position=st.lists(st.floats(-check.MAX_COORDINATE, check.MAX_COORDINATE), min_size=3, max_size=3),
    quaternion=st.lists(FINITE, min_size=4, max_size=4),
)
def test_a_quaternion_is_made_a_unit_quaternion(position: list[float], quaternion: list[float]) -> None:
    numbers = [*position, *quaternion]
    length = math.hypot(*quaternion)
    if not math.isfinite(length):
        with pytest.raises(InvalidFieldError, match="too long to be normalised"):
            check.pose("pose", numbers)
        return
    pose = check.pose("pose", numbers)
    assert pose is not None
    assert list(pose[:3]) == numbers[:3]
    # Numbers at the lower end of what a float holds have few digits left.
    assert math.hypot(*pose[3:]) == pytest.approx(1.0, abs=1e-9 if length > 1e-290 or length == 0 else 1.0)


def test_a_pose_without_an_orientation_does_not_turn() -> None:
    assert check.pose("pose", (1, 2, 3)) == Pose(1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)
    assert check.pose("pose", (1, 2, 3, 0, 0, 0, 0)) == Pose(1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)
    assert check.pose("pose", None) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("mug", "'mug'"),
        ("x" * 10**7, "'" + "x" * 79 + "..."),
        (b"y" * 10**7, "b'" + "y" * 78 + "..."),
        ("\ud800", "'\\ud800'"),
        ([1] * 1000, "[1, " + "1, " * 25 + "1..."),
        ({1: 10**5000}, "<dict>"),
        ("\x1b[31m", "'\\x1b[31m'"),
    ],
)
def test_a_value_is_shown_short_and_safe(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_path_is_shown_whole_and_safe() -> None:
    folder = "a_robot/" * 20
    assert shown(Path(f"/{folder}map.yaml")) == f"'/{folder}map.yaml'"
    assert shown(Path("one\nline\udc80")) == r"'one\nline\udc80'"


def test_names_are_sorted_and_stand_once() -> None:
    assert check.names("tags", ["b", " a ", "b", "", " \t"]) == ("a", "b")
    with pytest.raises(InvalidFieldError, match="tags: 'ab' must be a list of names"):
        check.names("tags", "ab")


SCALARS = st.sampled_from(("1", "-2.5e3", "1e999", "-1E400", "9" * 299, "9" * 301, "9" * 400 + ".5", "true", "null"))
STRINGS = st.sampled_from(('"a"', '"1e5"', '"\\u0041"', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"杯子"', '"{["'))
WRITTEN = st.recursive(
    SCALARS | STRINGS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(STRINGS, inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        ),
        st.tuples(inner, st.sampled_from((1, 62, 70))).map(lambda pair: "[" * pair[1] + pair[0] + "]" * pair[1]),
    ),
)


def is_sound(value: object, depth: int = 0) -> bool:
    if depth > 64:
        return False
    if isinstance(value, dict):
        return all(is_sound(name, depth) and is_sound(item, depth + 1) for name, item in value.items())
    if isinstance(value, list):
        return all(is_sound(item, depth + 1) for item in value)
    if isinstance(value, str):
        return "\0" not in value and not any(0xD800 <= ord(character) < 0xE000 for character in value)
    return not isinstance(value, (int, float)) or (abs(value) <= 10**300 and math.isfinite(value))


@given(WRITTEN)
def test_json_is_refused_exactly_when_a_name_or_value_in_it_cannot_be_kept(value: str) -> None:
    written = f'{{"a": {value}}}'
    parsed = json.loads(written)
    if is_sound(parsed):
        assert check.json_object("context", written, limit=10_000) == parsed
    else:
        with pytest.raises(InvalidFieldError, match=r"context"):
            check.json_object("context", written, limit=10_000)
