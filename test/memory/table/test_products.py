"""Scalar products of signed bytes are exact, by numkong and by numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.table import vectors as module
from robotmem_ros.memory.table.vectors import products


@pytest.mark.parametrize("has_numkong", [True, False])
@given(count=st.integers(0, 5000), dim=st.integers(1, 1024), seed=st.integers(0, 2**32))
def test_products_of_bytes_are_those_of_whole_numbers(has_numkong: bool, count: int, dim: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, query = draw.integers(-127, 128, (count, dim), np.int8), draw.integers(-127, 128, dim, np.int8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HAS_NUMKONG", has_numkong)
        computed = products(rows, query)
    assert computed.shape == (count,)
    # Whole numbers up to 2^24 have a float32.
    assert computed == pytest.approx(rows.astype(np.int64) @ query.astype(np.int64), rel=1e-6)
