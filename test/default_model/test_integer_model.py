"""The model that computes in integers: the same products but for rounding, on every processor; nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from robotmem_ros.default_model.integer_model import integer_model

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int8]
ROWS, INNER, OUTER = 5, 24, 7


def weights(seed: int) -> tuple[Whole, Floats]:
    """Random weights, all that int8 has among them, and what each column is to be multiplied with."""
    draw = np.random.default_rng(seed)
    whole = draw.integers(-128, 128, (INNER, OUTER)).astype(np.int8)
    return whole, draw.uniform(0.001, 0.02, OUTER).astype(np.float32)


def made_of(nodes: Sequence[onnx.NodeProto], tensors: Sequence[onnx.TensorProto], outputs: Sequence[str]) -> bytes:
    """Make a model of an input x and these nodes."""
    x, *others = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", *outputs))
    graph = helper.make_graph(list(nodes), "a graph", [x], others, list(tensors))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def product(name: str, whole: Whole | Floats, scales: Floats) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Make the nodes and tensors that multiply x with scaled weights."""
    nodes = [
        helper.make_node("Cast", [f"{name}_whole"], [f"{name}_cast"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}_cast", f"{name}_factors"], [f"{name}_weights"]),
        helper.make_node("MatMul", ["x", f"{name}_weights"], [name]),
    ]
    return nodes, [numpy_helper.from_array(whole, f"{name}_whole"), numpy_helper.from_array(scales, f"{name}_factors")]


def products(*, is_int8: bool = True) -> bytes:
    """Make a model with two products of one input with int8 weights, and a third one with floats."""
    nodes, tensors = [], [numpy_helper.from_array(np.eye(OUTER, dtype=np.float32), "floats")]
    for name, seed in (("a", 1), ("b", 2)):
        whole, scales = weights(seed)
        more_nodes, more_tensors = product(name, whole if is_int8 else whole.astype(np.float32), scales)
        nodes += more_nodes
        tensors += more_tensors
    nodes.append(helper.make_node("MatMul", ["a", "floats"], ["c"]))
    return made_of(nodes, tensors, ["a", "b", "c"])


def operators(model: bytes) -> list[str]:
    """Return the operators of a model's nodes, in order."""
    return [node.op_type for node in onnx.load_model_from_string(model).graph.node]


def integer_weights(model: bytes) -> list[Whole]:
    """Return the weights of a model's integer products."""
    graph = onnx.load_model_from_string(model).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    products = {"MatMulInteger", "QAttention"}
    return [tensors[node.input[1]].astype(np.int8) for node in graph.node if node.op_type in products]


def run(model: bytes, **inputs: npt.NDArray[np.generic]) -> list[Floats]:
    """Run a model on its inputs."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found: list[Floats] = session.run(None, inputs)
    return found


def saturating_product(rows: npt.NDArray[np.uint8], columns: Whole) -> npt.NDArray[np.int64]:
    """Multiply as x86 without VNNI does: add each two products in 16 bits, with saturation."""
    pairs = rows.astype(np.int64)[:, :, None] * columns.astype(np.int64)
    sums = pairs[:, 0::2] + pairs[:, 1::2]
    total: npt.NDArray[np.int64] = np.clip(sums, -(2**15), 2**15 - 1).sum(axis=1)
    return total


def exact_product(rows: npt.NDArray[np.uint8], columns: Whole) -> npt.NDArray[np.int64]:
    """Multiply in integers without saturation."""
    return rows.astype(np.int64) @ columns.astype(np.int64)


def narrowed(whole: Whole) -> Whole:
    """Return the weights that replace these in the integer model."""
    nodes, tensors = product("a", whole, np.ones(whole.shape[1], np.float32))
    (found,) = integer_weights(integer_model(made_of(nodes, tensors, ["a"])))
    return found


def test_no_pair_of_products_exceeds_16_bits_whatever_the_weights_and_the_input() -> None:
    every_weight = np.arange(-128, 128).astype(np.int8)[None, :]
    kept = narrowed(every_weight).astype(np.int64)
    assert np.abs(kept * 2 - every_weight).max() == 1
    assert 2 * 255 * kept.max() <= 2**15 - 1
    assert 2 * 255 * kept.min() >= -(2**15)


@given(seed=st.integers(0, 2**32 - 1), extreme=st.booleans())
def test_a_processor_that_saturates_computes_the_products_of_the_made_model_exactly(seed: int, extreme: bool) -> None:
    draw = np.random.default_rng(seed)
    rows = (draw.choice([0, 255], (ROWS, INNER)) if extreme else draw.integers(0, 256, (ROWS, INNER))).astype(np.uint8)
    whole = draw.choice([-128, 127], (INNER, OUTER)) if extreme else draw.integers(-128, 128, (INNER, OUTER))
    kept = narrowed(whole.astype(np.int8))
    assert np.array_equal(saturating_product(rows, kept), exact_product(rows, kept))


def test_eight_bits_would_be_cut_off_on_a_processor_that_saturates() -> None:
    rows, whole = np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)
    assert saturating_product(rows, whole) == 2**15 - 1 < exact_product(rows, whole)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize(("inner", "outer"), [(INNER, OUTER), (24, 32), (384, 96)])
def test_this_processor_computes_the_products_exactly(rows: int, inner: int, outer: int) -> None:
    draw = np.random.default_rng(rows)
    kept = narrowed(draw.choice([-128, -127, 1, 127], (inner, outer)).astype(np.int8))
    node = helper.make_node("MatMulInteger", ["x", "weights"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, [None, inner])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [None, outer])
    graph = helper.make_graph([node], "a graph", [x], [y], [numpy_helper.from_array(kept, "weights")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    for values in (np.full((rows, inner), 255, np.uint8), draw.choice([0, 255], (rows, inner)).astype(np.uint8)):
        assert np.array_equal(run(model.SerializeToString(), x=values)[0], exact_product(values, kept))


@pytest.mark.parametrize("spread", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("offset", [-5.0, 0.0, 0.5])
def test_products_are_those_of_floats_but_for_the_rounding_of_both_factors(spread: float, offset: float) -> None:
    x = (np.random.default_rng(3).standard_normal((ROWS, INNER)) * spread + offset).astype(np.float32)
    found = run(integer_model(products()), x=x)
    step = (max(float(x.max()), 0.0) - min(float(x.min()), 0.0)) / 255
    for seed, product in zip((1, 2), found[:2], strict=True):
        whole, scales = weights(seed)
        exact = x.astype(np.float64) @ (whole * scales.astype(np.float64))
        of_input = step * (np.abs(whole.astype(np.float64)) + 1).sum(axis=0) * scales
        of_weights = np.abs(x.astype(np.float64)).sum(axis=1, keepdims=True) * scales
        assert np.all(np.abs(product - exact) <= (of_input + of_weights) * 1.001)
        assert np.abs(product - exact).max() > 0
    assert found[2] == pytest.approx(found[0], rel=1e-6)


def test_only_the_products_of_whole_numbers_change_and_what_is_rounded_is_rounded_once() -> None:
    product = ["MatMulInteger", "Cast", "Mul", "Mul"]
    assert operators(products()) == ["Cast", "Mul", "MatMul"] * 2 + ["MatMul"]
    assert operators(integer_model(products())) == ["DynamicQuantizeLinear", *product, *product, "MatMul"]


def test_weights_that_something_else_needs_stay_as_they_are_for_it() -> None:
    whole, scales = weights(1)
    nodes, tensors = product("a", whole, scales)
    nodes.append(helper.make_node("Identity", ["a_weights"], ["b"]))
    x = np.ones((ROWS, INNER), np.float32)
    source = made_of(nodes, tensors, ["a", "b"])
    made = integer_model(source)
    assert operators(made).count("MatMulInteger") == 1
    assert np.array_equal(run(made, x=x)[1], run(source, x=x)[1])


def test_a_model_that_computes_in_integers_already_is_left_as_it_is() -> None:
    made = integer_model(products())
    assert integer_model(made) == made
    assert made == integer_model(products())


def scaled_by_row() -> bytes:
    """Scale weights row by row, which cannot be undone after the sum."""
    nodes, tensors = product("a", np.ones((INNER, OUTER), np.int8), np.ones((INNER, 1), np.float32))
    return made_of(nodes, tensors, ["a"])


def without_product() -> bytes:
    """Make a model that adds its int8 weights instead of multiplying with them."""
    nodes = [
        helper.make_node("Cast", ["whole"], ["weights"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "weights"], ["y"]),
    ]
    return made_of(nodes, [numpy_helper.from_array(np.ones((2, 2), np.int8), "whole")], ["y"])


@pytest.mark.parametrize("model", [products(is_int8=False), scaled_by_row(), without_product()])
def test_a_model_without_products_of_int8_weights_comes_back_byte_for_byte(model: bytes) -> None:
    assert integer_model(model) == model
