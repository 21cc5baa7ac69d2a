"""The calls of the published designs, with names and arguments as their documents write them: see docs/features.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .docs import PAGES

COLLECTION = "lab"
CONTEXT = {
    "params": {"force": {"value": 12.5, "unit": "N"}},
    "spatial": {"object_position": [1.3, 0.7, 0.42]},
    "robot": {"type": "UR5e"},
    "task": {"success": True},
    "env": {"sim_or_real": "real"},
}
INSIGHT = "grip_force=12.5N works best because sensor was calibrated"
QUERY = "how to grasp with grip force"
FILTERS: tuple[Mapping[str, object], ...] = (
    {"task.success": True},
    {"params.force.value": {"$lt": 15.0}},
    {"params.force.value": {"$gte": 10.0, "$lte": 20.0}},
    {"task.success": True, "robot.type": "UR5e"},
    {"robot.type": {"$ne": "Franka"}, "params.force.value": {"$gt": 12}},
)
OTHER_FILTERS: tuple[Mapping[str, object], ...] = (
    {"task.success": False},
    {"params.force.value": {"$lt": 12.5}},
    {"params.force.value": {"$gte": 10.0, "$lte": 12.0}},
    {"robot.type": {"$lt": 3}},
    {"params.force.value": {"$gt": "12"}},
)
"""Filters that the fact does not match, the last two by the type of the value."""
SPATIAL_SORT = {"field": "spatial.object_position", "target": [1.3, 0.7, 0.42], "max_distance": 0.1}
LEARN = {"insight": INSIGHT, "context": json.dumps(CONTEXT), "collection": COLLECTION}
SAVE_PERCEPTION = {
    "description": "the gripper closes on a cup",
    "perception_type": "tactile",
    "data": b"\x00\x01",
    "metadata": '{"format": "wrench", "units": "N"}',
    "collection": COLLECTION,
}
CALLS = {
    "learn": ("insight", "context", "session_id", "collection"),
    "recall": ("query", "n", "min_confidence"),
    "save_perception": ("description", "perception_type", "data", "metadata", "session_id", "collection"),
    "forget": ("memory_id", "reason"),
    "update": ("memory_id", "content", "context"),
    "start_session": ("context", "collection"),
    "end_session": ("session_id", "outcome_score"),
}
"""Arguments of the calls that the tests of the doors make."""
ROUTES = {
    "GET /api/doctor": "",
    "GET /api/stats": "",
    "GET /api/memories": "?collection=default&type=fact&category=postmortem&confidence=0.3&days=10000",
    "GET /api/search?q=": "grip",
    "GET /api/sessions": "",
    "GET /api/collections": "",
    "GET /api/categories": "",
    "GET /api/recent-failures": "",
    "GET /api/memory/<id>": "",
    "PUT /api/memory/<id>": "",
    "DELETE /api/memory/<id>": "",
    "GET /api/sessions/<id>/memories": "",
}
"""Routes, each with what follows it in a request."""


class Feature(NamedTuple):
    """A row of docs/features.md."""

    asked: str
    here: str
    where: str


def features() -> Iterator[Feature]:
    """Give the rows of the tables."""
    for line in PAGES["features.md"].splitlines():
        if line.startswith("| ") and not line.startswith("| asked for"):
            yield Feature(*(cell.strip() for cell in line.strip("|").split("|")))


def spans(text: str) -> list[str]:
    """Return the code within a text."""
    return re.findall(r"`([^`]+)`", text)
