"""The console whose page a browser opens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import web


@contextmanager
def console(db: Path | None, *options: object, with_model: bool = False) -> Iterator[str]:
    """Serve a memory until the end of the block; give the address of its page."""
    with web.console(db, *map(str, options), with_model=with_model) as server:
        yield server.told.removeprefix("console: ").strip()
