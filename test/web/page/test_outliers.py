"""What lies far from all else, in space or in time: it hides nothing, and can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from robotmem_ros.memory import RobotMemory

from ...support.clock import DAY, NOW, SECOND
from ...support.page.accessible import assert_accessible
from ...support.page.console import console
from ...support.page.map import VISIBLE
from .conftest import OpenPage


def width(page: Page) -> float:
    """Return the metres that the map shows from left to right."""
    box = page.evaluate(VISIBLE)
    return float(box["max_corner"][0] - box["min_corner"][0])


@pytest.mark.rare
def test_an_object_that_lies_far_away_is_named_and_shown(open_page: OpenPage, own_db: Path) -> None:
    with RobotMemory(own_db, embedding_model="") as memory:
        memory.save_perception("a gnome", pose=(50_000.0, 12.0, 0.0), label="gnome", observed_at=NOW)
    with console(own_db) as address:
        page = open_page(address)
        assert 14.0 < width(page) < 60.0
        expect(page.locator("#map-far")).to_contain_text("1 object lies far away:")
        assert_accessible(page)
        page.locator("#map-far").get_by_role("button", name="Show").click()
        expect(page.locator("#panel .content")).to_have_text("a gnome")
        box = page.evaluate(VISIBLE)
        assert box["min_corner"][0] < 50_000.0 < box["max_corner"][0]
        page.get_by_role("button", name="Show everything").click()
        assert width(page) < 60.0


@pytest.mark.parametrize(
    "view",
    [
        "1e300,-1e300,9",
        *(pytest.param(view, marks=pytest.mark.rare) for view in ("1e17,1e17,4", "-9007199254740993,0,-3")),
    ],
)
def test_the_map_is_painted_wherever_it_is(open_page: OpenPage, shared_console: str, view: str) -> None:
    page = open_page(shared_console, f"/?view={view}")
    expect(page.get_by_role("option").first).to_be_visible()
    page.get_by_role("button", name="Show everything").click()
    assert width(page) < 60.0


def test_a_memory_of_1970_is_named_and_shown_and_the_strip_shows_the_others(open_page: OpenPage, own_db: Path) -> None:
    with RobotMemory(own_db, embedding_model="") as memory:
        memory.learn("the clock was not set yet", observed_at=12 * SECOND, collection="house")
        memory.learn("the clock was years ahead", observed_at=NOW + 3000 * DAY, collection="house")
    with console(own_db) as address:
        page = open_page(address)
        expect(page.locator("#timeline .note")).to_have_text(re.compile(r"^\d\d min · "))
        assert [bar.inner_text()[:1] for bar in page.locator(".session").all()[:3]] == ["✓", "✗", "–"]
        assert_accessible(page)
        far = page.locator("#timeline .far")
        expect(far).to_contain_text("1 memory is much older: Show")
        expect(far).to_contain_text("1 memory is from the future: Show")
        far.get_by_role("button").first.click()
        expect(page.get_by_role("option")).to_have_count(1)
        expect(page.get_by_role("option")).to_contain_text("the clock was not set yet")
        far.get_by_role("button").last.click()
        expect(page.get_by_role("option")).to_contain_text("the clock was years ahead")
        page.get_by_role("button", name="All times").click()
        expect(page.locator("#timeline .note")).to_have_text(re.compile(r"^\d\d min · "))
