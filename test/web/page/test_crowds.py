"""Many objects on the map: those that cannot be told apart are one mark, and all that was found is ringed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from robotmem_ros.memory import RobotMemory

from ...support.clock import NOW, Clock
from ...support.page.console import console
from ...support.page.map import hover, pixel
from .conftest import OpenPage

VASES = 20
CORNER = (9.0, 1.0)
TOOLS = [(CORNER[0] + 0.04 * nth, CORNER[1]) for nth in range(12)]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Show vases in rows, two metres apart, and tools that lie on each other."""
    db = tmp_path_factory.mktemp("crowds") / "memory.db"
    with RobotMemory(db, clock=Clock(), embedding_model="", synchronous="normal") as memory:
        for nth in range(VASES):
            place = (2.0 * (nth % 5), 2.0 * (nth // 5), 0.5)
            for _ in range(2):
                memory.save_perception(f"a vase {nth}", pose=place, label="vase", confidence=0.9, observed_at=NOW)
        for nth, (x, y) in enumerate(TOOLS):
            memory.save_perception(f"a tool {nth}", pose=(x, y, 0.5), label=f"tool {nth}", observed_at=NOW)
    with console(db) as address:
        yield address


def right_of(page: Page, x: float, y: float, far: int) -> list[tuple[int, int, int]]:
    """Return the colours of the pixels at some pixels to the right of a place, and around there."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    column, row = (round(value) for value in pixel(page, x, y))
    colours = [image.getpixel((column + far + by, row)) for by in range(-2, 3)]
    return [colour for colour in colours if isinstance(colour, tuple)]  # type: ignore[misc]


@pytest.mark.rare
def test_everything_that_was_found_is_ringed(open_page: OpenPage, crowded: str) -> None:
    page = open_page(crowded, "/?q=vase&include_unconfirmed=1")
    expect(page.locator("#summary")).to_contain_text(f"{VASES} results")
    accent = (10, 106, 128)
    ringed = [accent in right_of(page, 2.0 * (nth % 5), 2.0 * (nth // 5), 11) for nth in range(VASES)]
    assert ringed == [True] * VASES


def test_objects_that_cannot_be_told_apart_are_one_mark_that_a_click_takes_apart(
    open_page: OpenPage, crowded: str
) -> None:
    page = open_page(crowded, "/?include_unconfirmed=1")
    hover(page, 9.22, 1.0, "12 objects")
    hover(page, 9.22, 1.0, "1 tool ")
    page.mouse.click(*pixel(page, 9.22, 1.0))
    hover(page, 9.44, 1.0, "tool 11")


def test_what_no_zoom_parts_is_listed_nearest_first(open_page: OpenPage, tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", clock=Clock(), embedding_model="") as memory:
        for nth in range(6):
            memory.save_perception(f"a tool {nth}", pose=(1.0, 1.0, 0.5), label=f"tool {nth}", observed_at=NOW)
    with console(tmp_path / "memory.db") as address:
        page = open_page(address, "/?include_unconfirmed=1&view=1,1,9")
        hover(page, 1.0, 1.0, "6 objects")
        page.mouse.click(*pixel(page, 1.0, 1.0))
        expect(page.locator("#summary")).to_contain_text("6 results, nearest first")
