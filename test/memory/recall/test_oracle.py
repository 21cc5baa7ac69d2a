"""Recall against brute force, over random worlds and random questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, RobotMemory

from ...support.embedders import WordVectors
from ...support.recall.oracle import RefusedError, UndecidedError
from ...support.recall.queries import questions
from ...support.recall.reference_model import Asked
from ...support.recall.worlds import Clock, World, build

SMALL_WORLDS = 16
Worlds = Callable[[int, int, bool], World]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Worlds by seed, size and whether there is a model; each is built once."""
    built: dict[tuple[int, int, bool], World] = {}

    def world(seed: int, size: int, embeds: bool) -> World:
        key = (seed, size, embeds)
        if key not in built:
            path = tmp_path_factory.mktemp("world") / "memory.db"
            clock = Clock()
            made = build(opened(path, clock, embeds), clock, seed, size, embeds=embeds)
            # Postings that are made anew cover the last memories too.
            made.memory.close()
            built[key] = replace(made, memory=opened(path, clock, embeds))
            built[key].memory.flush()
        return built[key]

    yield world
    for one in built.values():
        one.memory.close()


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_is_what_brute_force_gives(worlds: Worlds, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, SMALL_WORLDS - 1))
    world = worlds(seed, 50 + 16 * seed, seed % 4 != 3)
    check(world, data.draw(questions(world)))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize(("seed", "size", "embeds"), [(1, 5_000, False), (2, 20_000, True)])
def test_recall_of_a_big_world_is_what_brute_force_gives(
    worlds: Worlds, seed: int, size: int, embeds: bool, data: st.DataObject
) -> None:
    world = worlds(seed, size, embeds)
    assert is_covered(world)
    check(world, data.draw(questions(world)))


def opened(path: Path, clock: Clock, embeds: bool) -> RobotMemory:
    """A memory with the parameters that all have."""
    embedder = WordVectors() if embeds else None
    return RobotMemory(path, embedder=embedder, embedding_model="", synchronous="normal", clock=clock)


def is_covered(world: World) -> bool:
    """Whether the postings cover all memories: then a search looks at each, however common its words."""
    return bool((blocks := world.memory._parts.postings.blocks) and blocks[-1].high == world.known[-1].id)


def check(world: World, asked: Asked) -> None:
    """The real memory answers a question as the oracle does."""
    try:
        told = world.oracle.answer(asked)
    except RefusedError as refused:
        with pytest.raises((InvalidFieldError, FrameMismatchError), match=str(refused)):
            world.recall(asked)
        return
    except UndecidedError:
        assume(False)
    answer = world.recall(asked)
    event(f"{min(len(answer), 2)} answers or more, by {'distance' if asked.field else asked.query and 'relevance'}")
    assert answer.mode.value == told.mode
    assert [memory.id for memory in answer] == told.ids
    assert [memory.confidence for memory in answer] == told.confidences
    assert [memory.score for memory in answer] == pytest.approx(told.scores, abs=1e-4)
    if asked.field:
        assert [memory.distance for memory in answer] == pytest.approx(told.distances, abs=1e-9)
