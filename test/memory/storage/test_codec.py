"""Vectors as they are kept: small, and as good as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.storage import codec

DIMS = st.sampled_from((1, 2, 3, 31, 32, 384, 1024))


def unit_vectors(seed: int, count: int, dim: int) -> Vectors:
    """Random directions."""
    drawn = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    unit: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@given(seed=st.integers(0, 2**32 - 1), dim=DIMS)
def test_an_encoded_vector_is_exact_to_a_part_in_4000_of_its_greatest_component(seed: int, dim: int) -> None:
    vectors = unit_vectors(seed, 5, dim)
    kept = codec.encode(vectors)
    assert {len(one) for one in kept} == {codec.size(dim)}
    assert {codec.dimension(len(one)) for one in kept} == {dim}
    found = codec.decode(kept, dim)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-6)
    off = np.abs(found - vectors).max(axis=1) / np.abs(vectors).max(axis=1)
    assert (off <= 1 / 4000 + 4e-4).all()
    assert codec.encode(found) == kept


@given(seed=st.integers(0, 2**32 - 1), dim=DIMS)
def test_the_signed_bytes_of_what_is_kept_are_those_of_the_vector(seed: int, dim: int) -> None:
    vectors = unit_vectors(seed, 5, dim)
    upper, direct = codec.upper_bytes(codec.encode(vectors), dim), codec.as_bytes(vectors)
    assert upper.shape == direct.shape == (5, dim)
    assert np.abs(upper.astype(int) - direct.astype(int)).max() <= 1
    assert (np.abs(upper).max(axis=1) == 127).all()


def test_the_nearest_encoded_vectors_are_the_nearest_vectors() -> None:
    middles = unit_vectors(1, 200, 384)
    vectors = middles[np.arange(20_000) % 200] + 0.6 * unit_vectors(2, 20_000, 384)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = (vectors[::400] + 0.3 * unit_vectors(3, 50, 384)).astype(np.float32)
    exact = np.argsort(-asked @ vectors.T, axis=1)[:, :10]
    by_kept = np.argsort(-asked @ codec.decode(codec.encode(vectors), 384).T, axis=1)[:, :10]
    found = [len(set(one) & set(other)) for one, other in zip(exact.tolist(), by_kept.tolist(), strict=True)]
    assert np.mean(found) >= 9.95


def test_no_vectors_and_a_vector_of_zeros_do_no_harm() -> None:
    assert codec.encode(np.empty((0, 8), np.float32)) == []
    assert codec.decode([], 8).shape == (0, 8)
    kept = codec.encode(np.zeros((1, 8), np.float32))
    assert (codec.decode(kept, 8) == 0).all()
    assert (codec.as_bytes(np.zeros((1, 8), np.float32)) == 0).all()
