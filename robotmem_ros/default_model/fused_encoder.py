"""Rebuild an exported BERT encoder out of a few large operators, so that a query takes a third less time on a CPU.

The export spells attention and GELU out in some fifty nodes a layer, most of which move numbers or compute shapes. Here
the weights are taken out of it, and a layer is built anew, from bottom to top:

    QAttention -> product -> Sum, LayerNormalization -> product -> Gelu -> product -> Sum, LayerNormalization

The integer products are the same, sum by sum; floats differ in their last bits. QAttention (query, key and value as one
product, then attention) and Gelu are onnxruntime's own operators (domain com.microsoft), which every build of it for a
CPU has. The rest is standard ONNX.

Embeddings of words stay int8 until they are looked up: as floats they would take 47 MB of RAM. There is no input for
token types: a single text has type 0 throughout, and FastEmbed gives no other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from .integer_model import integer_product, quantization

Array = npt.NDArray[Any]
_EMBEDDINGS = "inner.embeddings"
_LAYERS = "inner.encoder.layer"
_EPSILON = 1e-12
_OF_ONNXRUNTIME = {"QAttention", "Gelu"}


class _Product(NamedTuple):
    """Integer weights, the scale of each column, and the bias of the product."""

    weights: Array
    scales: Array
    bias: Array


def fused_encoder(source: bytes, heads: int) -> bytes:
    """Return the same encoder in few operators; a model that is no encoder with integer products comes back as it is.

    Args:
        source: the model as integer_model returns it.
        heads: number of attention heads in a layer.
    """
    graph = onnx.load_model_from_string(source).graph
    encoder = _Encoder(graph, heads)
    if not encoder.layers:
        return source
    value = encoder.add_embeddings()
    for layer in range(encoder.layers):
        value = encoder.add_layer(value, f"{_LAYERS}.{layer}")
    encoder.nodes[-1].output[0] = graph.output[0].name
    inputs = [value_info for value_info in graph.input if value_info.name != "token_type_ids"]
    encoder_graph = helper.make_graph(encoder.nodes, "encoder", inputs, graph.output, list(encoder.tensors.values()))
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(encoder_graph, opset_imports=domains, ir_version=8)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


class _Encoder:
    """Build a graph from bottom to top. Methods that add nodes return the name of the result."""

    def __init__(self, graph: GraphProto, heads: int) -> None:
        self.nodes: list[NodeProto] = []
        self.tensors: dict[str, TensorProto] = {}
        self._heads = heads
        self._weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._products = _products(graph, self._weights)
        self.layers = sum(name.endswith("attention.self.query.bias") for name in self._products)

    def add_embeddings(self) -> str:
        """Add up the embeddings of words and positions."""
        words, positions = (f"{_EMBEDDINGS}.{kind}_embeddings.weight" for kind in ("word", "position"))
        whole = self._add("Gather", [self._keep(f"{words}_q"), "input_ids"], "words_whole")
        scales = self._add("Gather", [self._keep(f"{words}_scale"), "input_ids"], "words_scales")
        numbers = self._add("Cast", [whole], "words_float", to=TensorProto.FLOAT)
        words_value = self._add("Mul", [numbers, scales], "words")
        typed = self._weights[f"{positions}_q"].astype(np.float32) * self._weights[f"{positions}_scale"]
        typed += self._weights[f"{_EMBEDDINGS}.token_type_embeddings.weight"][0]
        start = self._constant("start", np.zeros(1, np.int64))
        length = self._add("Shape", ["input_ids"], "length", start=1, end=2)
        positions_value = self._add("Slice", [self._constant(positions, typed), start, length, start], "positions")
        self._add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        value = self._add("Add", [words_value, positions_value], "embedded")
        return self._layer_norm(f"{_EMBEDDINGS}.LayerNorm", value)

    def add_layer(self, value: str, layer: str) -> str:
        """Add attention and the two products after it, each part with its input added to its result."""
        attention = self._product(self._attention(value, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
        value = self._layer_norm(f"{layer}.attention.output.LayerNorm", self._sum(attention, value))
        inner = self._product(value, f"{layer}.intermediate.dense")
        outer = self._product(self._add("Gelu", [inner], f"{inner}_gelu"), f"{layer}.output.dense")
        return self._layer_norm(f"{layer}.output.LayerNorm", self._sum(outer, value))

    def _attention(self, value: str, name: str) -> str:
        parts = [self._products[f"{name}.{part}.bias"] for part in ("query", "key", "value")]
        side_by_side = _Product(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
        weights, scales, bias = self._constants(name, side_by_side)
        rounded, scale, zero = self._quantize(value)
        inputs = [rounded, weights, bias, scale, scales, "mask", zero]
        return self._add("QAttention", inputs, name, num_heads=self._heads)

    def _product(self, value: str, name: str) -> str:
        weights, scales, bias = self._constants(name, self._products[f"{name}.bias"])
        self._quantize(value)
        self.nodes += integer_product(value, weights, scales, f"{name}_unbiased")
        return self._add("Add", [f"{name}_unbiased", bias], name)

    def _sum(self, value: str, residual: str) -> str:
        # Of Add and LayerNormalization onnxruntime would make SkipLayerNormalization, which takes four times as long.
        return self._add("Sum", [value, residual], f"{value}_sum")

    def _layer_norm(self, name: str, value: str) -> str:
        factors = [self._keep(f"{name}.{kind}") for kind in ("weight", "bias")]
        return self._add("LayerNormalization", [value, *factors], name, axis=-1, epsilon=_EPSILON)

    def _quantize(self, value: str) -> list[str]:
        node = quantization(value)
        self.nodes.append(node)
        return list(node.output)

    def _add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        domain = "com.microsoft" if operator in _OF_ONNXRUNTIME else ""
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def _constants(self, name: str, product: _Product) -> list[str]:
        return [self._constant(f"{name}.{part}", array) for part, array in product._asdict().items()]

    def _keep(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, array: Array) -> str:
        self.tensors[name] = numpy_helper.from_array(array, name)
        return name


def _products(graph: GraphProto, tensors: dict[str, Array]) -> dict[str, _Product]:
    """Find the integer products that a bias is added to, by the name of the bias."""
    producers = {output: node for node in graph.node for output in node.output}
    products = {}
    for node in graph.node:
        product, bias = node.input[0], node.input[-1]
        integer, factors = (producers.get(f"{product}_{part}") for part in ("integer", "scales"))
        if node.op_type == "Add" and bias in tensors and integer and factors:
            weights, scales = tensors[integer.input[1]], tensors[factors.input[1]]
            products[bias] = _Product(weights, scales.reshape(-1), tensors[bias])
    return products
