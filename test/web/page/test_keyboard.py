"""The page by the keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import OpenPage

FOCUSED = (
    "document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.tagName"
)


def focused(page: Page) -> str:
    return str(page.evaluate(FOCUSED))


def test_one_searches_walks_opens_forgets_and_undoes_without_a_mouse(open_page: OpenPage, own_console: str) -> None:
    page = open_page(own_console)
    page.keyboard.press("/")
    page.keyboard.type("muddy boots")
    expect(page.get_by_role("option").first.locator("mark")).to_have_text(["muddy", "boots"])
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option").first).to_have_class(re.compile("active"))
    expect(page.locator(".leaflet-tooltip.tip")).to_contain_text("boots")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_focused()
    expect(page.locator("#panel .content")).to_contain_text("muddy boots")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.act") == "forget":
            break
    page.keyboard.press("Enter")
    page.keyboard.type("they are clean now")
    for _ in range(8):  # the focus stays in the dialog
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement.closest('dialog') !== null || document.activeElement === document.body"
        )
    page.get_by_label("Reason").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("option", name="muddy")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.get_by_role("option", name="muddy")).to_have_count(1)
    page.locator("#panel").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()


def test_the_first_stop_leads_to_the_memories(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the memories")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("listbox")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#summary")).to_contain_text("memories, newest first")


@pytest.mark.rare
def test_an_area_is_drawn_and_a_target_put_by_keys(open_page: OpenPage, own_console: str) -> None:
    page = open_page(own_console)
    page.keyboard.press("t")
    assert focused(page).startswith("Target at")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Delete")
    expect(page.get_by_label(re.compile("^Target at"))).to_have_count(0)
    page.keyboard.press("a")
    assert focused(page) == "map"
    for step in ("ArrowRight", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(" ")
        page.keyboard.press(step)
    page.keyboard.press("Enter")
    page.keyboard.type("corner")
    page.keyboard.press("Enter")
    expect(page.locator(".area-name")).to_have_text("corner")


def test_the_keys_are_told_and_letters_can_be_switched_off(open_page: OpenPage, shared_console: str) -> None:
    page = open_page(shared_console)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("put a target on the map")
    dialog.get_by_label("Single letters are keys").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("t")
    page.keyboard.press("m")
    assert page.get_by_label(re.compile("^Target at")).count() == 0
