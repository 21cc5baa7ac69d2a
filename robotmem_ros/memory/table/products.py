"""Scalar products of vectors of signed bytes: by numkong, which picks the kernel of this processor, else by numpy."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from ..storage.codec import Bytes

Products = npt.NDArray[np.float32]
_PIECE = 2048
"""Rows that numpy converts at once, so that they stay in the cache."""
HAS_NUMKONG = find_spec("numkong") is not None
NUMKONG_MISSING = "numkong is not installed (pip install numkong); vectors are compared by numpy, four times as slowly"


def products(rows: Bytes, query: Bytes) -> Products:
    """Multiply each of some rows, shape (n, dim), by a query, shape (dim,). Releases Python's lock."""
    if not len(rows):
        return np.empty(0, np.float32)
    if HAS_NUMKONG:
        import numkong

        numbers: Products = np.asarray(numkong.cdist(query[np.newaxis], rows, metric="dot"))[0].astype(np.float32)
        return numbers
    wide = query.astype(np.float32)
    pieces = (rows[first : first + _PIECE].astype(np.float32) for first in range(0, len(rows), _PIECE))
    # Not `@`: BLAS would use all cores, and its threads stand in the way of the model's.
    return np.concatenate([np.einsum("ij,j->i", piece, wide) for piece in pieces])
