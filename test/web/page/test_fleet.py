"""The page shows the fleet: robots in their colours, one map and one list of all, and requests to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, Route, expect

pytest.importorskip("psycopg", reason="the fleet is optional: `make test` brings psycopg")

from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import connect
from robotmem_ros.fleet.requests import carry_out
from robotmem_ros.memory import RobotMemory

from ...fleet.conftest import Fleet, push
from ...support.page.accessible import assert_accessible
from ...support.page.console import console
from ...support.postgres import server
from .conftest import OpenPage, Visit
from .test_looks import LOOKS, PHONE

ROBOTS = {"hall1": "house", "kitchen1": "house", "lab1": "lab"}
"""The robots, each with its map."""
PLACES = ((1.0, 2.0), (4.0, 3.0), (7.0, 1.0))


class World(NamedTuple):
    """A fleet of three robots that may read each other, and the files of these."""

    fleet: Fleet
    operator: str
    urls: dict[str, str]

    def file(self, name: str) -> Path:
        return self.fleet.folder / f"{name}.db"

    def carry_out(self, name: str) -> None:
        """Let a robot do what it is asked."""
        url = self.urls[name]
        with RobotMemory(self.file(name), embedding_model="") as memory, closing(connect(url)) as connection:
            carry_out(connection, memory)
            push(memory, url)


@pytest.fixture(scope="module")
def world_of_robots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with server() as running:
        fleet = Fleet(running, tmp_path_factory.mktemp("fleet"))
        operator = fleet.add("ada", add=administration.add_operator)
        urls = {name: fleet.add(name) for name in ROBOTS}
        for name, map_id in ROBOTS.items():
            with RobotMemory(fleet.folder / f"{name}.db", embedding_model="", map_id=map_id) as memory:
                for x, y in PLACES:
                    for _ in range(4):
                        memory.save_perception(f"a mug of {name}", pose=(x, y + len(name) / 10, 0.5), label="mug")
                memory.learn(f"{name} says that the lift sticks")
                push(memory, urls[name])
        fleet.query("INSERT INTO robotmem.grants SELECT id, 'default' FROM robotmem.robots")
        yield World(fleet, operator, urls)


@pytest.fixture(scope="module")
def operators_console(world_of_robots: World) -> Iterator[str]:
    with console(None, "--fleet-url", world_of_robots.operator) as address:
        yield address


def robots_of(page: Page) -> set[str]:
    return {text.strip() for text in page.locator("#results .robot").all_inner_texts()}


def test_an_operator_sees_all_robots_and_what_they_remember(open_page: OpenPage, operators_console: str) -> None:
    page = open_page(operators_console)
    expect(page.get_by_role("option")).to_have_count(12)
    assert robots_of(page) == set(ROBOTS)
    expect(page.locator("#timeline")).to_be_hidden()
    for name in ("Sessions", "Problems"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()
    expect(page.get_by_role("group", name="Whose memories")).to_have_count(0)
    page.get_by_role("button", name="Fleet", exact=True).click()
    rows = page.locator(".robots tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text(re.compile(r"^kitchen1\s*\d+ (second|minute)s? ago\s*4\s*0$"))
    page.get_by_role("searchbox").fill("lift")
    expect(page.get_by_role("option")).to_have_count(3)
    assert robots_of(page) == set(ROBOTS)
    page.get_by_role("button", name="Conditions").click()
    page.get_by_label("Labels").focus()
    expect(page.locator("datalist option[value=mug]")).to_have_text("9")


@pytest.mark.rare
def test_the_map_shows_all_robots_of_one_map_in_their_colours(open_page: OpenPage, operators_console: str) -> None:
    page = open_page(operators_console, "/?panel=fleet")
    legend = page.locator("#map-legend .robot")
    expect(legend).to_have_text(["hall1", "kitchen1"])
    page.get_by_role("group", name="Maps").get_by_role("button", name="lab (3)").click()
    expect(legend).to_have_text(["lab1"])
    expect(page).to_have_url(re.compile("map=lab"))
    # Each robot has a colour of its own, and keeps it if another one comes.
    colours = page.evaluate(
        "import('/static/js/fleet.js').then(({robotColour}) => ['hall1', 'kitchen1', 'lab1'].map(robotColour))"
    )
    assert len(set(colours)) == 3
    page.reload()
    expect(legend).to_have_text(["lab1"])


@pytest.mark.rare
def test_a_request_is_left_and_its_answer_is_shown(
    open_page: OpenPage, operators_console: str, world_of_robots: World
) -> None:
    page = open_page(operators_console, "/?q=lift")
    page.get_by_role("option").filter(has_text="lab1 says").click()
    expect(page.get_by_role("heading", name=re.compile(r"^Memory \d+ of lab1$"))).to_be_visible()
    page.get_by_role("button", name="Ask to correct").click()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("A request needs a reason.")
    page.get_by_label("Reason").fill("seen by Ada")
    page.get_by_label("Text", exact=True).fill("lab1 says that the lift runs")
    assert_accessible(page)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("lab1 is asked.")).to_be_visible()
    page.get_by_role("button", name="Fleet", exact=True).click()
    card = page.locator(".request").first
    expect(card).to_contain_text("It should say: lab1 says that the lift runs")
    expect(card).to_contain_text("operator_ada: seen by Ada")
    expect(card).to_contain_text("open")
    world_of_robots.carry_out("lab1")
    expect(card).to_contain_text("done")
    expect(card).to_contain_text("is corrected")
    card.get_by_role("button").click()
    expect(page.locator("#panel .content")).to_have_text("lab1 says that the lift runs")
    expect(page.locator(".history")).to_contain_text("asked by operator_ada: seen by Ada")
    expect(page.locator("[data-act=put_back], [data-act=correct], [data-act=forget]")).to_have_count(0)


@pytest.mark.rare
def test_the_own_robot_is_named_once_its_name_is_known(open_page: OpenPage, world_of_robots: World) -> None:
    with console(world_of_robots.file("hall1"), "--fleet-url", world_of_robots.urls["hall1"]) as address:
        page, held = open_page(address), list[Route]()
        page.route("**/api/fleet/robots", lambda route: held.append(route))  # noqa: PLW0108 - playwright asks for its code
        page.goto(f"{address}?scope=both")
        expect(page.locator("#summary")).to_have_text("12 memories, newest first")
        assert robots_of(page) == {*ROBOTS} - {"hall1"}
        held[0].continue_()
        expect(page.locator("#results .robot", has_text="hall1").first).to_be_visible()


@pytest.mark.rare
def test_a_robot_chooses_whose_memories_to_see(open_page: OpenPage, world_of_robots: World) -> None:
    with console(world_of_robots.file("hall1"), "--fleet-url", world_of_robots.urls["hall1"]) as address:
        page = open_page(address)
        expect(page.get_by_role("option")).to_have_count(4)
        assert robots_of(page) == set()
        scopes = page.get_by_role("group", name="Whose memories")
        expect(scopes.get_by_role("button", name="this robot")).to_have_attribute("aria-pressed", "true")
        scopes.get_by_role("button", name="both").click()
        expect(page.locator("#summary")).to_have_text("12 memories, newest first")
        expect(page.locator("#results .robot", has_text="hall1").first).to_be_visible()
        assert robots_of(page) == set(ROBOTS)
        expect(scopes.get_by_role("button", name="both")).to_be_focused()
        page.reload()
        page.wait_for_selector("html[data-ready][data-live]", state="attached")
        expect(page.locator("#summary")).to_have_text("12 memories, newest first")
        page.get_by_role("option").filter(has_text="hall1 says").click()
        expect(page.locator("[data-act=correct]")).to_be_visible()
        page.get_by_role("option").filter(has_text="kitchen1 says").click()
        expect(page.locator("[data-act=ask_withdraw]")).to_be_visible()
        expect(page.locator("[data-act=correct]")).to_have_count(0)
        page.get_by_role("button", name="Fleet", exact=True).click()
        expect(page.locator("#panel")).to_contain_text("all of it is in the fleet")
        expect(page.locator(".robots small")).to_have_text("this robot")


def test_a_console_that_only_reads_asks_for_nothing(open_page: OpenPage, world_of_robots: World) -> None:
    with console(None, "--fleet-url", world_of_robots.operator, "--read-only") as address:
        page = open_page(address, "/?panel=memory&memory=kitchen1/1")
        expect(page.locator("#panel .buttons")).to_contain_text("read-only")
        expect(page.locator("[data-act^=ask]")).to_have_count(0)


def test_a_fleet_that_does_not_answer_leaves_the_robot_what_it_knows(
    open_page: OpenPage, world_of_robots: World
) -> None:
    lost = "postgresql://robot_hall1@127.0.0.1:1/fleet"
    with console(world_of_robots.file("hall1"), "--fleet-url", lost) as address:
        page = open_page(address, "/?scope=both&panel=fleet")
        expect(page.locator("#panel").get_by_role("alert")).to_contain_text("The fleet does not answer")
        expect(page.get_by_role("option")).to_have_count(4)
        expect(page.locator("#reason")).to_contain_text("this is what the robot knows")
        assert_accessible(page)


def test_a_fleet_without_robots_says_so(open_page: OpenPage, world_of_robots: World) -> None:
    empty = Fleet(world_of_robots.fleet.server, world_of_robots.fleet.folder)
    with console(None, "--fleet-url", empty.add("eve", add=administration.add_operator)) as address:
        page = open_page(address, "/?panel=fleet")
        expect(page.get_by_text("This login sees no robots.")).to_be_visible()
        expect(page.get_by_text("Nobody has asked a robot for anything.")).to_be_visible()
        expect(page.get_by_text("Nothing with a position yet.")).to_be_visible()
        assert_accessible(page)


def test_without_a_fleet_nothing_of_one_is_shown(visit: Visit) -> None:
    page = visit()
    expect(page.get_by_role("button", name="Fleet")).to_be_hidden()
    expect(page.get_by_role("group", name="Whose memories")).to_have_count(0)
    expect(page.locator(".robot")).to_have_count(0)


# English in light colours is also checked on a phone, below.
@pytest.mark.parametrize(("locale", "theme"), [pytest.param("en-GB", "light", marks=pytest.mark.rare), *LOOKS[1:]])
def test_a_checker_of_accessibility_finds_nothing(
    open_page: OpenPage, operators_console: str, theme: str, locale: str
) -> None:
    page = open_page(operators_console, "/?panel=fleet", color_scheme=theme, locale=locale)
    expect(page.locator(".robots tbody tr")).to_have_count(3)
    expect(page.locator("#panel .loading")).to_have_count(0)
    assert_accessible(page)


def test_the_fleet_fits_on_a_phone(open_page: OpenPage, operators_console: str) -> None:
    page = open_page(operators_console, "/?panel=fleet", **PHONE)
    expect(page.locator(".robots tbody tr")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert_accessible(page)
