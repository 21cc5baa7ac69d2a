"""Embedding providers for tests: deterministic and quick where a text only needs a vector, and ways to go wrong."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from robotmem_ros.memory.embedding import Embedder, Vector, Vectors


class WordVectors:
    """A bag of words: each word has a random direction of its own, a text is the sum of its words."""

    available = True
    batch = 8

    def __init__(self, dim: int = 32, name: str = "word-vectors") -> None:
        self.dim = dim
        self.name = name
        self.embedded: list[str] = []
        """Every text that was asked for, in order."""

    def embed_one(self, text: str) -> Vector:
        """Return the unit vector of one text."""
        vector: Vector = self.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of texts, in order."""
        self.embedded += texts
        return np.stack([self._sum(text) for text in texts])

    def close(self) -> None:
        """Release nothing."""

    def _sum(self, text: str) -> Vector:
        words = sorted(text.lower().split()) or ["nothing"]
        total = np.sum([self._direction(word) for word in words], axis=0)
        vector: Vector = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

    def _direction(self, word: str) -> npt.NDArray[np.float64]:
        directions = np.random.default_rng(zlib.crc32(f"{self.name} {word}".encode()))
        return directions.standard_normal(self.dim)


class FewWords(WordVectors):
    """Reads four words of a text, so that a longer one has parts."""

    max_tokens = 4

    def count_tokens(self, text: str) -> int:
        """Count the words of a text."""
        return len(text.split())


class Borrowed:
    """Another embedder that several memories share: closing a memory leaves it open."""

    available = True
    batch = 8

    def __init__(self, lender: Embedder) -> None:
        self._lender = lender
        self.name, self.dim = lender.name, lender.dim

    def embed_one(self, text: str) -> Vector:
        """Embed like the lender."""
        return self._lender.embed_one(text)

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Embed like the lender."""
        return self._lender.embed_batch(texts)

    def close(self) -> None:
        """Leave the lender as it is."""


class BreakingVectors(WordVectors):
    """Works until it is told to break, then raises what it was given."""

    error: BaseException | None = None

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return vectors, or raise the error."""
        if self.error is not None:
            raise self.error
        return super().embed_batch(texts)


class HeldVectors(WordVectors):
    """Embeds queries at once, but texts with a prefix only after `release` is set."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.release = threading.Event()
        self._prefix = prefix

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, perhaps with a delay."""
        if any(text.startswith(self._prefix) for text in texts):
            self.release.wait(60)
        return super().embed_batch(texts)


class WrongVectors(WordVectors):
    """Gives what a function makes of the vectors wherever a text holds a word."""

    def __init__(self, word: str, spoil: Callable[[Vectors], npt.NDArray[np.generic]]) -> None:
        super().__init__()
        self.word, self._spoil = word, spoil

    def embed_one(self, text: str) -> Vector:
        """Return the vector, perhaps modified."""
        vectors = self.embed_batch([text])
        return vectors[0] if len(vectors) == 1 else vectors

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, perhaps modified."""
        vectors = super().embed_batch(texts)
        return self._spoil(vectors) if any(self.word in text for text in texts) else vectors  # type: ignore[return-value]
