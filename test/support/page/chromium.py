"""The browser of this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable(playwright: Playwright) -> str | None:
    """Return the path of a Chromium: of the distribution, else the one that playwright has downloaded."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    own = playwright.chromium.executable_path
    return found or (own if os.path.exists(own) else None)  # noqa: PTH110


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser without a window; skip the test where there is none, and fail it in CI."""
    with sync_playwright() as playwright:
        path = executable(playwright)
        if path is None:
            why = f"there is no browser: none of {', '.join(NAMES)}, and playwright has downloaded none"
            if os.environ.get("CI") == "true":
                pytest.fail(why)
            pytest.skip(why)
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        # A container may have little of /dev/shm. A process for the graphics would cost a page a quarter of a second.
        options += ["--disable-dev-shm-usage", "--in-process-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=options)
        try:
            yield browser
        finally:
            browser.close()
