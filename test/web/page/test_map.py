"""The map: hover, click, drag a target, draw an area, move about."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
import yaml
from playwright.sync_api import Page, expect

from ...support.page.accessible import assert_accessible
from ...support.page.map import VISIBLE, drag, hover, pixel
from .conftest import OpenPage, Visit

KETTLE = (0.4, 0.9)


def target(page: Page) -> list[float]:
    return [float(value) for value in parse_qs(urlsplit(page.url).query)["target"][0].split(",")]


def view(url: str) -> str:
    """Return the place of the map that an address holds."""
    return parse_qs(urlsplit(url).query).get("view", ["nan,nan"])[0]


def nearest_mug(address: str, place: list[float]) -> str:
    """Return what the server itself says."""
    sort = json.dumps({"target": place}).replace(" ", "").replace('"', "%22")
    with urlopen(f"{address}api/search?labels=mug&spatial_sort={sort}&brief=true") as answer:
        return str(json.load(answer)["memories"][0]["snippet"])


def test_an_object_tells_what_it_is_and_a_click_shows_its_sightings(visit: Visit) -> None:
    page = visit()
    expect(page.get_by_label(re.compile("Map of 40 objects"))).to_be_visible()
    hover(page, *KETTLE, "kettle")
    hover(page, *KETTLE, "seen 4 times")
    page.mouse.click(*pixel(page, *KETTLE))
    expect(page.locator("#panel .content")).to_have_text("a kettle on the stove")
    expect(page.get_by_text("4 sightings")).to_be_visible()


def test_the_mouse_tells_metres_with_x_to_the_right_and_y_up(visit: Visit) -> None:
    page = visit()
    page.mouse.move(*pixel(page, 3.0, 2.0))
    expect(page.locator("#map-legend .pointer")).to_have_text(
        re.compile(r"x (2\.9\d|3(\.0\d)?) · y (1\.9\d|2(\.0\d)?) m")
    )
    expect(page.locator(".leaflet-control-scale-line")).to_have_text(re.compile(r"^[\d.]+ m$"))


def test_a_target_that_is_dragged_asks_for_the_nearest(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console, "/?labels=mug", reduced_motion="no-preference")
    page.get_by_role("button", name="Target: ask for the nearest").click()
    expect(page.locator("#summary")).to_contain_text("8 results, nearest first")
    before = target(page)
    drag(page, pixel(page, *before), pixel(page, 12.5, 7.5))
    expect(
        page.get_by_role("button", name=re.compile(r"Remove the condition nearest to 12\.[45]\d*, 7\.[45]"))
    ).to_be_visible()
    expect(page.get_by_role("option").first).to_contain_text("a red mug next to the keyboard on the desk")
    assert page.get_by_role("option").first.locator(".snippet").inner_text() == nearest_mug(
        shared_console, target(page)
    )
    expect(page.get_by_role("option").first.locator(".distance")).to_have_text(re.compile(r"^[\d.]+ m$"))
    page.get_by_label(re.compile("^Target at")).press("Escape")
    expect(page.locator("#summary")).to_contain_text("8 memories")


def test_a_target_moves_by_the_arrow_keys_and_has_a_radius(visit: Visit) -> None:
    page = visit("/?labels=mug&target=2.00,3.00")
    page.get_by_label(re.compile("^Target at x 2, y 3")).press("Shift+ArrowUp")
    expect(page.get_by_role("button", name="Remove the condition nearest to 2, 4")).to_be_visible()
    page.get_by_role("button", name="Conditions").click()
    page.get_by_label("Within (m)").fill("1")
    page.get_by_label("Within (m)").press("Enter")
    expect(page.locator("#summary")).to_contain_text("1 result")
    expect(page.get_by_role("option")).to_contain_text("a blue mug in the kitchen sink")
    page.get_by_label("within the radius, but best first").check()
    expect(page.locator("#summary")).to_contain_text("1 result")
    expect(page.locator(".distance")).to_have_count(0)


def test_an_area_that_is_drawn_gets_a_name_and_is_a_condition(
    open_page: OpenPage, own_console: str, tmp_path: Path
) -> None:
    page = open_page(own_console)
    page.get_by_role("button", name="Draw and name an area").click()
    for corner in ((-0.4, -0.4), (2.6, -0.4), (2.6, 2.1), (-0.4, 2.1), (-0.4, -0.4)):
        page.mouse.click(*pixel(page, *corner))
    dialog = page.get_by_role("dialog", name="Name the area")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_have_text("An area needs a name.")
    dialog.get_by_label("Name").fill("stove <b>corner</b>")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".area-name")).to_have_text("stove <b>corner</b>")
    (polygon,) = yaml.safe_load((tmp_path / "areas.yaml").read_text())["areas"].values()
    assert [pytest.approx(corner, abs=0.1) for corner in polygon] == [
        [-0.4, -0.4],
        [2.6, -0.4],
        [2.6, 2.1],
        [-0.4, 2.1],
    ]
    page.get_by_role("button", name="Conditions").click()
    page.get_by_label("Areas").fill("stove <b>corner</b>")
    page.get_by_label("Areas").press("Enter")
    expect(page.get_by_role("option", name="kettle")).to_be_visible()
    expect(page.get_by_role("option", name="laptop")).to_have_count(0)
    again = open_page(own_console)
    expect(again.locator(".area-name")).to_have_text("stove <b>corner</b>")


@pytest.mark.rare
def test_an_area_is_renamed_and_deleted_by_the_keyboard_and_both_can_be_undone(
    open_page: OpenPage, own_console: str, tmp_path: Path
) -> None:
    def names() -> list[str]:
        return list(yaml.safe_load((tmp_path / "areas.yaml").read_text())["areas"])

    (tmp_path / "areas.yaml").write_text("areas:\n  stove: [[0, 0], [2.6, 0], [2.6, 2.1]]\n")
    page = open_page(own_console)
    page.locator(".area-name button").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Area “stove”")
    dialog.get_by_label("Name").fill("cooking / corner")
    dialog.get_by_label("Name").press("Enter")
    expect(page.locator(".area-name")).to_have_text("cooking / corner")
    assert names() == ["cooking / corner"]
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".area-name")).to_have_text("stove")
    page.locator(".area-name button").click()
    assert_accessible(page)
    page.get_by_role("button", name="Delete the area").click()
    expect(page.locator(".area-name")).to_have_count(0)
    assert names() == []
    page.get_by_role("button", name="Undo").click()
    page.locator(".area-name button").click()
    page.get_by_role("button", name="Its memories").click()
    expect(page.get_by_role("button", name="Remove the condition stove")).to_be_visible()
    expect(page.get_by_role("option", name="a pot of basil")).to_be_visible()


def test_the_map_moves_and_the_address_keeps_its_place(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console)
    drag(page, pixel(page, 6.0, 4.0), pixel(page, 9.0, 4.0))
    box = page.evaluate(VISIBLE)
    middle = [(low + high) / 2 for low, high in zip(box["min_corner"], box["max_corner"], strict=True)]
    page.wait_for_url(lambda url: [float(one) for one in view(url).split(",")[:2]] == pytest.approx(middle, abs=0.01))
    place = view(page.url)
    page.get_by_role("button", name="Conditions").click()
    page.get_by_label("only in the visible part of the map").check()
    expect(page.locator("#summary")).to_contain_text("results")
    again = open_page(shared_console, f"/?view={place}")
    assert pixel(again, 6.0, 4.0) == pytest.approx(pixel(page, 6.0, 4.0), abs=2.0)
