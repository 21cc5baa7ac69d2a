"""What others change appears by itself, and a lost connection is told."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

from robotmem_ros.memory import RobotMemory

from ...support.page.console import console
from .conftest import OpenPage


def test_a_new_memory_appears_without_a_reload(open_page: OpenPage, own_console: str, own_db: Path) -> None:
    page = open_page(own_console)
    page.wait_for_selector("html[data-live]", state="attached")
    with RobotMemory(own_db, embedding_model="") as memory:
        memory.save_perception("a purple teapot", pose=(2.0, 2.0, 0.8), label="teapot", collection="house")
        expect(page.get_by_role("option").first).to_contain_text("a purple teapot")
        expect(page.get_by_label("Map of 41 objects")).to_be_visible()


def test_a_lost_connection_is_told_until_it_is_back(open_page: OpenPage, own_db: Path) -> None:
    with console(own_db) as address:
        page = open_page(address, expected="Failed to load resource")
        port = urlsplit(address).port
        assert port is not None
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    with RobotMemory(own_db, embedding_model="") as memory:
        memory.learn("while nobody was connected", collection="house")
    with console(own_db, "--port", port):
        expect(page.locator("#connection")).to_have_text("")
        expect(page.get_by_role("option").first).to_contain_text("while nobody was connected")
