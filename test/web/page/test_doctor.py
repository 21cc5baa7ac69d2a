"""The health of the memory: what the doctor sees, the last recalls, and the memories that are used most."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from playwright.sync_api import expect

from robotmem_ros.memory import RobotMemory

from ...support.page.accessible import assert_accessible
from .conftest import OpenPage


def test_the_doctor_examines_when_asked_and_names_what_mends(
    open_page: OpenPage, own_console: str, own_db: Path
) -> None:
    page = open_page(own_console, "/?panel=health")
    page.get_by_role("button", name="Examine the memory").click()
    findings = page.get_by_role("table", name="Doctor")
    expect(findings.locator("tr.ok", has_text="indexes")).to_contain_text("have their vectors")
    with closing(sqlite3.connect(own_db, isolation_level=None)) as connection:
        connection.execute("INSERT INTO objects_rtree (id) VALUES (99)")
    page.get_by_role("button", name="Examine the memory").click()
    expect(findings.locator("tr.error", has_text="indexes")).to_contain_text("robotmem doctor --fix")
    assert_accessible(page)


def test_recalls_and_the_most_used_memories_are_shown(open_page: OpenPage, own_console: str, own_db: Path) -> None:
    with RobotMemory(own_db, embedding_model="", recall_log_texts=True) as memory:
        memory_id = memory.learn("the zeppelin is moored at the mast").memory_id
        memory.recall("zeppelin", 1, caller="planner")
        memory.recall("qzxjv")
    page = open_page(own_console, "/?panel=health")
    recalls = page.get_by_role("table", name="Last recalls")
    expect(recalls.locator("tbody tr")).to_have_count(2)
    expect(recalls.locator("tbody tr").nth(1)).to_contain_text("planner")
    expect(recalls.locator("tbody tr").nth(1)).to_contain_text("zeppelin")
    expect(page.locator("#panel")).to_contain_text("50 %")
    used = page.get_by_role("table", name="Most used memories")
    used.get_by_role("button", name=f"#{memory_id}").click()
    expect(page.locator("#panel")).to_contain_text("once, ")
    expect(page.get_by_role("heading", name=f"Memory {memory_id}")).to_be_visible()
