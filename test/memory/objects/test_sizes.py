"""The size of an object is what most looks say of it, at every door, and a condition."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError
from robotmem_ros.memory.models import NewMemory, Size
from robotmem_ros.memory.objects import sizes

from ...support.consistency import check_file
from ...support.sightings import objects, see, sighting, the
from ..conftest import OpenMemory

MUG = Size(0.08, 0.08, 0.1)


def seen(x: float, size: Size | None, t: float = 100.0, label: str = "mug") -> NewMemory:
    """Make a sighting with a size."""
    return replace(sighting(x, t=t, label=label), size=size)


def noisy(draw: random.Random, share: float) -> Size:
    """Return a look at a mug: so many of them see half of it, or it and its neighbour in one box."""
    scale = draw.choice((0.4, 5.0)) if draw.random() < share else draw.gauss(1.0, 0.05)
    return Size(*(edge * scale for edge in MUG))


def test_an_object_has_the_size_that_most_looks_say(open_memory: OpenMemory) -> None:
    memory, draw = open_memory(), random.Random(1)
    for look in range(300):
        (mug,) = see(memory, seen(1.0, noisy(draw, 0.25), t=100 + look / 10))
    size = the(memory, mug).size
    assert size is not None
    assert size == pytest.approx(MUG, rel=0.1)


def test_a_first_look_that_is_wrong_does_not_stay(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for look, edge in enumerate((5.0, 0.08, 0.08)):
        (mug,) = see(memory, seen(1.0, Size(edge, edge, edge), t=100 + look / 10))
    assert the(memory, mug).size == (0.08, 0.08, 0.08)


def test_looks_without_a_size_change_nothing_and_an_object_without_one_has_none(open_memory: OpenMemory) -> None:
    memory = open_memory()
    (mug,) = see(memory, seen(1.0, MUG))
    (cup,) = see(memory, seen(9.0, None))
    assert see(memory, seen(1.0, None, t=101)) == [mug]
    assert (the(memory, mug).size, the(memory, cup).size) == (MUG, None)
    see(memory, seen(9.0, MUG, t=102))
    assert the(memory, cup).size == MUG


def test_two_objects_that_turn_out_to_be_one_have_the_size_that_looks_at_both_say(open_memory: OpenMemory) -> None:
    memory = open_memory(object_radius=0.5)
    for x, edge, looks in ((0.0, 0.08, 5), (1.2, 2.0, 2)):
        for look in range(looks):
            (last,) = see(memory, seen(x, Size(edge, edge, edge), t=100 + x + look))
    assert len(objects(memory)) == 2
    memory.update(last, pose=(0.0, 0.0, 0.0))
    (joined,) = objects(memory)
    assert joined.size == (0.08, 0.08, 0.08)


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=15))
def test_the_size_of_few_looks_is_their_median(edges: list[float]) -> None:
    sample: tuple[Size, ...] = ()
    for count, edge in enumerate(edges, start=1):
        sample = sizes.sampled(sample, Size(edge, 1.0, 2.0), count, 200)
    assert sizes.middle(sample) == Size(round(median(edges), 6), 1.0, 2.0)


@settings(max_examples=30)
@given(before=st.integers(0, 1000), window=st.sampled_from((1, 15, 200)))
def test_a_sample_follows_what_changes_within_two_windows(before: int, window: int) -> None:
    sample: tuple[Size, ...] = ()
    looks = before + 2 * max(window, 15)
    for count in range(1, looks + 1):
        edge = 1.0 if count <= before else 3.0
        sample = sizes.sampled(sample, Size(edge, edge, edge), count, window)
    assert len(sample) == min(looks, 15)
    assert sizes.middle(sample) == Size(3.0, 3.0, 3.0)


def test_a_gripper_asks_for_what_fits(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for x, size in ((0.0, MUG), (5.0, Size(0.3, 0.05, 0.2)), (10.0, None)):
        memory.save_perception("a thing on the shelf", label="thing", pose=(x, 0, 0), size=size)
    bowl = Size(0.3, 0.05, 0.2)
    conditions: dict[str, dict[str, object]] = {
        "fits": {"size.min": {"$lte": 0.07}}, "tall": {"size.z": {"$gt": 0.15}}, "small": {"size.max": {"$lt": 0.15}},
        "unknown": {"size.x": {"$exists": False}}, "told": {"size.y": {"$in": [0.05, 0.08]}}, "flat": {"size.x": 0.3},
    }  # fmt: skip
    found = {
        name: [one.memory.size for one in memory.recall("thing", context_filter=condition, fold=False).hits]
        for name, condition in conditions.items()
    }
    assert {name: sorted(map(str, sizes)) for name, sizes in found.items()} == {
        "fits": [str(bowl)], "tall": [str(bowl)], "small": [str(MUG)], "unknown": ["None"],
        "told": sorted([str(MUG), str(bowl)]), "flat": [str(bowl)],
    }  # fmt: skip


def test_a_size_in_the_context_is_a_key_like_others(open_memory: OpenMemory) -> None:
    memory = open_memory()
    told = memory.learn("a crate is large", {"size": {"x": 7, "min": 5}, "size.x": 9}).memory_id
    for path, value in (("context.size.x", 7), ("context.size.min", 5), ('context."size.x"', 9), ('"size.x"', 9)):
        assert [hit.id for hit in memory.recall(context_filter={path: value})] == [told], path
    assert not memory.recall(context_filter={"size.x": 7}).hits


@pytest.mark.parametrize(
    "size", [(1, 2), (1, 2, -3), (1, 2, 0), (math.nan, 1, 1), (math.inf, 1, 1), "big", (1, 2, "x"), 5, (1e-9, 1, 1)]
)
def test_what_is_no_size_is_an_error_that_names_it(open_memory: OpenMemory, size: object) -> None:
    memory = open_memory()
    with pytest.raises(InvalidFieldError, match="size"):
        memory.save_perception("a mug", label="mug", pose=(0, 0, 0), size=size)  # type: ignore[arg-type]
    assert memory.status().perceptions == 0


def test_three_zeros_are_an_unknown_size_and_a_float32_is_what_it_stands_for(open_memory: OpenMemory) -> None:
    memory = open_memory()
    ids = [memory.save_perception("a mug", size=size).memory_id for size in ((0, 0, 0), (0.10000000149, 0.07, 1))]
    assert [the(memory, one).size for one in ids] == [None, (0.1, 0.07, 1.0)]


def test_a_copy_has_the_sizes_and_what_they_are_the_median_of(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, copy = open_memory(), open_memory(tmp_path / "copy.db")
    for look, edge in enumerate((0.1, 0.1, 0.9)):
        see(memory, seen(1.0, Size(edge, edge, edge), t=100 + look))
    memory.save_perception("a cloth", size=(0.5, 0.4, 0.01))
    batch = memory.changes_since()
    assert batch is not None
    copy.apply(batch)
    (cloth,) = copy.recall("cloth")
    (mug,) = objects(copy)
    assert (cloth.memory.size, mug.size) == ((0.5, 0.4, 0.01), (0.1, 0.1, 0.1))
    for look in range(3):
        see(copy, seen(1.0, Size(0.9, 0.9, 0.9), t=110 + look))
    assert objects(copy)[0].size == (0.9, 0.9, 0.9)
    copy.close()
    assert check_file(copy.path) >= 1
