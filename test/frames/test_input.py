"""A buffer reads messages and is safe to use from several threads."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any

from robotmem_ros.frames import (
    ExtrapolationError,
    Transform,
    TransformBuffer,
)

SECOND = 1_000_000_000


def at(seconds: float) -> int:
    """Seconds in nanoseconds."""
    return round(seconds * SECOND)


def stamped(parent: str, child: str, x: float, w: float = 1.0) -> Any:
    """A geometry_msgs/TransformStamped at 7.5 s, as far as the buffer reads it."""
    header = SimpleNamespace(frame_id=parent, stamp=SimpleNamespace(sec=7, nanosec=500_000_000))
    shift, turn = SimpleNamespace(x=x, y=0.0, z=0.0), SimpleNamespace(x=0.0, y=0.0, z=0.0, w=w)
    transform = SimpleNamespace(translation=shift, rotation=turn)
    return SimpleNamespace(header=header, child_frame_id=child, transform=transform)


def test_valid_transforms_of_a_message_are_added_and_errors_of_the_others_returned() -> None:
    buffer = TransformBuffer()
    bad = [stamped("odom", "odom", 1.0), stamped("odom", "arm", math.nan), stamped("odom", "leg", 0.0, w=0.0)]
    message = SimpleNamespace(transforms=[stamped("/odom", "base", 3.0), *bad, stamped("base", "imu", 4.0)])
    refused = buffer.add_message(message, static=False)
    assert [error.child for error in refused] == ["odom", "arm", "leg"]
    assert buffer.lookup("odom", "imu", at(7.5)).x == 7


def test_threads_may_write_and_read_at_once() -> None:
    buffer = TransformBuffer(SECOND)
    buffer.add("odom", "base", at(0.001), Transform(x=1), static=False)
    wrong: list[object] = []
    compared: list[float] = []

    def write() -> None:
        for step in range(2, 3000):
            buffer.add("odom", "base", at(step / 1000), Transform(x=step), static=False)

    def read() -> None:
        for _ in range(1000):
            x = buffer.lookup("odom", "base", 0).x
            stamp = round(x) * 1_000_000
            try:
                again = buffer.lookup("odom", "base", stamp).x
            except ExtrapolationError:
                continue  # so much was written since that it is older than the history
            compared.append(again)
            if again != x:
                wrong.append(x)

    threads = [threading.Thread(target=run) for run in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compared
    assert not wrong
    assert buffer.lookup("odom", "base", 0).x == 2999
