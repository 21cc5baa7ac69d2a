"""A robot of a fleet that is hurt: it remembers, corrects, withdraws and purges until it has enough.

Then it takes lines: `purge` deletes what was told in confidence, and the end of the input ends it. It prints up to
where the fleet has acknowledged its file, and how many memories it has made.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from contextlib import suppress
from typing import Any

from robotmem_ros.fleet.scope import FleetMemory, open_memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import InvalidFieldError, MemoryNotFoundError

SECRET = "qzxjv"
"""A word that no purged memory leaves behind."""
RESTORED = "r0"
"""The robot whose file is restored: what it lost would stay in the fleet, so it tells nothing in confidence."""
CONFIDENCE = "confidence"
"""The collection of what is purged at the end."""
_AT_ONCE = 200
_PERIOD = 0.1
_ROOMS = 400


def live(memory: FleetMemory, memories: int, draw: random.Random) -> None:
    """Remember so many memories, report after each step, and purge when told to."""
    # The fleet waits for something new of a file that was put back from a backup.
    memory.save_perception("started")
    memory.follow()
    while (made := _made(memory)) < memories:
        count = min(_AT_ONCE, memories - made)
        memory.save_many([_perception(memory.path.stem, made + number, draw) for number in range(count)])
        _change(memory, made, draw)
        _report(memory)
    while True:
        _report(memory)
        if select.select([sys.stdin], [], [], _PERIOD)[0]:
            if not sys.stdin.readline():
                return
            memory.purge(collection=CONFIDENCE)
            print("purged", flush=True)


def _change(memory: RobotMemory, made: int, draw: random.Random) -> None:
    for _ in range(6):
        memory_id, act = draw.randint(1, made + 1), draw.randrange(5)
        with suppress(MemoryNotFoundError, InvalidFieldError):
            if act == 0:
                memory.forget(memory_id, "a mistake")
            elif act == 1:
                memory.update(memory_id, human_summary=f"corrected {draw.random()}", add_tags=["corrected"])
            elif act == 2:
                memory.update(memory_id, f"something else {draw.random()}")
            elif act == 3:
                memory.restore(memory_id)
            elif draw.random() < 0.1:
                memory.purge(ids=[memory_id])


def _perception(name: str, number: int, draw: random.Random) -> dict[str, object]:
    is_secret = number % 100 == 0 and name != RESTORED
    return {
        "description": f"{SECRET if is_secret else 'seen'} {number} in room {draw.randrange(_ROOMS)}",
        "collection": CONFIDENCE if is_secret else "default",
        "label": "mug", "as_object": number % 50 == 1, "pose": (draw.uniform(0, 100), draw.uniform(0, 100), 0.0),
        "context": {"lot": number % 100},
    }  # fmt: skip


def _made(memory: RobotMemory) -> int:
    with memory.parts.database.snapshot() as snapshot:
        return int(snapshot.row("SELECT coalesce(max(id), 0) FROM memories")[0])


def _report(memory: FleetMemory) -> None:
    follower = memory.fleet._follower
    assert follower is not None
    cursor = follower._push.acknowledged
    print(cursor.epoch or "-", cursor.revision, _made(memory), flush=True)


def main(path: str, url: str, memories: int, seed: str, ahead: float) -> None:
    """Be a robot whose clock is so many seconds ahead."""
    now = time.time_ns
    time.time_ns = lambda: now() + int(ahead * 1e9)
    options: dict[str, Any] = {"embedding_model": "", "fleet_url": url, "clock": time.time_ns, "max_memories": 0}
    with open_memory(path, **options) as memory:
        assert isinstance(memory, FleetMemory)
        live(memory, memories, random.Random(f"{seed} {os.getpid()}"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
