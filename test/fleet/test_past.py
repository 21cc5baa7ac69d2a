"""Of the past the fleet answers as one memory does: what was believed, what was in a window, and what changed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ..memory.objects.test_as_of import PLACES, look
from ..support.clock import DAY, NOW, Clock
from ..support.embedders import WordVectors
from ..support.postgres import Server
from ..support.sightings import SECOND
from .conftest import Fleet, push

FACTS = ("the lab is wet", "parcels come to the side door", "the lift is slow")
HOUR = 3600 * SECOND
CONDITIONS: tuple[dict[str, Any], ...] = (
    {},
    {"kinds": "perception", "min_confidence": 0.8},
    {"min_confidence": 0.0, "include_unconfirmed": True},
    {"labels": "mug"},
    {"labels": "cup"},
    {"kinds": "fact", "min_confidence": 0.0},
    {"near": {"target": [4.0, 0.0], "max_distance": 1.5}},
    {"context_filter": {"spatial.area": "kitchen"}},
    {"context_filter": {"confirmed": False}, "min_confidence": 0.0},
)


class World(NamedTuple):
    """A memory that lived for some days, all of which its fleet has, and times of its life in nanoseconds."""

    memory: RobotMemory
    times: list[int]

    def check(self, **request: Any) -> int:
        """Compare what the file and the fleet answer; return how much that is."""
        found = 0
        for conditions in CONDITIONS:
            for verb in ("recall",) if {"near", "context_filter"} & {*conditions} else ("recall", "timeline"):
                own, fleet = (self.ask(verb, scope, request | conditions) for scope in ("robot", "fleet"))
                assert fleet == own, (verb, request, conditions)
                found += len(own)
        nearest = request | {"spatial_sort": (5.0, 0.0, 0.0)}
        assert self.ask("recall", "fleet", nearest) == self.ask("recall", "robot", nearest)
        return found

    def ask(self, verb: str, scope: str, request: dict[str, Any]) -> list[object]:
        """Return what a verb gives, without what only the robot's own file knows."""
        more = {"kinds": ["fact", "perception"], "fold": False} if verb == "recall" else {}
        result = getattr(self.memory, verb)(n=100, scope=scope, deadline=60, **more | request)
        assert "fleet" not in result.reason
        return [*map(compared, result.memories if verb == "recall" else result)]


def compared(found: Any) -> object:
    """Return what both must tell of a memory or an entry."""
    found = replace(found, confidence=round(found.confidence, 9), pose=rounded(found.pose))
    if not hasattr(found, "content"):
        return replace(found, robot="")
    return replace(
        found, moved_from=rounded(found.moved_from), presence=0.0, similar_ids=(), contradicted_by=0,
        context_json=repr(found.context),
    )  # fmt: skip


def rounded(pose: Any) -> Any:
    """Return a pose to the micrometre."""
    return pose and tuple(round(value, 6) for value in pose)


def live_a_while(memory: RobotMemory, clock: Clock, rng: random.Random) -> list[int]:
    """Let things come, go and be carried for some days, and facts be learned and withdrawn; return times in between."""
    there: set[float] = set()
    times = []
    for visit in range(16):
        there ^= {*rng.sample([*PLACES], rng.choice((0, 1, 2)))}
        clock.now += rng.randrange(1, 20) * HOUR
        for _ in range(rng.choice((4, 14))):
            clock.now += 15 * SECOND
            look(memory, clock.now // SECOND, *((PLACES[x], x) for x in there if rng.random() < 0.95))
        memory.learn(rng.choice(FACTS), context={"task": {"n": visit}})
        things = memory.recall(kinds="perception", fold=False).memories
        if things and visit % 3 == 0:
            some = rng.choice(things)
            memory.update(some.id, label=rng.choice(("cup", some.label)), context={"spatial": {"area": "kitchen"}})
        if things and visit % 3 == 1:
            memory.update(rng.choice(things).id, pose=(rng.uniform(0, 9), 3.0, 0.0), reason="carried")
        if visit % 5 == 4:
            memory.forget(rng.choice(memory.recall(kinds="fact").memories).id, "no longer true")
        times += [clock.now, clock.now + HOUR // 2]
    return times


@pytest.fixture(scope="module", params=["wall clock", "simulation"])
def world(
    postgres: Server, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[World]:
    fleet = Fleet(postgres, tmp_path_factory.mktemp("past"))
    clock, url = Clock(NOW if request.param == "wall clock" else 5 * DAY), fleet.add("first")
    with open_memory(
        fleet.folder / "first.db", fleet_url=url, embedder=WordVectors(), clock=clock, map_id="house", decay_rate=0.1
    ) as memory:
        number = random.randrange(10**6)
        print(f"seed {number}")
        times = live_a_while(memory, clock, random.Random(number))
        memory.flush()
        push(memory, url)
        yield World(memory, times)


def test_what_was_believed_at_a_time_is_what_the_file_tells(world: World) -> None:
    assert sum(world.check(as_of=at) for at in world.times[::3]) > 40
    window = {"after": world.times[4], "before": world.times[12], "as_of": world.times[20]}
    world.check(**window)


def test_windows_have_what_was_there_in_them(world: World) -> None:
    bounds = zip(world.times[::5], world.times[2::5], strict=False)
    assert sum(world.check(after=after, before=before) for after, before in bounds) > 20
    assert world.check(before=world.times[15])
    assert world.check(after=world.times[15])


def test_changes_since_a_time_are_those_of_the_file(world: World) -> None:
    assert sum(world.check(changed_since=at) for at in world.times[::4]) > 20


def test_facts_are_as_they_were_told_and_not_yet_withdrawn(fleet: Fleet) -> None:
    url = fleet.add("first")
    with open_memory(fleet.folder / "first.db", fleet_url=url, embedder=WordVectors(), map_id="house") as memory:
        first, second, third = (memory.learn(text).memory_id for text in FACTS)
        memory.forget(third, "it was mended")
        told = time.time_ns()
        memory.update(first, content="the lab is dry", tags=["checked"])
        memory.forget(second, "the door is closed")
        memory.restore(third)
        memory.learn("the hall is cold")
        push(memory, url)
        world = World(memory, [])
        world.check(as_of=told)
        found = memory.recall(kinds="fact", as_of=told, scope="fleet", deadline=60).memories
        assert sorted(one.content for one in found) == sorted(FACTS[:2])


def test_habits_are_asked_of_the_robot_alone(world: World) -> None:
    with pytest.raises(InvalidFieldError, match="usually_at: '09:00' is asked of the robot alone"):
        world.memory.recall(labels="mug", usually_at="09:00", scope="both")


def test_pages_of_a_timeline_of_the_past_follow_each_other(world: World) -> None:
    request: dict[str, Any] = {"as_of": world.times[-1], "min_confidence": 0, "scope": "fleet", "deadline": 60}
    whole = [entry.id for entry in world.memory.timeline(n=100, **request)]
    ids, page = [], world.memory.timeline(n=2, **request)
    while page.cursor:
        ids += [entry.id for entry in page]
        page = world.memory.timeline(n=2, cursor=page.cursor, **request)
    assert [*ids, *(entry.id for entry in page)] == whole
