"""Insert and read many rows with few calls of SQLite.

Each call releases Python's lock and waits to take it again. Row by row, a large insert or a recall would wait a
thousand times while other threads work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .snapshot import Snapshot


def read(snapshot: Snapshot, sql: str, arguments: Sequence[object], *names: str) -> list[list[Any]]:
    """Return these columns of a query, each with its rows in the order of the query. No value may be a blob."""
    return snapshot.columns(sql, arguments, *names)


def array(snapshot: Snapshot, sql: str, arguments: Sequence[object]) -> npt.NDArray[np.int64]:
    """Return the column `id` of a query that may have very many rows, in the order of the query."""
    return snapshot.array(sql, arguments)


def ids(snapshot: Snapshot, sql: str, arguments: Sequence[object]) -> list[int]:
    """Return the column `id` of a query, in the order of the query."""
    return snapshot.ids(sql, arguments)
