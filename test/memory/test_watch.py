"""A watch tells what comes, changes and goes under its conditions, each event once and in order."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, Match, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.verbs.watching import Watch

from .conftest import OpenMemory

KITCHEN = {"target": (0.0, 0.0), "max_distance": 2.0}


def changes(watch: Watch, n: int = 100) -> list[tuple[str, str, int]]:
    """Return what a watch tells until it stays: the change, the kind of event, and the memory."""
    return [(one.change.value, one.event.kind.value, one.event.memory_id) for one in all_of(watch, n)]


def all_of(watch: Watch, n: int = 100) -> list[Match]:
    """Return all matches that there are."""
    found: list[Match] = []
    before = -1
    while watch.cursor > before:
        before = watch.cursor
        found += watch.next(n)
    return found


def put(memory: RobotMemory, x: float, label: str = "mug", size: tuple[float, ...] | None = None) -> int:
    """Save a thing at a place."""
    return memory.save_perception(f"a {label}", label=label, pose=(x, 0.0, 0.0), size=size).memory_id


def test_a_thing_comes_moves_and_goes(open_memory: OpenMemory) -> None:
    memory = open_memory()
    watch = memory.watch(labels="mug", near=KITCHEN)
    assert changes(watch) == []
    mug, chair, far = put(memory, 1.0), put(memory, 1.5, "chair"), put(memory, 9.0)
    assert changes(watch) == [("came", "appeared", mug), ("changed", "confirmed", mug)]
    memory.update(mug, pose=(-1.0, 0.0, 0.0))
    memory.update(mug, pose=(8.0, 8.0, 0.0))
    memory.update(far, pose=(0.5, 0.0, 0.0))
    memory.update(chair, label="mug")
    assert changes(watch) == [
        ("changed", "moved", mug), ("went", "moved", mug), ("came", "moved", far), ("came", "relabelled", chair),
    ]  # fmt: skip
    memory.look(ids=[far])
    memory.forget(chair, "it broke")
    memory.update(far, confidence=0.9)
    assert changes(watch) == [("went", "gone", far), ("went", "forgotten", chair), ("came", "came back", far)]
    memory.purge(ids=[far, mug])
    assert changes(watch) == [("went", "forgotten", far)]


def test_facts_and_sizes_are_watched_by_the_conditions_of_a_recall(open_memory: OpenMemory) -> None:
    memory = open_memory()
    small = memory.watch(context_filter={"size.max": {"$lte": 0.1}})
    rules = memory.watch(kinds="fact", categories="constraint")
    put(memory, 1.0, "crate", (0.4, 0.3, 0.3))
    pin = put(memory, 5.0, "pin", (0.01, 0.01, 0.05))
    rule = memory.learn("never lift more than 2 kg", category="constraint").memory_id
    memory.learn("the door squeaks", category="observation")
    assert changes(small) == [("came", "appeared", pin), ("changed", "confirmed", pin)]
    assert changes(rules) == [("came", "learned", rule)]


def test_what_is_unconfirmed_comes_when_it_is_confirmed_unless_it_is_asked_for(open_memory: OpenMemory) -> None:
    memory = open_memory()
    only, all_ = memory.watch(labels="mug"), memory.watch(labels="mug", include_unconfirmed=True)
    mug = memory.save_perception("a mug", label="mug", pose=(1, 0, 0), confidence=0.2).memory_id
    assert (changes(only), changes(all_)) == ([], [("came", "appeared", mug)])
    memory.update(mug, confidence=0.9)
    assert (changes(only), changes(all_)) == ([("came", "confirmed", mug)], [("changed", "confirmed", mug)])
    memory.look(ids=[mug])
    assert (changes(only), changes(all_)) == ([("went", "gone", mug)], [("changed", "gone", mug)])


STEPS = st.lists(st.tuples(st.sampled_from(("put", "move", "label", "look", "forget", "restore")), st.integers(0, 4),
                           st.integers(0, 3)), max_size=25)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(steps=STEPS, cut=st.integers(0, 25), page=st.integers(1, 7))
def test_a_watch_that_goes_on_by_its_cursor_tells_what_one_without_a_break_does(
    steps: list[tuple[str, int, int]], cut: int, page: int
) -> None:
    places = (0.0, 1.9, 5.0, 12.0)
    with RobotMemory(":memory:", embedding_model="") as memory:
        whole, first = (memory.watch(labels="mug", near=KITCHEN) for _ in range(2))
        told: list[Match] = []
        for number, (step, thing, place) in enumerate(steps):
            x, label = places[place], ("mug", "cup")[(thing + place) % 2]
            with suppress(MemoryNotFoundError):
                if step == "put":
                    memory.save_perception(f"a thing {thing}", label=label, pose=(x, 0, 0))
                elif step == "move":
                    memory.update(thing + 1, pose=(x, 0, 0))
                elif step == "label":
                    memory.update(thing + 1, label=label)
                elif step == "look":
                    memory.look(ids=[thing + 1])
                elif step == "forget":
                    memory.forget(thing + 1, "a test")
                else:
                    memory.restore(thing + 1)
            if number == cut:
                told += all_of(first, page)
        told += all_of(memory.watch(labels="mug", near=KITCHEN, after=first.cursor), page)
        assert told == all_of(whole, 1000)
        there = {one.event.memory_id for one in told if one.change.value != "went"}
        for one in told:
            (there.add if one.change.value != "went" else there.discard)(one.event.memory_id)
        now = memory.recall(labels="mug", near=KITCHEN, n=100, fold=False, min_confidence=0)
        assert there == {hit.id for hit in now}


def test_a_watch_that_goes_on_hears_of_what_was_deleted_meanwhile(open_memory: OpenMemory) -> None:
    memory = open_memory()
    mug = put(memory, 1.0)
    cursor = memory.events().latest
    memory.purge(ids=[mug])
    assert changes(memory.watch(labels="mug", after=cursor)) == [("went", "forgotten", mug)]


@pytest.mark.parametrize(
    "conditions", [{"after": 99}, {"after": -1}, {"near": (1, 2, "x")}, {"areas": "attic"}, {"context_filter": "{"}]
)
def test_what_cannot_be_watched_is_an_error_that_names_it(
    open_memory: OpenMemory, conditions: dict[str, object]
) -> None:
    memory = open_memory()
    (field,) = conditions
    with pytest.raises(InvalidFieldError, match=field):
        memory.watch(**conditions)
    with pytest.raises(FrameMismatchError):
        memory.watch(near={"target": (0, 0), "frame_id": "odom", "max_distance": 1})


def test_every_event_of_a_long_life_is_told_once_and_in_order(open_memory: OpenMemory) -> None:
    memory, draw = open_memory(), random.Random(3)
    watch = memory.watch(collection="*")
    for number in range(60):
        put(memory, 4.0 * number, draw.choice(("mug", "chair")))
    events = memory.events(n=1000).events
    assert [one.event for one in all_of(watch, 7)] == [*events]
