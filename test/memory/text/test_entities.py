"""Numbers of a text: value, unit and name."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.learning.classification import physical_parameters
from robotmem_ros.memory.text.entities import quantities, unit_named

N, SPEED, ANGLE = "N", "m/s", "°"
CASES: list[tuple[str, dict[str, tuple[float, str]]]] = [
    ("grip_force=12.5N works best", {"grip_force": (12.5, N)}),
    ("drive at speed 0.4 m/s", {"speed": (0.4, SPEED)}),
    ("turn by 30°", {"angle": (30, ANGLE)}),
    ("turn by 30 degrees", {"angle": (30, ANGLE)}),
    ("力度 8N", {"force": (8, N)}),
    ("夹持力用2牛", {"grip_force": (2, N)}),
    ("速度不得超过0.5 m/s", {"speed": (0.5, SPEED)}),
    ("房间温度为22摄氏度", {"temperature": (22, "°C")}),
    ("温度30度", {"temperature": (30, "°C")}),
    ("旋转30度", {"angle": (30, ANGLE)}),
    ("A grip force of about 12.5 newtons holds", {"grip_force": (12.5, N)}),
    ("a 4 N grip force", {"grip_force": (4, N)}),
    ("hold with 4 N", {"force": (4, N)}),
    ("hold with 4 mN", {"force": (4, "mN")}),
    ("The doorway is 0.82 m wide", {"width": (0.82, "m")}),
    ("the distance was right after 3 s", {"duration": (3, "s")}),
    ("offset of -0.8 N", {"offset": (-0.8, N)}),
    ("max_retries=3", {"max_retries": (3, "")}),
    ("speed := 0.2 m/s and force: 3 N", {"speed": (0.2, SPEED), "force": (3, N)}),
    ("1,200 mm or 12,5 N", {"distance": (1200, "mm"), "force": (12.5, N)}),
    ("from 8 N at first up to 9 N", {"force": (8, N), "force_2": (9, N)}),
    ("ｓｐｅｅｄ：０.４ｍ/ｓ", {"speed": (0.4, SPEED)}),
    ("battery below 20%", {"battery_level": (20, "%")}),
    ("room 204 on floor 2, dock 1 at 10:15, part XK4711", {}),
    ("version 2.3.1", {}),
    ("nothing to measure", {}),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text[:30] for text, _ in CASES])
def test_parameters_have_name_value_and_unit(text: str, expected: dict[str, tuple[float, str]]) -> None:
    parameters, decisions = physical_parameters(quantities(unicodedata.normalize("NFKC", text)))
    assert parameters == {name: {"value": value, "unit": unit} for name, (value, unit) in expected.items()}
    assert [decision.field for decision in decisions] == [f"params.{name}" for name in expected]


def test_a_range_has_both_ends() -> None:
    for text in ("force of 10-15 N", "force of 10 to 15 N", "力度10到15N"):
        parameters, _ = physical_parameters(quantities(text))
        assert parameters == {"force": {"min": 10, "max": 15, "unit": N}}


def test_units_are_distinguished_by_letter_case() -> None:
    units = [unit_named(one.unit) for one in quantities("5 mPa 5 MPa 3 mNm 3 Nm")]
    assert [unit and (unit.symbol, unit.factor) for unit in units] == [None, ("MPa", 1e6), ("mNm", 1e-3), ("Nm", 1.0)]


@given(st.floats(0.001, 99_999).map(lambda value: round(value, 3)), st.sampled_from(("N", "m/s", "kg", "°C", "V")))
def test_any_number_before_a_unit_is_read_back(value: float, unit: str) -> None:
    (found,) = quantities(f"it was {value:.3f} {unit} then")
    assert (found.value, found.unit) == (value, unit)


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    plain = unicodedata.normalize("NFKC", text)
    for one in quantities(plain):
        assert 0 <= one.start < one.end <= len(plain)
