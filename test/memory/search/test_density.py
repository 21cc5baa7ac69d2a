"""The density of memories over time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.models import Kind

from ...support.clock import DAY, NOW, SECOND, Clock
from ..conftest import OpenMemory


@pytest.fixture
def filled(open_memory: OpenMemory) -> RobotMemory:
    """A memory of eleven seconds, one memory a second, each third a fact, half of them in the lab, one forgotten."""
    memory = open_memory(embedding_model="")
    for second in range(11):
        at, collection = second * 10**9, "lab" if second % 2 else "kitchen"
        if second % 3:
            memory.save_perception(f"seen {second}", observed_at=at, collection=collection)
        else:
            memory.learn(f"learned {second}", observed_at=at, collection=collection)
    memory.forget(memory.timeline(collection="*", after=5 * 10**9, before=6 * 10**9).entries[0].id, "a test")
    return memory


def total(counts: Mapping[Kind, tuple[int, ...]]) -> list[int]:
    """Add up the kinds."""
    return [sum(column) for column in zip(*counts.values(), strict=True)]


def test_all_active_memories_are_counted_from_the_oldest_to_the_newest(filled: RobotMemory) -> None:
    density = filled.density(bins=5)
    assert (density.first, density.last, density.start) == (0, 10 * 10**9, 0)
    assert density.width == 2 * 10**9 + 1
    assert total(density.counts) == [3, 2, 1, 2, 2]
    assert sum(density.counts[Kind.FACT]) == 4


def test_a_window_is_half_open_and_cut_into_its_own_bins(filled: RobotMemory) -> None:
    density = filled.density(bins=4, after=2 * 10**9, before=6 * 10**9)
    assert (density.start, density.width, total(density.counts)) == (2 * 10**9, 10**9, [1, 1, 1, 0])
    assert (density.first, density.last) == (0, 10 * 10**9)


def test_a_collection_is_counted_alone(filled: RobotMemory) -> None:
    density = filled.density(bins=1, collection="lab")
    assert (density.first, density.last, total(density.counts)) == (10**9, 9 * 10**9, [4])
    assert total(filled.density(bins=1, collection="*").counts) == [10]


def test_each_bin_holds_what_the_timeline_lists_there(filled: RobotMemory) -> None:
    density = filled.density(bins=4)
    for place, memories in enumerate(total(density.counts)):
        start = density.start + place * density.width
        assert len(filled.timeline(collection="*", after=start, before=start + density.width).entries) == memories


def test_an_object_counts_whenever_it_was_sighted(open_memory: OpenMemory) -> None:
    memory = open_memory(embedding_model="")
    for second in (1, 4, 7):
        seen = memory.save_perception("a mug", pose=(1, 2, 0), label="mug", observed_at=second * 10**9)
    density = memory.density(bins=3)
    assert (density.first, density.last, density.counts[Kind.PERCEPTION]) == (10**9, 7 * 10**9, (1, 1, 1))
    assert total(memory.density(bins=1, after=2 * 10**9, before=7 * 10**9).counts) == [1]
    (sighted,) = memory.sighted(0, 7 * 10**9)
    assert (sighted.memory_id, sighted.label, sighted.observed_at) == (seen.memory_id, "mug", 4 * 10**9)
    assert sighted.position == pytest.approx((1.0, 2.0, 0.0))
    assert memory.sighted(2 * 10**9, 4 * 10**9) == ()
    memory.forget(seen.memory_id, "a test")
    assert memory.sighted(0, 9 * 10**9) == ()
    assert memory.density(bins=1).first is None


def test_the_bins_are_those_of_a_scan_of_all_observations(open_memory: OpenMemory) -> None:
    memory, draw = open_memory(embedding_model="", clock=Clock()), random.Random(7)
    stored: list[tuple[int, str, Kind]] = []
    for n, ago in enumerate(sorted((draw.randrange(100 * DAY) for _ in range(120)), reverse=True)):
        collection, at = draw.choice(("lab", "kitchen")), NOW - ago
        if draw.random() < 0.4:
            fact = memory.learn(f"learned {n}", observed_at=at, collection=collection)
            stored.append((fact.memory_id, collection, Kind.FACT))
            continue
        x = 100.0 * draw.randrange(20)
        pose, label = (None, "") if draw.random() < 0.4 else ((x, 0.0, 0.0), "mug")
        made = memory.save_perception(f"seen {n}", pose=pose, label=label, observed_at=at, collection=collection)
        stored.append((made.memory_id, collection, Kind.PERCEPTION))
        if draw.random() < 0.2:
            memory.forget(made.memory_id, "a test")
    for collection in ("*", "lab"):
        seen = [(at, kind) for at, where, kind in _observations(memory, stored) if collection in {"*", where}]
        for after, before in ((None, None), (NOW - 20 * DAY, None), (NOW - 60 * DAY, NOW - 10 * DAY)):
            density = memory.density(bins=9, after=after, before=before, collection=collection)
            assert (density.first, density.last) == (min(seen)[0], max(seen)[0])
            end = before if before is not None else max(seen)[0] + 1
            for kind in Kind:
                bins = [(at - density.start) // density.width for at, of in seen if of is kind and at < end]
                assert density.counts[kind] == tuple(bins.count(place) for place in range(9)), (collection, after, kind)


def _observations(memory: RobotMemory, stored: Iterable[tuple[int, str, Kind]]) -> Iterator[tuple[int, str, Kind]]:
    # The observations that each memory that is not withdrawn stands for.
    for memory_id, collection, kind in {one[0]: one for one in stored}.values():
        for details in memory.get_memories(memory_id):
            times = [sighting.observed_at for sighting in details.sightings] or [details.memory.observed_at]
            yield from ((at, collection, kind) for at in times)


@pytest.mark.parametrize(("arguments", "field"), [((-1, 5), "after"), ((0, None), "before"), ((0, 5, 0), "n")])
def test_a_window_of_sightings_that_cannot_be_used_is_named(
    filled: RobotMemory, arguments: tuple[int, ...], field: str
) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        filled.sighted(*arguments)
    assert caught.value.field == field


def test_without_memories_there_are_bins_of_none(open_memory: OpenMemory) -> None:
    density = open_memory(embedding_model="").density(bins=3)
    assert (density.first, density.last, total(density.counts)) == (None, None, [0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"bins": 0}, "bins"),
        ({"bins": 1001}, "bins"),
        ({"after": -1}, "after"),
        ({"before": "noon"}, "before"),
        ({"after": 5, "before": 5}, "after"),
        ({"collection": 5}, "collection"),
    ],
)
def test_what_cannot_be_used_is_named(filled: RobotMemory, arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        filled.density(**arguments)
    assert caught.value.field == field


def test_a_few_stamps_of_a_wrong_clock_lie_outside_of_the_main_times(open_memory: OpenMemory) -> None:
    clock = Clock()
    memory = open_memory(embedding_model="", clock=clock)
    for second in range(40):
        memory.learn(f"learned {second}", observed_at=NOW - second * SECOND)
    assert memory.density().main == (NOW - 39 * SECOND, NOW, 0, 0)
    for earlier in (120, 60):
        memory.save_perception("a mug", pose=(1.0, 2.0, 0.0), label="mug", observed_at=NOW - earlier * SECOND)
    memory.learn("before the clock was set", observed_at=12 * SECOND)
    memory.learn("by a clock that was a year ahead", observed_at=NOW + 365 * DAY)
    density = memory.density()
    assert (density.first, density.last) == (12 * SECOND, NOW + 365 * DAY)
    assert density.main == (NOW - 120 * SECOND, NOW, 1, 1)


def test_what_is_only_older_or_newer_than_most_is_no_outlier(open_memory: OpenMemory) -> None:
    memory = open_memory(embedding_model="", clock=Clock())
    for second in range(40):
        memory.learn(f"learned {second}", observed_at=NOW - 300 * DAY - second * SECOND)
    memory.learn("learned today", observed_at=NOW)
    memory.learn("learned two days before the others", observed_at=NOW - 302 * DAY)
    assert memory.density().main == (NOW - 302 * DAY, NOW, 0, 0)


def test_there_are_no_main_times_of_nothing(open_memory: OpenMemory) -> None:
    assert open_memory(embedding_model="").density().main is None


def test_the_main_times_of_a_collection_are_its_own(open_memory: OpenMemory) -> None:
    memory = open_memory(embedding_model="", clock=Clock())
    for second in range(40):
        memory.learn(f"learned {second}", observed_at=NOW - second * SECOND, collection="house")
    memory.learn("simulated", observed_at=12 * SECOND, collection="simulation")
    assert memory.density(collection="simulation").main == (12 * SECOND, 12 * SECOND, 0, 0)
    assert memory.density(collection="house").main == (NOW - 39 * SECOND, NOW, 0, 0)


def test_the_last_moment_of_64_bits_breaks_no_count(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.save_perception("a cup", observed_at=5)
    memory.save_perception("a cup of the far future", observed_at=2**63 - 1)
    assert sum(map(sum, memory.density(bins=10).counts.values())) == 1
