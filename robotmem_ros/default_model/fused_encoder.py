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

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from .integer_model import integer_product, quantization

Array = npt.NDArray[Any]
EMBEDDINGS = "inner.embeddings"
LAYERS = "inner.encoder.layer"
_EPSILON = 1e-12
_OF_ONNXRUNTIME = {"QAttention", "Gelu", "GatherBlockQuantized"}


class Product(NamedTuple):
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
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    encoder = EncoderBuilder(weights, _products(graph, weights), heads)
    if not encoder.layers:
        return source
    encoder.add_all(graph.output[0].name)
    inputs = [value_info for value_info in graph.input if value_info.name != "token_type_ids"]
    encoder_graph = helper.make_graph(encoder.nodes, "encoder", inputs, graph.output, list(encoder.tensors.values()))
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(encoder_graph, opset_imports=domains, ir_version=8)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


class EncoderBuilder:
    """Build a graph from bottom to top. Methods that add nodes return the name of the result.

    Args:
        weights: Arrays by the names that an export gives them.
        products: The integer products, by the names of their biases.
        heads: Number of attention heads in a layer.
    """

    def __init__(self, weights: Mapping[str, Array], products: Mapping[str, Product], heads: int) -> None:
        self.nodes: list[NodeProto] = []
        self.tensors: dict[str, TensorProto] = {}
        self._heads = heads
        self._weights = weights
        self._products = products
        self.layers = sum(name.endswith("attention.self.query.bias") for name in products)

    def add_all(self, output: str) -> None:
        """Add the embeddings and all layers, the last of which gives `output`."""
        value = self._add_embeddings()
        for layer in range(self.layers):
            value = self._add_layer(value, f"{LAYERS}.{layer}")
        self.nodes[-1].output[0] = output

    def _add_embeddings(self) -> str:
        words = self._add_words()
        start = self._constant("start", np.zeros(1, np.int64))
        length = self._add("Shape", ["input_ids"], "length", start=1, end=2)
        rows = self._constant(f"{EMBEDDINGS}.position_embeddings.weight", self._positions())
        positions = self._add("Slice", [rows, start, length, start], "positions")
        self._add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
        value = self._add("Add", [words, positions], "embedded")
        return self._layer_norm(f"{EMBEDDINGS}.LayerNorm", value)

    def _add_words(self) -> str:
        words = f"{EMBEDDINGS}.word_embeddings.weight"
        whole = self._add("Gather", [self._keep(f"{words}_q"), "input_ids"], "words_whole")
        scales = self._add("Gather", [self._keep(f"{words}_scale"), "input_ids"], "words_scales")
        numbers = self._add("Cast", [whole], "words_float", to=TensorProto.FLOAT)
        return self._add("Mul", [numbers, scales], "words")

    def _positions(self) -> Array:
        positions = f"{EMBEDDINGS}.position_embeddings.weight"
        typed: Array = self._weights[f"{positions}_q"].astype(np.float32) * self._weights[f"{positions}_scale"]
        typed += self._weights[f"{EMBEDDINGS}.token_type_embeddings.weight"][0]
        return typed

    def _add_layer(self, value: str, layer: str) -> str:
        # Attention and the two products after it, each part with its input added to its result.
        attention = self._product(self._attention(value, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
        value = self._layer_norm(f"{layer}.attention.output.LayerNorm", self._sum(attention, value))
        inner = self._product(value, f"{layer}.intermediate.dense")
        outer = self._product(self._add("Gelu", [inner], f"{inner}_gelu"), f"{layer}.output.dense")
        return self._layer_norm(f"{layer}.output.LayerNorm", self._sum(outer, value))

    def _attention(self, value: str, name: str) -> str:
        parts = [self._products[f"{name}.{part}.bias"] for part in ("query", "key", "value")]
        side_by_side = Product(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
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

    def _constants(self, name: str, product: Product) -> list[str]:
        return [self._constant(f"{name}.{part}", array) for part, array in product._asdict().items()]

    def _keep(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, array: Array) -> str:
        self.tensors[name] = numpy_helper.from_array(array, name)
        return name


def _products(graph: GraphProto, tensors: dict[str, Array]) -> dict[str, Product]:
    """Find the integer products that a bias is added to, by the name of the bias."""
    producers = {output: node for node in graph.node for output in node.output}
    products = {}
    for node in graph.node:
        product, bias = node.input[0], node.input[-1]
        integer, factors = (producers.get(f"{product}_{part}") for part in ("integer", "scales"))
        if node.op_type == "Add" and bias in tensors and integer and factors:
            weights, scales = tensors[integer.input[1]], tensors[factors.input[1]]
            products[bias] = Product(weights, scales.reshape(-1), tensors[bias])
    return products
