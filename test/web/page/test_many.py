"""The page with thousands of objects. What is measured is printed (`pytest -s`), since machines differ."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from playwright.sync_api import expect

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.clock import NOW, SECOND, Clock
from ...support.page.console import console
from .conftest import OpenPage

OBJECTS = 5000
COUNT_FRAMES = """() => {
  const times = [], state = (window.frames_drawn = { stop: false, times });
  const frame = (now) => { times.push(now); if (!state.stop) requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


def filled(db: Path) -> None:
    """Let a robot see a hall full of stands, two metres apart."""
    with RobotMemory(db, clock=Clock(), embedding_model="", synchronous="normal") as memory:
        stands = [
            new_perception(
                memory.parameters,
                NewPerception(
                    f"stand {nth}", pose=(2.0 * (nth % 100), 2.0 * (nth // 100), 0.5), label="stand",
                    observed_at=NOW - (OBJECTS - nth) * SECOND,
                ),
                now=Clock(),
            )
            for nth in range(OBJECTS)
        ]  # fmt: skip
        for done in [memory.store(stand) for stand in stands]:
            done.result()


@pytest.mark.rare
def test_five_thousand_objects_are_drawn_while_the_map_is_dragged(open_page: OpenPage, tmp_path: Path) -> None:
    filled(tmp_path / "memory.db")
    with console(tmp_path / "memory.db") as address:
        page = open_page(address, "/?include_unconfirmed=1", reduced_motion="no-preference")
        expect(page.get_by_label("Map of 5,000 objects")).to_be_visible()
        box = page.locator("#map").bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.evaluate(COUNT_FRAMES)
        for step in range(30):
            page.mouse.move(x + 200 * math.sin(step / 15), y + 120 * math.sin(step / 9))
        times = page.evaluate("(frames_drawn.stop = true, frames_drawn.times)")
        page.mouse.up()
        print(f"\n{len(times) - 1} frames, {1000 * (len(times) - 1) / (times[-1] - times[0]):.1f} a second")
        page.mouse.move(x, y)
        assert len(times) > 1
        assert page.get_by_role("option").count() < 40
