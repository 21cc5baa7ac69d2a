"""Random memories of few words."""

from __future__ import annotations

import random

from robotmem_ros.memory import Kind
from robotmem_ros.memory.models import NewMemory

WORDS = (
    "red", "blue", "mug", "mug", "mug", "mug", "mug", "lamp", "grip_force", "grip", "force", "12.5", "12.7 N", "杯子",
    "in the hall", "garage", "shelf", "slipped", "carried", "käse",
)  # fmt: skip
RARE = ("zebra", "quartz", "left_arm")
COLLECTIONS, SESSIONS = ("default", "lab"), ("", "morning", "evening", "short")


def text(draw: random.Random) -> str:
    """Draw a text of few words, some of them repeated; sometimes empty for the index, or with a rare word."""
    words = draw.choices(WORDS, k=draw.choice((1, 2, 3, 4, 4, 9)))
    if draw.random() < 0.01:
        words.append(draw.choice(RARE))
    return " ".join(words) if draw.random() > 0.01 else "!?"


def new_memory(draw: random.Random, moment: int) -> NewMemory:
    """Draw a memory."""
    return NewMemory(
        Kind.FACT if draw.random() < 0.5 else Kind.PERCEPTION,
        text(draw),
        draw.choices(COLLECTIONS, weights=(4, 1))[0],
        moment,
        "map",
        draw.choices(SESSIONS, weights=(60, 30, 8, 2))[0],
        human_summary=text(draw) if draw.random() < 0.2 else "",
        scope_entities=draw.choice(("", "", "red mug")),
    )
