"""Each follower equals one that is built anew: thrown away, broken off half way, fed twice, fed by two processes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ...support import corpus
from ...support.followers import MAKERS, SMALL, Program
from ...support.subprocesses import running

ORDERS = """
import sys
sys.path.insert(0, "test")
from support.followers import main
main()
"""
WRITES = ("correct", "relabel", "see_again", "forget", "purge")


class Other:
    """A program in a process of its own, which can be killed."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._process: subprocess.Popen[str] | None = None

    def run(self, verb: str, *arguments: object) -> Any:
        """Give an order and wait for what comes of it."""
        self._order(verb, *arguments)
        assert self._process is not None
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def kill(self, verb: str, *arguments: object) -> None:
        """Give an order, and kill the process while it obeys."""
        self._order(verb, *arguments)
        self.end()

    def end(self) -> None:
        """Kill the process."""
        self._process = None
        self._stack.close()

    def _order(self, *order: object) -> None:
        if self._process is None:
            self._process = self._stack.enter_context(running(ORDERS))
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(order)}\n")
        self._process.stdin.flush()


class Life(RuleBasedStateMachine):
    """Two processes write to one file, and each searches it by its own followers."""

    other: Other
    kills: int
    """How many more of the other process there may be: it takes a second to start."""

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.stack = ExitStack()
        self.path = Path(self.stack.enter_context(TemporaryDirectory())) / "memory.db"
        self.own = self.stack.enter_context(closing(Program(self.path)))
        self.other.run("open", str(self.path))
        self.run(False, "save", seed, 70)
        self.run(True, "embed", seed, 40)

    def run(self, own: bool, verb: str, *arguments: Any) -> Any:
        """Let one of the programs do something."""
        return getattr(self.own, verb)(*arguments) if own else self.other.run(verb, *arguments)

    @rule(own=st.booleans(), seed=st.integers(0, 1000), count=st.sampled_from((1, 7, 30)))
    def save(self, own: bool, seed: int, count: int) -> None:
        self.run(own, "save", seed, count)

    @rule(own=st.booleans(), seed=st.integers(0, 1000), count=st.sampled_from((1, 25)))
    def embed(self, own: bool, seed: int, count: int) -> None:
        self.run(own, "embed", seed, count)

    @rule(
        own=st.booleans(),
        verb=st.sampled_from(WRITES),
        seed=st.integers(0, 1000),
        share=st.sampled_from((0.03, 0.2, 0.7)),
    )
    def change(self, own: bool, verb: str, seed: int, share: float) -> None:
        self.run(own, verb, seed, share)

    @rule(own=st.booleans(), seed=st.integers(0, 1000))
    def fade(self, own: bool, seed: int) -> None:
        self.run(own, "fade", seed, 0.2)

    @rule(
        own=st.booleans(),
        verb=st.sampled_from(("feed", "throw_away")),
        which=st.integers(0, len(MAKERS) - 1),
    )
    def follow(self, own: bool, verb: str, which: int) -> None:
        self.run(own, verb, which)

    @rule(own=st.booleans(), which=st.integers(0, len(MAKERS) - 1))
    def feed_twice(self, own: bool, which: int) -> None:
        self.run(own, "feed_twice", which)

    @rule(own=st.booleans(), which=st.integers(0, len(MAKERS) - 1), steps=st.sampled_from((1, 30, 200, 3000)))
    def break_off(self, own: bool, which: int, steps: int) -> None:
        self.run(own, "feed_half", which, steps)

    @rule(own=st.booleans())
    def catch_up(self, own: bool) -> None:
        assert self.run(own, "catch_up") == [True] * len(MAKERS)
        found, anew = self.run(own, "found"), self.anew()
        assert found == anew

    @rule(order=st.sampled_from((("catch_up",), ("save", 1, 30), ("purge", 1, 0.3))))
    def kill(self, order: tuple[Any, ...]) -> None:
        # No precondition: what can be drawn must not depend on the lives before this one.
        if not type(self).kills:
            return
        type(self).kills -= 1
        self.other.kill(*order)
        self.other.run("open", str(self.path))

    @invariant()
    def each_finds_what_one_built_anew_finds(self) -> None:
        anew = self.anew()
        for own in (True, False):
            found = self.run(own, "found")
            # The watch may only be too careful.
            assert found.pop("faded") or not anew["faded"]
            assert found == {name: value for name, value in anew.items() if name != "faded"}
        corpus.check(self.own.database, self.own.texts.blocks, [corpus.TextQuery("red mug", 20)])

    def anew(self) -> Any:
        """Return what followers find that begin now."""
        with closing(Program(self.path)) as program:
            assert program.catch_up() == [True] * len(MAKERS)
            return json.loads(json.dumps(program.found()))

    def teardown(self) -> None:
        self.stack.close()


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[Other]:
    """Another process, and small blocks here as there."""
    for module, sizes in SMALL.items():
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)
    process = Other()
    yield process
    process.end()


def test_each_follower_equals_one_that_is_built_anew(other: Other) -> None:
    life = type("LifeHere", (Life,), {"other": other, "kills": 6})
    run_state_machine_as_test(life, settings=settings(max_examples=15, stateful_step_count=15, deadline=None))
