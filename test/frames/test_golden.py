"""The transform buffer beside the real tf2, on random trees.

`golden/random_trees.json` was made with tf2 0.39.1 (ROS 2 Kilted): random trees of 3 to 7 frames, static and moving,
with samples that lag, repeat, come out of order or too late, frames that change their parent (loops and self transforms
included), NaN, zero and unnormalised quaternions, and `clear()`. The same events went into a `tf2_py.BufferCore`, by
`set_transform` and `set_transform_static`, and each query was put to its `lookup_transform_core`; what it answered is
written down to 12 places, or the name of its exception. Over 5,000 larger worlds of the same generator (518,000
queries) the two agreed in every case, in value within 5e-14.

An event is ["add", parent, child, stamp in ns, [x, y, z, qx, qy, qz, qw], static], ["clear"], or
["query", target, source, stamp in ns, the same seven numbers or the exception].
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.frames import (
    ConnectivityError,
    ExtrapolationError,
    FrameLookupError,
    InvalidTransformError,
    Transform,
    TransformBuffer,
)

from ..support.transforms import apart

WORLDS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "golden" / "random_trees.json").read_text())
ERRORS = {"Lookup": FrameLookupError, "Connectivity": ConnectivityError, "Extrapolation": ExtrapolationError}


@pytest.mark.parametrize("world", WORLDS, ids=range(len(WORLDS)))
def test_the_buffer_answers_as_tf2_does(world: dict[str, Any]) -> None:
    buffer = TransformBuffer(world["history_ns"])
    for kind, *event in world["events"]:
        if kind == "add":
            parent, frame, stamp_ns, numbers, static = event
            with contextlib.suppress(InvalidTransformError):
                buffer.add(parent, frame, stamp_ns, Transform(*numbers), static=static)
        elif kind == "clear":
            buffer.clear()
        else:
            check(buffer, *event)


def check(buffer: TransformBuffer, target: str, source: str, stamp_ns: int, answer: str | list[float]) -> None:
    """A query has tf2's answer: the same transform, or the same class of error."""
    if isinstance(answer, str):
        with pytest.raises(ERRORS[answer]):
            buffer.lookup(target, source, stamp_ns)
    else:
        assert apart(buffer.lookup(target, source, stamp_ns), answer) < 1e-9


def test_the_golden_data_has_every_answer() -> None:
    answers = [event[-1] for world in WORLDS for event in world["events"] if event[0] == "query"]
    assert len(answers) > 500
    assert {answer for answer in answers if isinstance(answer, str)} == set(ERRORS)
