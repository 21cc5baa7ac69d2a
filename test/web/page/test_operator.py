"""What an operator must see: whether the robot is at work, what time it is, and what the console may do."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from robotmem_ros.memory import RobotMemory

from ...support.page.accessible import assert_accessible
from ...support.page.console import console
from .conftest import OpenPage, Visit
from .test_login import TOKEN


@pytest.mark.rare
def test_when_the_file_was_last_written_and_who_has_it_open_is_told(
    open_page: OpenPage, own_console: str, own_db: Path
) -> None:
    page = open_page(own_console, "/?panel=health")
    activity = page.locator("#activity")
    expect(activity).to_have_text(re.compile(r"^Last written \d+ (second|minute)s? ago · open nowhere else$"))
    expect(page.locator("#panel")).to_contain_text(re.compile(r"free on its disk[\d.]+ [MGT]B"))
    page.wait_for_selector("html[data-live]", state="attached")
    with RobotMemory(own_db, embedding_model="") as memory:
        memory.learn("the robot is at work")
        expect(activity).to_have_text(re.compile(rf"^Last written \d+ seconds? ago · open in .*\({os.getpid()}\)$"))
        expect(page.locator("#panel")).to_contain_text(f"({os.getpid()})")


def test_now_is_now_and_not_the_time_of_the_newest_memory(visit: Visit) -> None:
    page = visit()
    expect(page.locator(".moment output")).to_have_text(re.compile(r"^Now is [\d,]+ days later →$"))
    for _ in range(24):
        page.get_by_role("button", name="Longer time").click()
    expect(page.locator(".moment output")).to_have_text("Now")
    page.get_by_role("button", name="All times").click()


def test_a_console_that_only_reads_offers_no_change(open_page: OpenPage, own_db: Path) -> None:
    with console(own_db, "--read-only") as address:
        page = open_page(address, "/?panel=memory&memory=1")
        expect(page.locator("#panel .buttons")).to_contain_text("read-only")
        expect(page.locator("[data-act=correct], [data-act=forget]")).to_have_count(0)
        expect(page.get_by_role("button", name="Draw and name an area")).to_be_disabled()


def test_the_number_of_a_memory_stands_apart(visit: Visit) -> None:
    page = visit("/?panel=memory&memory=29101")
    expect(page.get_by_role("heading", name="Memory 29101", exact=True)).to_be_visible()


def test_an_empty_memory_says_so(open_page: OpenPage, tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model=""):
        pass
    with console(tmp_path / "memory.db") as address:
        page = open_page(address)
        expect(page.get_by_text("Nothing has been observed yet.")).to_be_visible()
        expect(page.get_by_text("Nothing with a position yet.")).to_be_visible()
        expect(page.locator("#activity")).to_contain_text("Nothing was stored yet")
        expect(page.locator("#timeline .track")).to_be_hidden()
        assert_accessible(page)
        page.wait_for_selector("html[data-live]", state="attached")
        with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
            memory.save_perception("a mug", pose=(1.0, 2.0, 0.0), label="mug")
            expect(page.locator("#timeline .track")).to_be_visible()
            expect(page.get_by_text("Nothing with a position yet.")).to_have_count(0)


def test_no_condition_is_cut_off(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Conditions").click()
    edge = page.locator(".conditions").bounding_box()
    assert edge is not None
    for control in page.locator(".condition-panel input:not([type=checkbox]), .condition-panel textarea").all():
        box = control.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= edge["x"] + edge["width"] - 12
    for name in ("From", "Until"):
        box = page.get_by_label(name, exact=True).bounding_box()
        assert box is not None
        assert box["width"] > 200


@pytest.mark.rare
def test_logging_out_leads_back_to_the_login(open_page: OpenPage, own_db: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    with console(own_db, "--host", "0.0.0.0", "--token-file", tmp_path / "token") as told:
        parts = urlsplit(told)
        page = open_page(f"http://127.0.0.1:{parts.port}/", f"/#token={TOKEN}", expected="401")
        expect(page.get_by_role("option").first).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("dialog", name="Log in")).to_be_visible()
        expect(page.get_by_role("option")).to_have_count(0)


def test_there_is_nothing_to_log_out_from_without_a_token(visit: Visit) -> None:
    expect(visit().get_by_role("button", name="Log out")).to_have_count(0)
