"""What the tests of the page share: a browser, a world in a file, consoles on it, pages that must be clean.

The first load of a page takes most of the time of a test: one that changes nothing but the address uses `show`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from robotmem_ros.memory import RobotMemory

from ...support.clock import Clock
from ...support.page.chromium import chromium
from ...support.page.console import console, served
from ...support.page.pages import PATIENCE, Pages
from ...support.page.world import fill

OpenPage = Callable[..., Page]
ShowPage = Callable[..., Page]
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one file: no other test could call `asyncio.run` while playwright runs."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a house in which a robot drove four rounds; nobody changes it."""
    db, clock = tmp_path_factory.mktemp("world") / "memory.db", Clock()
    with RobotMemory(db, clock=clock, embedding_model="", synchronous="normal") as memory:
        fill(memory, clock)
    return db


@pytest.fixture(scope="session")
def shared_console(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A console for tests that change nothing."""
    db = Path(shutil.copy(world, tmp_path_factory.mktemp("shared") / "memory.db"))
    with console(db) as address:
        yield address


@pytest.fixture
def own_db(world: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(world, tmp_path / "memory.db"))


@pytest.fixture
def own_console(own_db: Path, tmp_path: Path) -> Iterator[str]:
    """A console on a file that a test may change."""
    (tmp_path / "areas.yaml").write_text("areas: {}\n")
    with served(own_db, areas_file=str(tmp_path / "areas.yaml")) as address:
        yield address


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages, each in a browser of its own."""
    pages = Pages(browser)
    yield pages.open
    pages.close()
    pages.check()


@pytest.fixture(scope="module")
def _shared_page(browser: Browser, shared_console: str) -> Iterator[tuple[Pages, Page]]:
    pages = Pages(browser)
    yield pages, pages.open(shared_console)
    pages.close()


@pytest.fixture
def show_page(_shared_page: tuple[Pages, Page]) -> Iterator[ShowPage]:
    """Shows an address on the one page of a file's tests that change nothing: not the memory, its look, or its map."""
    pages, page = _shared_page
    yield partial(pages.show, page)
    pages.check()
