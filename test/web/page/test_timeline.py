"""The timeline: a moment that one drags, sessions, windows, simulated time."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from robotmem_ros.memory import RobotMemory

from ...support.clock import NOW, Clock
from ...support.page.console import console
from ...support.page.map import drag
from ...support.page.world import fill
from .conftest import OpenPage, Visit


def across(page: Page, share: float) -> tuple[float, float]:
    """Return the pixel at a share of the strip."""
    box = page.locator(".u-over").bounding_box()
    assert box is not None
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def test_dragging_along_the_strip_tells_what_the_robot_knew_and_saw(visit: Visit) -> None:
    page = visit()
    drag(page, across(page, 0.9), across(page, 0.1))
    expect(page.get_by_role("heading", name=re.compile("^At "))).to_be_visible()
    panel = page.locator("#panel")
    expect(panel.locator("dl.fields")).to_contain_text("morning patrol")
    expect(panel.locator("dl.fields")).to_contain_text(re.compile(r"objects known\d+ / 40"))
    known = int(re.findall(r"(\d+) / 40", panel.inner_text())[0])
    assert 0 < known < 40
    drag(page, across(page, 0.1), across(page, 0.98))
    expect(panel.locator("dl.fields")).to_contain_text("night patrol")
    expect(panel.locator("dl.fields")).to_contain_text("40 / 40")
    expect(panel).to_contain_text("m")
    at = int(parse_qs(urlsplit(page.url).query)["at"][0])
    assert at > NOW


def test_what_was_seen_in_the_minute_before_is_listed_and_opens(visit: Visit) -> None:
    page = visit(f"/?panel=moment&at={NOW + 60 * 10**9}")
    seen = page.locator("#panel .memory-link")
    expect(seen.first).to_be_visible()
    expect(page.locator("#panel")).to_contain_text("kettle")
    seen.first.click()
    expect(page.get_by_role("heading", name=re.compile("^Memory"))).to_be_visible()


def test_the_strip_zooms_and_its_window_becomes_a_condition(visit: Visit) -> None:
    page = visit()
    page.mouse.move(*across(page, 0.05))
    page.mouse.wheel(0, -1200)
    expect(page.locator("#timeline .note")).to_contain_text("min")
    page.get_by_role("button", name="Search in this window").click()
    held = parse_qs(urlsplit(page.url).query)
    assert int(held["before"][0]) - int(held["after"][0]) < 1000 * 10**9
    expect(page.locator("#summary")).to_contain_text("memories, newest first")
    page.get_by_role("button", name="All times").click()


def test_sessions_tell_their_outcome_by_a_sign_and_a_word(visit: Visit) -> None:
    page = visit()
    signs = [bar.inner_text()[:1] for bar in page.locator(".session").all()]
    assert signs == ["✓", "✗", "–", "▶"]
    page.get_by_role("button", name="Sessions").click()
    cards = page.locator("#panel .card")
    expect(cards).to_have_count(4)
    expect(cards.filter(has_text="carry glasses")).to_contain_text("failed (20 %)")
    cards.filter(has_text="morning patrol").get_by_role("button", name="Its memories").click()
    expect(page.locator("#summary")).to_contain_text("memories, newest first")
    page.get_by_role("button", name="Problems").click()
    expect(page.locator("#panel")).to_contain_text("carry glasses")
    expect(page.locator("#panel")).to_contain_text("<script>")


def test_the_moment_moves_by_keys_and_tells_the_time_in_words(visit: Visit) -> None:
    page = visit()
    moment = page.get_by_role("slider", name="Moment")
    expect(moment).to_have_attribute("aria-valuetext", "Now")
    moment.press("Home")
    expect(moment).to_have_attribute("aria-valuetext", re.compile(r"^21 Sept 2026, 16:13:2\d Europe/Berlin"))
    moment.press("PageUp")
    expect(page.get_by_role("heading", name=re.compile("^At "))).to_be_visible()
    moment.press("Escape")
    expect(moment).to_have_attribute("aria-valuetext", "Now")


def test_a_simulated_clock_is_shown_as_one(open_page: OpenPage, tmp_path: Path) -> None:
    clock = Clock(30 * 10**9)
    with RobotMemory(tmp_path / "sim.db", clock=clock, embedding_model="", synchronous="normal") as memory:
        fill(memory, clock)
    with console(tmp_path / "sim.db") as address:
        page = open_page(address)
        expect(page.locator("#timeline .note")).to_contain_text("simulated clock")
        expect(page.get_by_role("option").first.locator("time")).to_have_text(re.compile(r"^0:\d\d:\d\d$"))
        page.get_by_role("button", name="Conditions").click()
        page.get_by_label("Until", exact=True).fill("0:05:00")
        page.get_by_label("Until", exact=True).press("Enter")
        expect(page.locator("#summary")).to_contain_text("memories, newest first")
        assert parse_qs(urlsplit(page.url).query)["before"] == [str(300 * 10**9)]
