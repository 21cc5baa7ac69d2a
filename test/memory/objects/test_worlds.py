"""On worlds with ground truth objects are found, once, where they are."""

from __future__ import annotations

import pytest

from bench.suites.objects import measure
from bench.worlds.objects import Settings, make_world


@pytest.mark.parametrize("settings", [Settings(), Settings(covariances=True), Settings(missed=0.4, false=0.1)])
def test_true_things_are_found_once_and_as_precisely_as_they_are_seen(settings: Settings) -> None:
    report = measure(make_world(1, settings), settings)
    assert report.found >= 0.98 * report.things
    assert report.per_thing <= 1.05
    assert report.false <= 0.05 * report.things
    assert report.precision >= 0.98
    assert report.recall >= 0.98
    assert report.error <= 1.1 * report.floor
