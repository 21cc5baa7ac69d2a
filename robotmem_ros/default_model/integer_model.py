"""Make an ONNX model with int8 weights compute in integers, so that a text takes half the time on a CPU.

Such a model turns its weights back into floating point numbers, int8 -> Cast -> Mul(scales) -> MatMul, and onnxruntime
does that once, when it loads the model: all sums are float then, over four times the bytes. Here each such MatMul
becomes DynamicQuantizeLinear -> MatMulInteger -> Cast -> Mul(scales): the weights stay integers, and what is multiplied
with them is rounded to 8 bits each time. All are operators of standard ONNX (since opset 11).

x86 processors with AVX2 and without VNNI add two products of an unsigned and a signed byte in 16 bits, with saturation.
So the weights give up their last bit: of magnitudes up to 64, two products are 2 * 255 * 64 = 32,640 at most, which 16
bits hold. Every processor computes the same sums then.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper


class _Weights(NamedTuple):
    """Weights of a product, and the scale of each column."""

    whole: TensorProto
    scales: TensorProto


def integer_model(source: bytes) -> bytes:
    """Return the same model with its sums in integers; a model without int8 weights comes back as it is."""
    model = onnx.load_model_from_string(source)
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    weights_by_output = {
        node.output[0]: weights
        for node in graph.node
        if node.op_type == "MatMul" and (weights := _weights(node, producers, tensors))
    }
    if not weights_by_output:
        return source
    narrow_tensors = {tensor.name: tensor for weights in weights_by_output.values() for tensor in _seven_bits(weights)}
    quantized: set[str] = set()
    nodes: list[NodeProto] = []
    for node in graph.node:
        weights = weights_by_output.get(node.output[0])
        nodes += _integer_product(node, weights, quantized) if weights else [node]
    _prune(model, nodes, [*graph.initializer, *narrow_tensors.values()])
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _weights(product: NodeProto, producers: dict[str, NodeProto], tensors: dict[str, TensorProto]) -> _Weights | None:
    multiplication = producers.get(product.input[1])
    if multiplication is None or multiplication.op_type != "Mul":
        return None
    cast, scales = producers.get(multiplication.input[0]), tensors.get(multiplication.input[1])
    if cast is None or cast.op_type != "Cast" or scales is None:
        return None
    whole = tensors.get(cast.input[0])
    # Scales that differ within a column cannot be applied to its sum.
    is_by_column = all(size == 1 for size in scales.dims[:-1])
    return _Weights(whole, scales) if whole and whole.data_type == TensorProto.INT8 and is_by_column else None


def _seven_bits(weights: _Weights) -> Iterator[TensorProto]:
    whole, scales = (numpy_helper.to_array(tensor) for tensor in weights)
    yield numpy_helper.from_array(np.rint(whole / 2).astype(np.int8), _narrow(weights.whole))
    yield numpy_helper.from_array(scales * scales.dtype.type(2), _narrow(weights.scales))


def _narrow(tensor: TensorProto) -> str:
    return f"{tensor.name}_7_bits"


def _integer_product(product: NodeProto, weights: _Weights, quantized: set[str]) -> Iterator[NodeProto]:
    value = product.input[0]
    if value not in quantized:  # once for all products that it is a factor of
        quantized.add(value)
        yield quantization(value)
    yield from integer_product(value, _narrow(weights.whole), _narrow(weights.scales), product.output[0])


def quantization(value: str) -> NodeProto:
    """Make the node that rounds a value to 8 bits; its outputs are the integers, their scale and their zero."""
    return helper.make_node(
        "DynamicQuantizeLinear", [value], [f"{value}_{part}" for part in ("rounded", "scale", "zero")]
    )


def integer_product(value: str, weights: str, scales: str, output: str) -> Iterator[NodeProto]:
    """Make the nodes that multiply a quantized value with int8 weights and give floats."""
    rounded, scale, zero = quantization(value).output
    integer, number, factors = (f"{output}_{part}" for part in ("integer", "float", "scales"))
    yield helper.make_node("MatMulInteger", [rounded, weights, zero], [integer])
    yield helper.make_node("Cast", [integer], [number], to=TensorProto.FLOAT)
    yield helper.make_node("Mul", [scale, scales], [factors])
    yield helper.make_node("Mul", [number, factors], [output])


def _prune(model: onnx.ModelProto, nodes: list[NodeProto], tensors: list[TensorProto]) -> None:
    needed_names = {output.name for output in model.graph.output}
    live_nodes = []
    for node in reversed(nodes):  # those that use an output come after the node that makes it
        if needed_names.intersection(node.output):
            needed_names.update(node.input)
            live_nodes.append(node)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(reversed(live_nodes))
    model.graph.initializer.extend(tensor for tensor in tensors if tensor.name in needed_names)
