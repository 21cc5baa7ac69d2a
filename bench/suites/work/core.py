"""Do the work in process: `python3 -m bench.suites.work.core DATABASE MODEL WORK` prints a period in each line."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from bench.internals.database import save
from bench.suites.work.periods import SEED, Work, recall_steadily
from bench.usage import cpu_seconds, resident_bytes
from bench.worlds.house import HouseMemory, make_world
from bench.worlds.house_queries import Query
from robotmem_ros.memory import RobotMemory


def main(database: str, model: str, work: Work) -> None:
    """Save perceptions in one thread, and recall in another."""
    memories = make_world(round(work.rate * (work.periods * work.seconds + 60)), 0, SEED).memories
    with RobotMemory(database, embedding_model=model) as memory:
        memory.wait_for_model()
        is_over = threading.Event()
        saver = threading.Thread(target=_save, args=(memory, memories, work.rate, is_over))
        saver.start()

        def usage() -> dict[str, Any]:
            pid = os.getpid()
            return {"memories": memory.status().memories, "cpu": cpu_seconds(pid), "resident": resident_bytes(pid)}

        def recall(query: Query) -> float:
            start = time.perf_counter()
            memory.recall(query.text)
            return time.perf_counter() - start

        for period in recall_steadily(work, recall, usage):
            print(json.dumps(period._asdict()), flush=True)
        is_over.set()
        saver.join()


def _save(memory: RobotMemory, memories: tuple[HouseMemory, ...], rate: int, is_over: threading.Event) -> None:
    start = time.perf_counter()
    for number, item in enumerate(memories):
        if is_over.wait(max(0.0, start + number / rate - time.perf_counter())):
            return
        save(memory, item.content, background=True, context=item.context, observed_at=round(1e9 * item.stamp))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Work(*json.loads(sys.argv[3])))
