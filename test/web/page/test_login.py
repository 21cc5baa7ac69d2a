"""A console that asks for a token."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

from ...support.page.console import console
from .conftest import OpenPage

TOKEN = "a-token-that-nobody-guesses-0123456789"


def test_a_token_is_asked_for_once_and_a_wrong_one_is_refused(
    open_page: OpenPage, own_db: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    with console(own_db, "--host", "0.0.0.0", "--token-file", tmp_path / "token") as told:
        address = f"http://127.0.0.1:{urlsplit(told).port}/"
        page = open_page(address, "/?q=kettle", expected="401")
        dialog = page.get_by_role("dialog", name="Log in")
        dialog.get_by_label("Token").fill("wrong")
        dialog.get_by_role("button", name="Log in").click()
        expect(dialog.get_by_role("alert")).to_contain_text("token")
        dialog.get_by_label("Token").fill(TOKEN)
        dialog.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("option").first).to_contain_text("a kettle on the stove")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.reload()
        expect(page.get_by_role("option").first).to_contain_text("a kettle on the stove")


def test_the_address_that_the_console_prints_logs_in(open_page: OpenPage, own_db: Path) -> None:
    with console(own_db, "--host", "0.0.0.0") as told:
        parts = urlsplit(told)
        page = open_page(f"http://127.0.0.1:{parts.port}/", f"/?q=kettle#{parts.fragment}")
        expect(page.get_by_role("option").first).to_contain_text("a kettle on the stove")
        assert TOKEN not in page.url
        assert "token" not in page.url
