"""Pages that must be clean: none may complain in its console or ask another host for anything."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

PATIENCE = 120_000
"""Milliseconds for what a page does, on a machine that does much else."""
_DEFAULTS = {"locale": "en-GB", "timezone_id": "Europe/Berlin", "viewport": {"width": 1280, "height": 800}}
_READY = "html[data-ready]"
_GONE = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")
"""What a browser says of a console that the test has ended."""
_SHOW = """path => {
  document.activeElement.blur();
  document.querySelector(".toggle[aria-expanded=true]")?.click();
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
  return import("/static/js/results.js").then(({ load }) => load());
}"""


class Pages:
    """Opens pages, and keeps what they complain of."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._complaints: list[str] = []
        self._expected = ["404"]

    def open(self, address: str, path: str = "/", *, ready: bool = True, expected: str = "", **options: Any) -> Page:
        """Load a page in a browser of its own; it may complain of what is expected."""
        self._expect(expected)
        context = self._browser.new_context(**_DEFAULTS | options)
        context.set_default_timeout(PATIENCE)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._keep_message)
        page.on("pageerror", lambda error: self._complaints.append(str(error)))
        page.on("request", lambda request: self._keep_foreign(request, address))
        page.goto(address.rstrip("/") + path)
        if ready:
            page.wait_for_selector(_READY, state="attached")
        return page

    def show(self, page: Page, path: str = "/", *, expected: str = "") -> Page:
        """Go to another address without a load, as the button back would, and wait for its list."""
        self._expect(expected)
        page.evaluate(_SHOW, path)
        return page

    def check(self) -> None:
        """Fail if a page complained since the last check."""
        unexpected = [one for one in self._complaints if not any(part in one for part in self._expected)]
        self._complaints, self._expected = [], ["404"]
        assert unexpected == []

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()

    def _expect(self, complaint: str) -> None:
        if complaint:
            self._expected.append(complaint)

    def _keep_message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.endswith(_GONE):
            self._complaints.append(message.text)

    def _keep_foreign(self, request: Request, address: str) -> None:
        here, there = urlsplit(address), urlsplit(request.url)
        if there.scheme not in {"data", "blob"} and there.netloc != here.netloc:
            self._complaints.append(f"asked {request.url}")
