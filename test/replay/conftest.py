"""What the tests of imports share: messages of a typestore, and the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main

from ..support.bags import CONFIG, Messages, config_file

Import = Callable[..., int]


@pytest.fixture(scope="session")
def messages() -> Messages:
    return Messages()


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def imported(tmp_path: Path, db: Path) -> Import:
    """Runs `robotmem replay BAG` into `db`; the exit code."""

    def run(bag: Path, *more: str, config: str = CONFIG, into: Path = db) -> int:
        return replay(bag, into, *more, config=config_file(tmp_path, config))

    return run


def replay(bag: Path, into: Path, *more: str, config: Path) -> int:
    """Run `robotmem replay BAG` by a configuration into a memory without a model; return the exit code."""
    return main(["replay", str(bag), "--config", str(config), "--db", str(into), "--no-model", *more])
