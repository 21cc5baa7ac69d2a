"""Compare the encoder in few operators with what it was exported as, node by node and as a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from robotmem_ros.default_model.fused_encoder import fused_encoder
from robotmem_ros.default_model.integer_model import integer_model

from .test_integer_model import products, run

Floats = npt.NDArray[np.float64]
Batch = dict[str, npt.NDArray[np.int64]]
WORDS, PLACES, WIDTH, INNER, HEADS, LAYERS = 30, 16, 24, 40, 3, 2
SIZE = WIDTH // HEADS
LAYER = "inner.encoder.layer.0"
DENSE = {
    "attention.self.query": (WIDTH, WIDTH),
    "attention.self.key": (WIDTH, WIDTH),
    "attention.self.value": (WIDTH, WIDTH),
    "attention.output.dense": (WIDTH, WIDTH),
    "intermediate.dense": (WIDTH, INNER),
    "output.dense": (INNER, WIDTH),
}


class Export:
    """Make an encoder with random weights, as PyTorch writes it: each step in nodes of its own."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: dict[str, onnx.TensorProto] = {}

    def model(self) -> bytes:
        """Build the model."""
        value = self._embeddings()
        for layer in range(LAYERS):
            value = self._layer(value, f"inner.encoder.layer.{layer}")
        self._nodes[-1].output[0] = "last_hidden_state"
        ids = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        found = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", WIDTH])
        graph = helper.make_graph(self._nodes, "export", ids, [found], list(self._tensors.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _embeddings(self) -> str:
        name = "inner.embeddings"
        words = self._whole(f"{name}.word_embeddings.weight", (WORDS, WIDTH), (WORDS, 1))
        places = self._whole(f"{name}.position_embeddings.weight", (PLACES, WIDTH), (PLACES, 1))
        types = self._tensor(f"{name}.token_type_embeddings.weight", self._draw.standard_normal((2, WIDTH)))
        zero = self._tensor("zero", np.zeros(1), np.int64)
        length = self._add("Shape", ["input_ids"], start=1, end=2)
        embedded = self._add("Gather", [words, "input_ids"])
        typed = self._add("Add", [embedded, self._add("Gather", [types, "token_type_ids"])])
        placed = self._add("Add", [typed, self._add("Slice", [places, zero, length, zero])])
        return self._normalized(f"{name}.LayerNorm", placed)

    def _layer(self, value: str, name: str) -> str:
        query, key, values = (
            self._heads(self._dense(value, f"{name}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = self._add("MatMul", [query, self._add("Transpose", [key], perm=[0, 1, 3, 2])])
        scaled = self._add("Mul", [scores, self._tensor("scale", np.array(SIZE**-0.5))])
        axes = self._tensor("axes", np.array([1, 2]), np.int64)
        seen = self._add("Unsqueeze", [self._add("Cast", ["attention_mask"], to=TensorProto.BOOL), axes])
        lowest = self._tensor("lowest", np.array(np.finfo(np.float32).min))
        likely = self._add("Softmax", [self._add("Where", [seen, scaled, lowest])], axis=-1)
        mixed = self._add("Transpose", [self._add("MatMul", [likely, values])], perm=[0, 2, 1, 3])
        joined = self._add("Reshape", [mixed, self._tensor("joined", np.array([0, 0, WIDTH]), np.int64)])
        attended = self._add("Add", [self._dense(joined, f"{name}.attention.output.dense"), value])
        value = self._normalized(f"{name}.attention.output.LayerNorm", attended)
        inner = self._gelu(self._dense(value, f"{name}.intermediate.dense"))
        return self._normalized(
            f"{name}.output.LayerNorm", self._add("Add", [self._dense(inner, f"{name}.output.dense"), value])
        )

    def _heads(self, value: str) -> str:
        shape = self._tensor("heads", np.array([0, 0, HEADS, SIZE]), np.int64)
        return self._add("Transpose", [self._add("Reshape", [value, shape])], perm=[0, 2, 1, 3])

    def _gelu(self, value: str) -> str:
        root, one, half = (self._tensor(f"n{number:.1f}", np.array(number)) for number in (math.sqrt(2), 1, 0.5))
        risen = self._add("Add", [self._add("Erf", [self._add("Div", [value, root])]), one])
        return self._add("Mul", [value, self._add("Mul", [half, risen])])

    def _dense(self, value: str, name: str) -> str:
        inner, outer = DENSE[name.split(".", 4)[4]]
        weights = self._whole(f"{name}.weight", (inner, outer), (1, outer))
        bias = self._tensor(f"{name}.bias", self._draw.standard_normal(outer) / 5)
        return self._add("Add", [self._add("MatMul", [value, weights]), bias])

    def _normalized(self, name: str, value: str) -> str:
        factor = self._tensor(f"{name}.weight", self._draw.uniform(0.5, 1.5, WIDTH))
        bias = self._tensor(f"{name}.bias", self._draw.standard_normal(WIDTH) / 5)
        return self._add("LayerNormalization", [value, factor, bias], axis=-1, epsilon=1e-12)

    def _whole(self, name: str, shape: tuple[int, int], scales: tuple[int, int]) -> str:
        whole = self._tensor(f"{name}_q", self._draw.integers(-127, 128, shape), np.int8)
        scaled = self._tensor(f"{name}_scale", self._draw.uniform(0.001, 0.004, scales))
        return self._add("Mul", [self._add("Cast", [whole], to=TensorProto.FLOAT), scaled])

    def _tensor(self, name: str, values: npt.NDArray[Any], kind: npt.DTypeLike = np.float32) -> str:
        self._tensors[name] = numpy_helper.from_array(values.astype(kind), name)
        return name

    def _add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name


def encoders(seed: int) -> tuple[bytes, bytes]:
    """Make an encoder with integer products, and the same one in few operators."""
    spelled_out = integer_model(Export(seed).model())
    return spelled_out, fused_encoder(spelled_out, HEADS)


def batch(seed: int, lengths: Sequence[int]) -> Batch:
    """Make random texts of these lengths, filled up to the longest."""
    draw = np.random.default_rng(seed)
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(np.int64)
    return {"input_ids": draw.integers(0, WORDS, mask.shape) * mask, "attention_mask": mask}


def looked_into(model: bytes, names: Sequence[str], texts: Batch) -> Iterator[npt.NDArray[Any]]:
    """Run a model; return these values within it."""
    opened = onnx.load_model_from_string(model)
    opened.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return iter(run(opened.SerializeToString(), **texts)[1:])


def tensor(model: bytes, name: str) -> Floats:
    """Return a tensor of a model."""
    (found,) = (each for each in onnx.load_model_from_string(model).graph.initializer if each.name == name)
    return numpy_helper.to_array(found).astype(np.float64)


LENGTHS = [[1], [2], [7], [PLACES], [3, 9, 5], [PLACES, 1]]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_fused_encoder_computes_what_the_spelled_out_one_does(seed: int, lengths: list[int]) -> None:
    spelled_out, fused = encoders(seed)
    texts = batch(seed, lengths)
    before = run(spelled_out, **texts, token_type_ids=np.zeros_like(texts["input_ids"]))[0]
    after = run(fused, **texts)[0]
    assert after.shape == before.shape == (len(lengths), max(lengths), WIDTH)
    read = texts["attention_mask"] == 1
    # A number that lies between two of the 256 steps may be rounded to the other one, by its last bit.
    assert np.abs(after - before)[read].max() < 0.1
    cosines = (after * before).sum(axis=-1) / np.linalg.norm(after, axis=-1) / np.linalg.norm(before, axis=-1)
    assert cosines[read].min() > 0.999


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_attention_is_that_of_its_formula_and_sees_no_padding(lengths: list[int]) -> None:
    _, fused = encoders(5)
    texts = batch(5, lengths)
    below = "inner.embeddings.LayerNorm"
    name = f"{LAYER}.attention.self"
    names = [f"{below}_rounded", f"{below}_scale", f"{below}_zero", name]
    rounded, scale, zero, found = looked_into(fused, names, texts)
    weights, scales, bias = (tensor(fused, f"{name}.{part}") for part in ("weights", "scales", "bias"))
    three = (rounded.astype(np.float64) - zero) @ weights * (scales * scale) + bias
    parts = three.reshape(*three.shape[:2], 3, HEADS, SIZE).transpose(2, 0, 3, 1, 4)
    query, key, value = parts
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(SIZE)
    likely = np.exp(scores - scores.max(axis=-1, keepdims=True)) * texts["attention_mask"][:, None, None, :]
    mixed = likely / likely.sum(axis=-1, keepdims=True) @ value
    expected = mixed.transpose(0, 2, 1, 3).reshape(found.shape)
    assert found == pytest.approx(expected, abs=1e-4)


def test_gelu_and_normalization_are_those_of_their_formulas() -> None:
    _, fused = encoders(6)
    inner, name = f"{LAYER}.intermediate.dense", f"{LAYER}.output.LayerNorm"
    summands = [f"{LAYER}.output.dense", f"{LAYER}.attention.output.LayerNorm"]
    before, gelu, *both, found = looked_into(fused, [inner, f"{inner}_gelu", *summands, name], batch(6, [9, 4]))
    assert gelu == pytest.approx(before * (1 + np.vectorize(math.erf)(before / math.sqrt(2))) / 2, abs=1e-5)
    total = sum(each.astype(np.float64) for each in both)
    centred = total - np.mean(total, axis=-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True))
    assert found == pytest.approx(normal * tensor(fused, f"{name}.weight") + tensor(fused, f"{name}.bias"), abs=1e-4)


def test_embeddings_are_those_of_the_words_in_their_places_with_type_0() -> None:
    spelled_out, fused = encoders(7)
    texts = batch(7, [PLACES, 3])
    (found,) = looked_into(fused, ["embedded"], texts)
    name = "inner.embeddings"
    words, places = (
        tensor(spelled_out, f"{name}.{kind}_embeddings.weight_q")
        * tensor(spelled_out, f"{name}.{kind}_embeddings.weight_scale")
        for kind in ("word", "position")
    )
    types = tensor(spelled_out, f"{name}.token_type_embeddings.weight")
    assert found == pytest.approx(words[texts["input_ids"]] + places + types[0], abs=1e-5)


def test_onnxruntime_runs_a_layer_in_the_few_operators_meant(tmp_path: Path) -> None:
    _, fused = encoders(8)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3  # it warns that what it writes here is for this processor
    onnxruntime.InferenceSession(fused, options, providers=["CPUExecutionProvider"])
    nodes = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
    embeddings = ["Gather", "Cast", "Gather", "Mul", "Shape", "Slice", "Cast", "Add", "LayerNormalization"]
    layer = ["DynamicQuantizeLinear", "QAttention", "DynamicQuantizeMatMul", "Sum", "LayerNormalization"]
    layer += ["DynamicQuantizeMatMul", "Gelu", "DynamicQuantizeMatMul", "Sum", "LayerNormalization"]
    assert sorted(nodes) == sorted(embeddings + layer * LAYERS)


def test_the_same_model_has_the_same_bytes_each_time_and_is_not_fused_twice() -> None:
    spelled_out, fused = encoders(9)
    assert fused_encoder(spelled_out, HEADS) == fused
    assert fused_encoder(fused, HEADS) == fused
    assert integer_model(fused) == fused
    onnx.checker.check_model(onnx.load_model_from_string(fused))


@pytest.mark.parametrize("model", [products(), integer_model(products()), Export(1).model()])
def test_what_is_no_encoder_with_integer_products_comes_back_byte_for_byte(model: bytes) -> None:
    assert fused_encoder(model, HEADS) == model
