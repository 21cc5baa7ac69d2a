"""Makes an ONNX model with int8 weights compute in int8, so that a text takes half the time on a CPU.

Such a model turns its weights back into floating point numbers, int8 -> Cast -> Mul(scales) -> MatMul, and onnxruntime
does that once, when it loads the model: all sums are float then, over four times the bytes. Here each such MatMul
becomes DynamicQuantizeLinear -> MatMulInteger -> Cast -> Mul(scales): the weights stay what they are, and what is
multiplied with them is rounded to 8 bits each time. All are operators of standard ONNX (since opset 11).

An ONNX file is a Protocol Buffers message; it is read and written here field by field, so that nothing but the standard
library is needed and the same file comes out everywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_GRAPH = 7  # of ModelProto
_NODE, _INITIALIZER = 1, 5  # of GraphProto
_INPUT, _OUTPUT, _OP_TYPE, _ATTRIBUTE = 1, 2, 4, 5  # of NodeProto
_DATA_TYPE, _TENSOR_NAME = 2, 8  # of TensorProto
_FLOAT, _INT8 = 1, 3  # of TensorProto.DataType
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Node:
    """A node of a graph."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass
class _Graph:
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """By the name of their first output."""
    int8: frozenset[str] = frozenset()
    """The names of the int8 tensors among the initializers."""

    def weights(self, node: Node) -> tuple[Node, Node] | None:
        """The Mul and the Cast that make floating point numbers of the int8 weights of a MatMul; None without."""
        scaled = self.nodes.get(node.inputs[1]) if node.operator == "MatMul" else None
        cast = self.nodes.get(scaled.inputs[0]) if scaled and scaled.operator == "Mul" else None
        is_int8 = cast is not None and cast.operator == "Cast" and cast.inputs[0] in self.int8
        return (scaled, cast) if scaled and cast and is_int8 else None


def integer_model(model: bytes) -> bytes:
    """Give the same model with its sums in int8; a model without int8 weights comes back as it is.

    Raises:
        ValueError: it is no ONNX model.
    """
    try:
        return b"".join(
            _field(number, _integer_graph(content)) if number == _GRAPH else whole
            for number, content, whole in fields(model)
        )
    except (IndexError, KeyError) as error:
        msg = "a node or a tensor that lacks what each has"
        raise ValueError(msg) from error


def fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Give the fields of a message: number, content, and the whole field as it stands there.

    Raises:
        ValueError: the bytes are no message.
    """
    at = 0
    while at < len(message):
        key, start = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            _, end = _varint(message, start)
        elif kind == _BYTES:
            length, start = _varint(message, start)
            end = start + length
        elif kind in (_FIXED64, _FIXED32):
            end = start + (8 if kind == _FIXED64 else 4)
        else:
            msg = f"a field of the unknown kind {kind}"
            raise ValueError(msg)
        if end > len(message):
            msg = "a field that is cut off"
            raise ValueError(msg)
        yield key >> 3, message[start:end], message[at:end]
        at = end


def _integer_graph(graph: bytes) -> bytes:
    parts = list(fields(graph))
    nodes = [_node(content) for number, content, _ in parts if number == _NODE]
    tensors = [
        {one: value for one, value, _ in fields(content)} for number, content, _ in parts if number == _INITIALIZER
    ]
    known = _Graph(
        {node.outputs[0]: node for node in nodes},
        frozenset(one[_TENSOR_NAME].decode() for one in tensors if _varint(one[_DATA_TYPE], 0)[0] == _INT8),
    )
    replaced = {name: found for name, node in known.nodes.items() if (found := known.weights(node))}
    dropped = {one.outputs[0] for found in replaced.values() for one in found}
    quantized: set[str] = set()
    made = []
    for number, content, whole in parts:
        node = _node(content) if number == _NODE else None
        if node is None or node.outputs[0] not in {*replaced, *dropped}:
            made.append(whole)
        elif node.outputs[0] in replaced:
            made += [_field(_NODE, one) for one in _integer_product(node, *replaced[node.outputs[0]], quantized)]
    return b"".join(made)


def _integer_product(node: Node, scaled: Node, cast: Node, quantized: set[str]) -> Iterator[bytes]:
    value, output = node.inputs[0], node.outputs[0]
    rounded, scale, zero = (f"{value}_{part}" for part in ("rounded", "scale", "zero"))
    if value not in quantized:  # once for all products that it is a factor of
        quantized.add(value)
        yield _encoded("DynamicQuantizeLinear", (value,), (rounded, scale, zero))
    integer, number, scales = (f"{output}_{part}" for part in ("integer", "float", "scales"))
    yield _encoded("MatMulInteger", (rounded, cast.inputs[0], zero), (integer,))
    yield _encoded("Cast", (integer,), (number,), _integer_attribute("to", _FLOAT))
    yield _encoded("Mul", (scale, scaled.inputs[1]), (scales,))
    yield _encoded("Mul", (number, scales), (output,))


def _node(message: bytes) -> Node:
    names: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _OP_TYPE: []}
    for number, content, _ in fields(message):
        if number in names:
            names[number].append(content.decode())
    return Node(names[_OP_TYPE][0], tuple(names[_INPUT]), tuple(names[_OUTPUT]))


def _encoded(operator: str, inputs: tuple[str, ...], outputs: tuple[str, ...], attribute: bytes = b"") -> bytes:
    texts = [*((_INPUT, name) for name in inputs), *((_OUTPUT, name) for name in outputs), (_OP_TYPE, operator)]
    return b"".join(_field(number, text.encode()) for number, text in texts) + attribute


def _integer_attribute(name: str, value: int) -> bytes:
    # Of AttributeProto: name, i, and type, which is INT (2).
    return _field(_ATTRIBUTE, _field(1, name.encode()) + b"\x18" + _as_varint(value) + b"\xa0\x01\x02")


def _field(number: int, content: bytes) -> bytes:
    return _as_varint(number << 3 | _BYTES) + _as_varint(len(content)) + content


def _as_varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        if at >= len(message):
            msg = "a number that is cut off"
            raise ValueError(msg)
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return number, at
