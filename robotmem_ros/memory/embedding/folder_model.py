"""Run a sentence embedding model from a folder by onnxruntime alone: the import of FastEmbed takes 30 MB of RAM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..models import Vectors
from ..threads import importing

PIECES = "sentencepiece.model"
"""File of the tokenizer of some models; others have tokenizer.json."""


class FolderModel:
    """An ONNX model and its tokenizer.

    Args:
        onnx: The file of the model; its folder has the other files.
        cls_pooling: Whether the vector of a text is that of its first token, instead of the mean of all.
        threads: Number of threads that compute.
    """

    def __init__(self, folder: Path, onnx: str, *, cls_pooling: bool, threads: int) -> None:
        with importing:
            import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        # By default threads spin for a while after each text and take the cores from the rest of the query.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.tokens = _tokenizer(folder)
        """Its tokenizer."""
        self._session = onnxruntime.InferenceSession(
            str(folder / onnx), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._cls_pooling = cls_pooling

    def embed(self, texts: Sequence[str], batch_size: int) -> Iterator[Any]:
        """Yield a vector for each text, of any length."""
        for start in range(0, len(texts), batch_size):
            yield from self._embed(texts[start : start + batch_size])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # encode_batch() wakes threads of its own, which takes three times as long as to read one text.
        one = len(texts) == 1
        encodings = [self.tokens.encode(texts[0])] if one else self.tokens.encode_batch(list(texts))
        tokens = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        values = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        states: Vectors = self._session.run(None, {name: values[name] for name in self._inputs})[0]
        if self._cls_pooling:
            return states[:, 0]
        weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        means: Vectors = np.einsum("ijk,ij->ik", states, weights)
        return means


class _Encoding(NamedTuple):
    ids: list[int]
    attention_mask: list[int]


class _SentencePieces:
    """A SentencePiece model, which takes a fifth of the RAM that the package tokenizers takes for 250,000 pieces."""

    def __init__(self, file: Path, max_tokens: int) -> None:
        with importing:
            from sentencepiece import SentencePieceProcessor
        self._processor = SentencePieceProcessor(model_file=str(file))
        self.max_tokens = max_tokens

    def count(self, text: str) -> int:
        return len(self._processor.encode(text)) + 2

    def encode(self, text: str) -> _Encoding:
        ids: list[int] = self._processor.encode(text, add_bos=True, add_eos=True)
        if len(ids) > self.max_tokens:
            ids = [*ids[: self.max_tokens - 1], ids[-1]]
        return _Encoding(ids, [1] * len(ids))

    def encode_batch(self, texts: Sequence[str]) -> list[_Encoding]:
        encodings = [self.encode(text) for text in texts]
        length, pad = max(len(encoding.ids) for encoding in encodings), self._processor.pad_id()
        return [
            _Encoding(ids + [pad] * (length - len(ids)), mask + [0] * (length - len(ids))) for ids, mask in encodings
        ]


class Tokens:
    """A tokenizer of the package tokenizers, which cuts texts off behind what a model reads."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.max_tokens: int = (tokenizer.truncation or {}).get("max_length", 0)
        """Number of tokens of a text that the model reads; 0 if it reads all."""
        self.encode, self.encode_batch = tokenizer.encode, tokenizer.encode_batch

    def count(self, text: str) -> int:
        """Count the tokens of a text, those at its ends included; a few more of one that is cut off."""
        encoding = self._tokenizer.encode(text)
        return sum(sum(piece.attention_mask) for piece in (encoding, *encoding.overflowing))


def _tokenizer(folder: Path) -> _SentencePieces | Tokens:
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    lengths = (settings.get(name) for name in ("model_max_length", "max_length"))
    max_tokens = min(length for length in lengths if isinstance(length, int))
    if (pieces := folder / PIECES).exists():
        return _SentencePieces(pieces, max_tokens)
    # As FastEmbed reads these files.
    with importing:
        from tokenizers import AddedToken, Tokenizer
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(max_tokens)
    special = folder / "special_tokens_map.json"
    for entry in json.loads(special.read_text()).values() if special.exists() else ():
        for token in entry if isinstance(entry, list) else [entry]:
            tokenizer.add_special_tokens([AddedToken(**token) if isinstance(token, dict) else token])
    padding = {"pad_token": settings.get("pad_token"), **(tokenizer.padding or {})}
    padding.setdefault("pad_id", tokenizer.token_to_id(padding["pad_token"]))
    tokenizer.enable_padding(**(padding | {"length": None}))
    return Tokens(tokenizer)
