"""Work on a memory from several threads until the standard input ends, and print what was acknowledged.

A line begins with what happened: `saved ID WORD`, `changing ID` before and `updated ID WORD`, `forgotten ID`,
`purged ID WORD` or `unfinished ID WORD` after a change, `named TEXT` for an error of the package, `raw TEXT` for any
other, `closed` at the end. Each word is in one memory alone.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable

from robotmem_ros.memory import PurgeUnfinishedError, RobotMemory, RobotMemoryError

_THREADS = 3
_ROOMS = 20
_RETENTION_AGE = 300.0
"""Days: far more than a storm lasts, and less than a clock is wrong."""


class Work:
    """One thread's part; it changes the memories that it saved itself.

    Args:
        memory: What it works on.
        name: Of the thread, which is part of its words.
        seed: Of all chance.
        until: Set when it is to end.
    """

    def __init__(self, memory: RobotMemory, name: str, seed: str, until: threading.Event) -> None:
        self._memory, self._name, self._until = memory, name, until
        self._chance = random.Random(f"{seed}{name}")
        self._words: dict[int, str] = {}
        self._made = 0
        self._acts: dict[Callable[[], None], int] = {
            self._save: 40, self._learn: 15, self._sight: 15, self._update: 10, self._forget: 5, self._purge: 4,
            self._recall: 15, self._list: 5, self._retain: 1,
        }  # fmt: skip

    def run(self) -> None:
        """Act at random until it is to end."""
        acts, weights = list(self._acts), list(self._acts.values())
        while not self._until.is_set():
            (act,) = self._chance.choices(acts, weights)
            try:
                act()
            except RobotMemoryError as error:
                say("named", f"{act.__name__} {type(error).__name__}: {error}")
            except BaseException:
                say("raw", f"{act.__name__} {traceback.format_exc()!r}")

    def _word(self) -> str:
        self._made += 1
        return f"zq{self._name}x{self._made}"

    def _text(self, word: str) -> str:
        return f"the red box {word} stands in room {self._chance.randrange(_ROOMS)}"

    def _save(self) -> None:
        word = self._word()
        pose = (self._chance.uniform(0, 50), self._chance.uniform(0, 50), 0.0)
        context = {"task": {"success": self._chance.random() < 0.5}, "word": word}
        stored = self._memory.save_perception(self._text(word), pose=pose, context=context)
        self._keep("saved", stored.memory_id, word)

    def _learn(self) -> None:
        word = self._word()
        learned = self._memory.learn(f"box {word} is lifted with {self._chance.randrange(90)} N")
        self._keep("saved", learned.memory_id, word)

    def _keep(self, what: str, memory_id: int, word: str) -> None:
        self._words[memory_id] = word
        say(what, memory_id, word)

    def _sight(self) -> None:
        number = self._chance.randrange(_ROOMS)
        self._memory.save_perception("a mug", label="mug", pose=(number * 3.0, self._chance.gauss(0, 0.05), 0.8))

    def _own(self) -> int | None:
        if not self._words:
            return None
        memory_id = self._chance.choice(list(self._words))
        say("changing", memory_id)
        return memory_id

    def _update(self) -> None:
        if (memory_id := self._own()) is not None:
            del self._words[memory_id]
            word = self._word()
            self._memory.update(memory_id, self._text(word))
            self._keep("updated", memory_id, word)

    def _forget(self) -> None:
        if (memory_id := self._own()) is not None:
            del self._words[memory_id]
            self._memory.forget(memory_id, "a test")
            say("forgotten", memory_id)

    def _purge(self) -> None:
        if (memory_id := self._own()) is None:
            return
        word = self._words.pop(memory_id)
        try:
            self._memory.purge(ids=[memory_id])
        except PurgeUnfinishedError:
            say("unfinished", memory_id, word)
        else:
            say("purged", memory_id, word)

    def _recall(self) -> None:
        room = self._chance.randrange(_ROOMS)
        near = (self._chance.uniform(0, 50), 0.0, 0.0) if self._chance.random() < 0.5 else None
        self._memory.recall(f"red box in room {room}", spatial_sort=near, context_filter={"task.success": True})

    def _list(self) -> None:
        self._memory.timeline(n=20)
        self._memory.objects(100)
        self._memory.counts("labels")

    def _retain(self) -> None:
        self._memory.retain()


def say(*words: object) -> None:
    """Print a line whole, as soon as it is known."""
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)).replace("\n", " ") + "\n").encode())


def work(path: str, seed: str, until: threading.Event) -> None:
    """Open a file and work on it from several threads until the event is set."""
    with RobotMemory(path, embedding_model="", retention_age=_RETENTION_AGE) as memory:
        works = [Work(memory, f"{seed}t{number}", seed, until) for number in range(_THREADS)]
        threads = [threading.Thread(target=part.run) for part in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main(path: str, seed: str) -> None:
    """Work on a file until the standard input ends, and open it again while it cannot be opened."""
    logging.disable(logging.CRITICAL)  # each error is printed already
    until, attempt = threading.Event(), 0
    threading.Thread(target=_set_at_end, args=(until,), daemon=True).start()
    while not until.is_set():
        attempt += 1
        try:
            work(path, f"{seed}n{attempt}", until)
        except RobotMemoryError as error:
            say("named", f"open or close {type(error).__name__}: {error}")
            until.wait(0.1)
        except BaseException:
            say("raw", repr(traceback.format_exc()))
    say("closed")


def _set_at_end(until: threading.Event) -> None:
    sys.stdin.read()
    until.set()


if __name__ == "__main__":
    main(*sys.argv[1:])
