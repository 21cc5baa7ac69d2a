"""The model that computes in int8: the same products but for the rounding, and no other change."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integer_model import fields, integer_model

from . import onnx_files as onnx

Floats = npt.NDArray[np.float32]
ROWS, INNER, OUTER = 5, 24, 7

numbers = st.integers(1, 2**29 - 1)
varint_fields = st.builds(
    lambda number, held: (number, onnx.varint(held), onnx.number_field(number, held)),
    numbers,
    st.integers(0, 2**64 - 1),
)
bytes_fields = st.builds(
    lambda number, held: (number, held, onnx.bytes_field(number, held)), numbers, st.binary(max_size=300)
)
fixed_fields = st.builds(
    lambda number, held: (number, held, onnx.varint(number * 8 + (1 if len(held) == 8 else 5)) + held),
    numbers,
    st.binary(min_size=4, max_size=4) | st.binary(min_size=8, max_size=8),
)
messages = st.lists(varint_fields | bytes_fields | fixed_fields, max_size=8)


@given(parts=messages)
def test_the_fields_of_a_message_are_those_it_was_made_of(parts: list[tuple[int, bytes, bytes]]) -> None:
    assert list(fields(b"".join(whole for _, _, whole in parts))) == parts


@given(parts=messages, data=st.data())
def test_a_message_that_is_cut_off_inside_of_a_field_is_refused(
    parts: list[tuple[int, bytes, bytes]], data: st.DataObject
) -> None:
    message = b"".join(whole for _, _, whole in parts)
    ends = {sum(len(whole) for _, _, whole in parts[:count]) for count in range(len(parts) + 1)}
    cut = data.draw(st.integers(0, len(message)))
    if cut in ends:
        assert len(list(fields(message[:cut]))) <= len(parts)
    else:
        with pytest.raises(ValueError, match="cut off"):
            list(fields(message[:cut]))


@pytest.mark.parametrize("kind", [3, 4, 6, 7])
def test_a_field_of_an_unknown_kind_is_refused(kind: int) -> None:
    with pytest.raises(ValueError, match=f"a field of the unknown kind {kind}"):
        list(fields(bytes([8 + kind, 0])))


@given(content=st.binary(max_size=60) | messages.map(lambda parts: b"".join(whole for _, _, whole in parts)))
def test_what_is_no_model_is_refused_or_comes_back_as_it_is(content: bytes) -> None:
    for model in (content, onnx.bytes_field(7, content), onnx.bytes_field(7, onnx.bytes_field(1, content))):
        with suppress(ValueError):
            assert integer_model(model) == model


def weights(seed: int) -> tuple[npt.NDArray[np.int8], Floats]:
    """Random weights, and what each column is to be multiplied with."""
    draw = np.random.default_rng(seed)
    whole = draw.integers(-127, 128, (INNER, OUTER)).astype(np.int8)
    return whole, draw.uniform(0.001, 0.02, OUTER).astype(np.float32)


def products(*, is_int8: bool = True) -> bytes:
    """A model with two products of the same input, of int8 weights, and a third one with floats."""
    parts = [onnx.value(11, "x", (ROWS, INNER))]
    for name, seed in (("a", 1), ("b", 2)):
        whole, scales = weights(seed)
        kept = whole if is_int8 else whole.astype(np.float32)
        parts += [onnx.tensor(f"{name}_whole", kept), onnx.tensor(f"{name}_factors", scales)]
        parts += [onnx.cast(f"{name}_whole", f"{name}_cast")]
        parts += [onnx.node("Mul", [f"{name}_cast", f"{name}_factors"], f"{name}_weights")]
        parts += [onnx.node("MatMul", ["x", f"{name}_weights"], name), onnx.value(12, name, (ROWS, OUTER))]
    parts += [onnx.tensor("floats", np.eye(OUTER, dtype=np.float32)), onnx.node("MatMul", ["a", "floats"], "c")]
    return onnx.model([*parts, onnx.value(12, "c", (ROWS, OUTER))])


def operators(model: bytes) -> list[str]:
    """The operators of a model's nodes, in their order."""
    (graph,) = (content for number, content, _ in fields(model) if number == 7)
    nodes = [content for number, content, _ in fields(graph) if number == 1]
    return [content.decode() for one in nodes for number, content, _ in fields(one) if number == 4]


def run(model: bytes, x: Floats) -> list[Floats]:
    """What a model makes of an input."""
    found: list[Floats] = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    return found


@pytest.mark.parametrize("spread", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("offset", [-5.0, 0.0, 0.5])
def test_products_are_those_of_floats_but_for_eight_bits_of_rounding(spread: float, offset: float) -> None:
    x = (np.random.default_rng(3).standard_normal((ROWS, INNER)) * spread + offset).astype(np.float32)
    made = integer_model(products())
    found = run(made, x)
    step = (max(float(x.max()), 0.0) - min(float(x.min()), 0.0)) / 255
    for seed, product in zip((1, 2), found[:2], strict=True):
        whole, scales = weights(seed)
        exact = x.astype(np.float64) @ (whole * scales.astype(np.float64))
        rounding = step * np.abs(whole.astype(np.float64)).sum(axis=0) * scales
        assert np.all(np.abs(product - exact) <= rounding * 1.001)
        assert np.abs(product - exact).max() > 0
    assert found[2] == pytest.approx(found[0], rel=1e-6)


def test_only_the_products_of_whole_numbers_change_and_what_is_rounded_is_rounded_once() -> None:
    product = ["MatMulInteger", "Cast", "Mul", "Mul"]
    assert operators(products()) == ["Cast", "Mul", "MatMul"] * 2 + ["MatMul"]
    assert operators(integer_model(products())) == ["DynamicQuantizeLinear", *product, *product, "MatMul"]


def test_a_model_that_computes_in_int8_already_is_left_as_it_is() -> None:
    made = integer_model(products())
    assert integer_model(made) == made
    assert made == integer_model(products())


def test_a_model_without_int8_weights_comes_back_byte_for_byte() -> None:
    unused = onnx.model(
        [
            onnx.value(11, "x", (2, 2)),
            onnx.tensor("whole", np.ones((2, 2), np.int8)),
            onnx.cast("whole", "weights"),
            onnx.node("Add", ["x", "weights"], "y"),
            onnx.value(12, "y", (2, 2)),
        ]
    )
    for model in (products(is_int8=False), unused, b""):
        assert integer_model(model) == model
