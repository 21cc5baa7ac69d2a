"""The past on the page: stays as bars over the strip of time, and the map as it was at the moment that is chosen."""

from __future__ import annotations

import random
import re
from pathlib import Path

from playwright.sync_api import Route, expect

from robotmem_ros.memory import RobotMemory

from ...memory.objects.test_as_of import look
from ...support.clock import NOW, SECOND, Clock
from ...support.page.console import console
from ...support.page.map import drag, hover
from .conftest import OpenPage
from .test_timeline import across

HOUR = 3600


def live_for_two_days(memory: RobotMemory, clock: Clock) -> int:
    """Let a mug be on a table, on a shelf from the second day on, beside a sofa; return the mug's id."""
    rng = random.Random(1)
    for hour in range(0, 48, 2):
        mug = 2.0 if hour < 24 else 7.0
        for second in range(0, 200, 15):
            clock.now = NOW + (hour * HOUR + second) * SECOND
            things = [("mug", mug + rng.uniform(-0.01, 0.01)), ("sofa", 4.5)]
            look(memory, clock.now // SECOND, *things)
    return min(one.memory_id for one in memory.objects(include_unconfirmed=True) if one.label == "mug")


def test_stays_are_bars_and_the_map_is_that_of_the_moment(open_page: OpenPage, tmp_path: Path) -> None:
    clock = Clock()
    with RobotMemory(tmp_path / "memory.db", clock=clock, embedding_model="", synchronous="normal") as memory:
        mug = live_for_two_days(memory, clock)
    with console(tmp_path / "memory.db") as address:
        page = open_page(address, f"/?panel=memory&memory={mug}")
        stay = page.locator(".stay:not(.stay-unseen)")
        expect(stay).to_have_count(1)
        expect(stay).to_have_attribute("title", re.compile("^mug: from "))
        expect(page.get_by_role("img", name="Was at its place once")).to_be_visible()
        hover(page, 2.0, 0.0, "not confirmed")
        drag(page, across(page, 0.6), across(page, 0.2))
        hover(page, 2.0, 0.0, "% sure")
        page.get_by_role("button", name="Now").click()
        hover(page, 2.0, 0.0, "not confirmed")


def test_the_stays_of_what_is_open_come_however_late_the_list_is(open_page: OpenPage, own_console: str) -> None:
    page = open_page(own_console)
    held: list[Route] = []
    page.route("**/api/memories?*", lambda route: held.append(route))  # noqa: PLW0108 - playwright asks for its code
    address = own_console.rstrip("/")
    thing = page.request.get(f"{address}/api/objects").json()["objects"][0]
    page.goto(f"{address}/?panel=memory&memory={thing['id']}", wait_until="commit")
    expect(page.locator("#panel .content")).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.locator(".stay").first).to_be_visible()
