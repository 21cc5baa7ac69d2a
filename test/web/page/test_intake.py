"""The health of the page: a tick only while a node tells that its intake is well."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from robotmem_ros.memory import RobotMemory

from ...support.intake import DROPPED, healthy, report
from ...support.page.accessible import assert_accessible
from ...support.page.console import console
from ...support.waiting import until
from .conftest import OpenPage


def mark(page: Page) -> Locator:
    """Load the page again, and return the sign on the button of the health."""
    page.reload()
    return page.locator("#health-mark")


@pytest.mark.rare
def test_a_tick_stands_only_where_the_intake_is_seen_and_well(open_page: OpenPage, tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with RobotMemory(db, embedding_model="") as memory, console(db, with_model=True) as address:
        until(lambda: httpx.get(f"{address}api/status").json()["reason"] == "", "model")
        page = open_page(address, "/?panel=health")
        panel = page.locator("#panel")
        expect(page.locator("#health-mark")).to_have_text("?")
        expect(panel).to_contain_text("What comes in cannot be seen: no node reports it now.")
        expect(panel).to_contain_text("No node has reported what it takes in.")
        memory.store_intake("a", healthy()).result()
        expect(mark(page)).to_have_text("✓")
        memory.store_intake("a", report()).result()
        expect(mark(page)).to_have_text("!")
        expect(panel.locator(".verdict")).to_have_text(f"! /detections: {DROPPED}")
        topics = page.get_by_role("list", name="Intake: /memory").get_by_role("listitem")
        expect(topics.nth(0)).to_contain_text("85 received · 5 stored · 80 dropped: unknown_frame · last ")
        expect(topics.nth(0)).to_contain_text("4.9/s")
        expect(topics.nth(1)).to_contain_text("/tftransforms0/s")
        assert_accessible(page)
        memory.store_intake("a", healthy(7200.0)).result()
        expect(mark(page)).to_have_text("!")
        expect(panel.locator(".verdict")).to_have_text(
            "! /memory reported 2 hours ago: what comes in now cannot be seen"
        )


def test_the_intake_is_told_in_chinese_too(open_page: OpenPage, tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with RobotMemory(db, embedding_model="") as memory, console(db) as address:
        memory.store_intake("a", report()).result()
        page = open_page(address, "/?panel=health", locale="zh-CN")
        expect(page.locator("#panel .verdict")).to_contain_text("/detections: 已丢弃：80 条 unknown_frame")
        expect(page.get_by_role("list", name="接收: /memory")).to_contain_text(
            "收到 85 · 存储 5 · 丢弃 80：unknown_frame"
        )
