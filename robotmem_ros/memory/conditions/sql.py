"""An expression of SQL, with its arguments."""

from __future__ import annotations

from typing import NamedTuple


class Sql(NamedTuple):
    """An expression over the alias `m` of memories, and the arguments of its placeholders."""

    sql: str
    arguments: tuple[object, ...] = ()
