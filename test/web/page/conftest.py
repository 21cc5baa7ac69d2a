"""What the tests of the page share: a browser, a world in a file, consoles on it, pages that must be clean."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect

from robotmem_ros.memory import RobotMemory

from ...support.clock import Clock
from ...support.page.chromium import chromium
from ...support.page.console import console
from ...support.page.world import fill

OpenPage = Callable[..., Page]
Visit = Callable[..., Page]
READY = "html[data-ready]"
PATIENCE = 120_000
"""Milliseconds for what a page does, on a machine that does much else."""
expect.set_options(timeout=PATIENCE)
_GONE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_SOCKET_NOT_CONNECTED",
)
"""What a browser says of a console that the test has ended."""
_GO = """path => {
  document.activeElement.blur();
  document.querySelector(".toggle[aria-expanded=true]")?.click();
  document.activeElement.blur();
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


_T = TypeVar("_T")
_kept: dict[str, Any] = {}
_ended = ExitStack()


def _once(name: str, make: Callable[[], _T]) -> _T:
    """Make something for all tests of this folder that run in a row: no other could call `asyncio.run` beside them."""
    if name not in _kept:
        _kept[name] = make()
    kept: _T = _kept[name]
    return kept


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the browser before a test of another folder."""
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        _kept.clear()
        _ended.close()


@pytest.fixture
def browser() -> Browser:
    return _once("browser", lambda: _ended.enter_context(chromium()))


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
    with console(own_db, "--areas-file", tmp_path / "areas.yaml") as address:
        yield address


@pytest.fixture
def visitor(browser: Browser) -> BrowserContext:
    """Return what most pages are opened in: a browser made anew costs each half a second more."""
    return _once("visitor", lambda: _visitor(browser))


@pytest.fixture
def open_page(browser: Browser, visitor: BrowserContext) -> Iterator[OpenPage]:
    """Opens pages, with options in a browser of its own; none may complain or ask another host for anything."""
    contexts: list[BrowserContext] = []
    pages: list[Page] = []
    complaints: list[str] = []

    def open_one(address: str, path: str = "/", *, ready: bool = True, expected: str = "", **options: Any) -> Page:
        if options:
            contexts.append(_visitor(browser, **options))
        page = (contexts[-1] if options else visitor).new_page()
        pages.append(page)

        def complain(told: str) -> None:
            if not (expected and expected in told):
                complaints.append(told)

        _listen(page, address, complain)
        page.goto(address.rstrip("/") + path)
        if ready:
            page.wait_for_selector(READY, state="attached")
        return page

    yield open_one
    for page in pages:
        page.evaluate("localStorage.clear()")
        page.close()
    visitor.clear_cookies()
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def _shared_page(browser: Browser, shared_console: str) -> tuple[Page, list[str]]:
    def load() -> tuple[Page, list[str]]:
        complaints: list[str] = []
        page = _visitor(browser).new_page()
        _listen(page, shared_console, complaints.append)
        page.goto(shared_console)
        page.wait_for_selector(READY, state="attached")
        return page, complaints

    return _once("page", load)


@pytest.fixture
def visit(_shared_page: tuple[Page, list[str]]) -> Iterator[Visit]:
    """Takes one page to a path, as its history does: loading it costs most of what a test does.

    For tests that leave behind what the address holds, and the conditions open, but nothing else. None may complain.
    """
    page, complaints = _shared_page
    complaints.clear()
    expected = ""

    def go(path: str = "/", *, expecting: str = "") -> Page:
        nonlocal expected
        expected = expecting
        page.evaluate(_GO, path)
        page.wait_for_selector(".list[aria-busy=false]")
        return page

    yield go
    assert [one for one in complaints if not (expected and expected in one)] == []


def _listen(page: Page, address: str, complain: Callable[[str], None]) -> None:
    def told(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.endswith(_GONE) and "404" not in message.text:
            complain(message.text)

    def asked(request: Request) -> None:
        here, there = urlsplit(address), urlsplit(request.url)
        if there.scheme not in {"data", "blob"} and there.netloc != here.netloc:
            complain(f"asked {request.url}")

    page.on("console", told)
    page.on("pageerror", lambda error: complain(str(error)))
    page.on("request", asked)


def _visitor(browser: Browser, **options: Any) -> BrowserContext:
    # What moves is drawn sixty times a second.
    usual = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "reduced_motion": "reduce"}
    named: dict[str, Any] = usual | options
    context = browser.new_context(viewport=named.pop("viewport", {"width": 1280, "height": 800}), **named)
    context.set_default_timeout(PATIENCE)
    return context
