"""Where on the screen a place of the map is."""

from __future__ import annotations

import itertools

from playwright.sync_api import Page

from ..waiting import until

VISIBLE = "import('/static/js/map.js').then(module => module.visibleBox())"
"""Gives the box of the map that is in sight."""


def pixel(page: Page, x: float, y: float) -> tuple[float, float]:
    """Return the pixel of a place in metres."""
    frame, box = page.locator("#map").bounding_box(), page.evaluate(VISIBLE)
    assert frame is not None
    (left, bottom), (right, top) = box["min_corner"], box["max_corner"]
    across, up = (x - left) / (right - left), (y - bottom) / (top - bottom)
    return frame["x"] + across * frame["width"], frame["y"] + (1.0 - up) * frame["height"]


def hover(page: Page, x: float, y: float, text: str) -> None:
    """Move the mouse about a place in metres until the tip there says this.

    What is drawn anew takes its tip away, and of two moves within 32 ms Leaflet sees the first alone.
    """
    tips, sides = page.locator(".leaflet-tooltip.tip"), itertools.cycle((1, 0))

    def is_told() -> bool:
        across, up = pixel(page, x, y)
        page.mouse.move(across + next(sides), up)
        return any(text in tip for tip in tips.all_inner_texts())

    until(is_told, f"tip that says {text!r}")


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag with the mouse from one pixel to another."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=3)
    page.mouse.move(*end, steps=3)
    page.mouse.up()
