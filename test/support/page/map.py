"""Where on the screen a place of the map is."""

from __future__ import annotations

from playwright.sync_api import Page

VISIBLE = "import('/static/js/map.js').then(module => module.visibleBox())"
"""Gives the box of the map that is in sight."""


def pixel(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return the pixel of a place in metres."""
    frame, box = page.locator("#map").bounding_box(), page.evaluate(VISIBLE)
    assert frame is not None
    (left, bottom), (right, top) = box["min_corner"], box["max_corner"]
    across, up = (x - left) / (right - left), (y - bottom) / (top - bottom)
    return frame["x"] + across * frame["width"], frame["y"] + (1.0 - up) * frame["height"]


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag with the mouse from one pixel to another."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=3)
    page.mouse.move(*end, steps=3)
    page.mouse.up()
