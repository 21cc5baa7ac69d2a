"""How random tests draw, in all folders: the same each time, and however long it takes on a machine that is busy.

And which tests run, and begin: of the rare ones all, none or the tenth of a date, and of the random examples all or a
third; first those that are slow, since at the end nobody would have work beside them. The default model is the small
one, which takes half of the time: most tests ask whether there are vectors, not how good they are.
"""

from __future__ import annotations

import gc
import os
import zlib
from collections.abc import Sequence
from datetime import date
from itertools import groupby, islice

import pytest
from hypothesis import settings

from robotmem_ros.memory.embedding.fastembed_provider import MODEL_VARIABLE, find_folder

from .support.examples import USUAL

if (small := find_folder("small")) is not None:
    os.environ[MODEL_VARIABLE] = str(small)

_PARTS = 10

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None, max_examples=USUAL)
settings.register_profile("daily", settings.get_profile("repeatable"), max_examples=USUAL // 3)
settings.register_profile("searching", deadline=None, max_examples=20 * USUAL, database=None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rare", default="all", metavar="WHICH",
        help="of the tests that are marked as rare: all (the default), none, or the tenth of a date (2026-11-27)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    which = config.getoption("rare")
    _runs("", which)
    settings.load_profile("repeatable" if which == "all" else "daily")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    which = config.getoption("rare")
    left_out = {item for item in items if item.get_closest_marker("rare") and not _runs(item.nodeid, which)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = _dealt([item for item in items if item not in left_out])


def pytest_collection_finish() -> None:
    # Whoever looks for garbage need not look through all that is imported and collected.
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    which = config.getoption("rare")
    if which != "all":
        chosen = which if which == "none" else f"the tenth of {which}"
        terminalreporter.write_line(
            f"Of the rare tests: {chosen}; of random examples: a third (--rare=all: all, as `make test-all`)"
        )


def _dealt(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    # xdist gives each worker an equal run of the list, and what is left of one in the end to the others: so each run
    # begins with files of slow tests.
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files = [[*group] for _, group in groupby(filter(_is_slow, items), key=lambda item: item.path)]
    others = (item for item in items if not _is_slow(item))
    dealt: list[pytest.Item] = []
    for worker in range(workers):
        share = (len(items) - len(dealt)) // (workers - worker)
        first = [item for file in files[worker::workers] for item in file]
        dealt += [*first, *islice(others, max(share - len(first), 0))]
    return dealt


def _is_slow(item: pytest.Item) -> bool:
    is_marked = any(map(item.get_closest_marker, ("slow", "rare")))
    return is_marked or "browser" in getattr(item, "fixturenames", ())


def _runs(nodeid: str, which: str) -> bool:
    if which in {"all", "none"}:
        return which == "all"
    try:
        day = date.fromisoformat(which).toordinal()
    except ValueError as cause:
        raise pytest.UsageError(f"--rare: {which!r} must be all, none or a date such as 2026-11-27") from cause
    return zlib.crc32(nodeid.encode()) % _PARTS == day % _PARTS
