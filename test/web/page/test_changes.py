"""Forget, restore and correct on the page, each with its way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from robotmem_ros.memory import RobotMemory

from .conftest import OpenPage


def opened(page: Page, words: str) -> None:
    """Search for words and open the best result."""
    page.get_by_role("searchbox").fill(words)
    expect(page.get_by_role("option").first).to_contain_text(words)
    page.get_by_role("option").first.click()
    expect(page.locator("#panel .content")).to_contain_text(words)


def test_forgetting_takes_a_reason_and_can_be_undone(open_page: OpenPage, own_console: str, own_db: Path) -> None:
    page = open_page(own_console)
    opened(page, "cactus on the bookshelf")
    page.get_by_role("button", name="Forget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Forget").click()
    expect(dialog.get_by_role("alert")).to_have_text("Forgetting needs a reason.")
    dialog.get_by_label("Reason").fill("it was thrown away")
    dialog.get_by_label("Reason").press("Enter")
    expect(page.locator("#panel .withdrawn")).to_have_text("forgotten — it was thrown away")
    expect(page.get_by_role("option", name="cactus")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("option", name="cactus")).to_be_visible()
    expect(page.locator("#panel .withdrawn")).to_have_count(0)
    page.get_by_text("2 changes").click()
    expect(page.locator(".history")).to_contain_text("it was thrown away")
    with RobotMemory(own_db, embedding_model="", read_only=True) as memory:
        assert memory.recall("cactus", collection="*").memories[0].content == "a cactus on the bookshelf"


@pytest.mark.rare
def test_a_memory_that_was_forgotten_is_found_in_the_list_and_restored(
    open_page: OpenPage, own_console: str, own_db: Path
) -> None:
    with RobotMemory(own_db, embedding_model="") as memory:
        gone = memory.recall("doorbell", collection="*").memories[0]
        memory.forget(gone.id, "only a neighbour")
    page = open_page(own_console, "/?include_forgotten=1&labels=doorbell")
    page.get_by_role("option", name="forgotten").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    expect(page.get_by_role("option", name="doorbell").locator(".status")).to_have_count(0)


def test_correcting_sends_what_was_changed_and_undo_puts_it_back(
    open_page: OpenPage, own_console: str, own_db: Path
) -> None:
    page = open_page(own_console)
    opened(page, "rinse the glass")
    page.get_by_role("button", name="Correct").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_have_text("Nothing was changed.")
    dialog.get_by_label("Text", exact=True).fill("dry the glass before the robot takes it")
    dialog.get_by_label("Tags").fill("kitchen, wet")
    dialog.get_by_label("Context").fill("{")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The context is no JSON")
    dialog.get_by_label("Context").fill('{"task": {"success": true}}')
    dialog.get_by_label("Reason").fill("it slips when wet")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("#panel .content")).to_have_text("dry the glass before the robot takes it")
    page.get_by_text("1 change").click()
    expect(page.locator(".history")).to_contain_text("it slips when wet")
    expect(page.locator(".history .before")).to_contain_text("rinse the glass")
    page.keyboard.press("u")
    expect(page.locator("#panel .content")).to_have_text("rinse the glass before the robot takes it")
    expect(page.locator(".toast")).to_contain_text("Undone.")
    with RobotMemory(own_db, embedding_model="", read_only=True) as memory:
        (found,) = memory.recall("rinse the glass", collection="lab").memories
        assert (found.content, found.context) == ("rinse the glass before the robot takes it", {})


def test_a_value_that_cannot_be_used_is_told_and_nothing_is_lost(open_page: OpenPage, own_console: str) -> None:
    page = open_page(own_console, expected="400")
    opened(page, "rinse the glass")
    page.get_by_role("button", name="Correct").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("confidence").fill("7")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("confidence")
    expect(dialog.get_by_label("confidence")).to_have_value("7")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(".history")).to_have_count(0)
