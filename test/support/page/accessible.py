"""A checker of accessibility."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_AXE = Axe()


def assert_accessible(page: Page) -> None:
    """Check the page as it is."""
    found = _AXE.run(page)
    assert found.violations_count == 0, found.generate_report()
