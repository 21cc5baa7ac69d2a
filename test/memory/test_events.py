"""Events tell what became of objects and facts: each once, in order, and all together what the memory holds."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from robotmem_ros.memory import Event, EventKind, InvalidFieldError, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.storage import event_rows

from ..support.clock import NOW, Clock
from ..support.sightings import SECOND
from .conftest import OpenMemory
from .objects.test_as_of import START, look

Known = dict[int, tuple[str, str, tuple[float, float, float] | None]]
"""State, label and position of what is known, by id."""


def told(memory: RobotMemory, after: int = 0) -> list[tuple[str, int]]:
    """Return the kinds and the ids of the events after one."""
    return [(event.kind.value, event.memory_id) for event in memory.events(after, n=10_000).events]


def replayed(events: list[Event]) -> Known:
    """Return what the events add up to, by the rules that msg/Event.msg tells."""
    known: Known = {}
    for event in events:
        state, label, position = known.get(event.memory_id, ("", "", None))
        kind = event.kind.value
        assert (kind in {"appeared", "learned"}) is not (event.memory_id in known)
        assert event.label_before == (label if kind == "relabelled" else "")
        assert (event.pose_before and event.pose_before[:3]) == (position if kind == "moved" else None)
        if kind == "forgotten":
            del known[event.memory_id]
            continue
        steps = {"confirmed": "there", "came back": "there", "gone": "gone", "appeared": "unconfirmed"}
        known[event.memory_id] = steps.get(kind, state), event.label, event.pose and event.pose[:3]
    return known


def held(memory: RobotMemory) -> Known:
    """Return what the memory tells itself; an object that is not confirmed was there if a stay of it has ended."""
    kinds = ("fact", "perception")
    found = memory.recall(n=1000, kinds=kinds, fold=False, include_unconfirmed=True, min_confidence=0.0)
    known: Known = {}
    for one in found.memories:
        if one.kind.value == "fact":
            known[one.id] = "", "", None
        elif one.times_seen:
            state = "there" if one.confirmed else "unconfirmed" if one.first_absent is None else "gone"
            known[one.id] = state, one.label, one.pose and one.pose[:3]
    return known


def test_the_life_of_a_thing_is_told(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    for t in range(START, START + 60, 10):
        clock.now = t * SECOND
        look(memory, t, ("mug", 2.0))
    (mug,) = memory.recall("mug").memories
    memory.update(mug.id, label="cup")
    memory.update(mug.id, pose=(5.0, 1.0, 0.0))
    assert memory.look(near=(5.0, 1.0, 0.0)) == (mug.id,)
    for t in range(START + 600, START + 660, 10):
        clock.now = t * SECOND
        memory.save_perception("a cup", label="cup", pose=(5.0, 1.0, 0.0))
    memory.forget(mug.id, "it broke")
    memory.restore(mug.id)
    kinds = [kind for kind, _ in told(memory)]
    assert kinds == [
        "appeared", "confirmed", "relabelled", "moved", "gone", "came back", "forgotten", "appeared", "confirmed",
    ]  # fmt: skip
    by_kind = {event.kind.value: event for event in reversed(memory.events().events)}
    assert {event.memory_id for event in by_kind.values()} == {mug.id}
    assert (by_kind["relabelled"].label, by_kind["relabelled"].label_before) == ("cup", "mug")
    assert by_kind["moved"].pose is not None
    assert by_kind["moved"].pose_before is not None
    assert math.dist(by_kind["moved"].pose_before[:3], (2.0, 0.0, 0.0)) < 0.1
    assert by_kind["moved"].pose[:3] == (5.0, 1.0, 0.0)
    assert by_kind["gone"].presence < 0.2
    assert by_kind["came back"].presence > 0.5
    assert by_kind["came back"].at >= (START + 600) * SECOND
    assert by_kind["forgotten"].reason == ""  # it was restored since


def test_facts_are_learned_and_forgotten(memory: RobotMemory) -> None:
    fact = memory.learn("the thin glass needs 8 N").memory_id
    memory.learn("the thin glass needs 8 N")
    memory.update(fact, human_summary="glass: 8 N")
    memory.save_perception("the kitchen is dark")
    memory.forget(fact, "it broke")
    (_, event) = memory.events().events
    assert (event.kind.value, event.reason, event.content) == ("forgotten", "it broke", "the thin glass needs 8 N")
    assert math.isnan(event.presence)
    memory.restore(fact)
    assert told(memory) == [("learned", fact), ("forgotten", fact), ("learned", fact)]


class House:
    """Let random things become of objects and facts."""

    def __init__(self, memory: RobotMemory, clock: Clock, seed: int) -> None:
        self._memory, self._clock, self._rng = memory, clock, random.Random(seed)
        self._t, self._facts = START, 0

    def act(self) -> None:
        """Do one thing, at a later time."""
        self._pass(self._rng.choice((30, 900)))
        known = held(self._memory)
        objects = sorted(id_ for id_, (_, label, _) in known.items() if label)
        actions = [self.see] * 10 + [self.learn] * 2
        if objects:
            actions += [partial(self.change, self._rng.choice(objects), known)] * 6
        if known:
            actions += [partial(self.withdraw, self._rng.choice([*known]))] * 3
        self._rng.choice(actions)()

    def see(self) -> None:
        """Look at the table several times."""
        shown = self._rng.sample([("mug", 2.0), ("dog", 4.0), ("bag", 6.0), ("can", 8.0)], self._rng.randrange(5))
        for _ in range(self._rng.choice((1, 4, 8))):
            self._pass(15)
            look(self._memory, self._t, *shown)

    def learn(self) -> None:
        """Learn a fact."""
        self._facts += 1
        self._memory.learn(f"the shelf {self._facts} holds {self._facts} kg")

    def change(self, id_: int, known: Known) -> None:
        """Rename an object, carry it, or find it gone."""
        what = self._rng.randrange(4)
        if what == 0:
            self._memory.update(id_, label=self._rng.choice(("mug", "dog", "fox")))
        elif what == 1:
            self._memory.look(near={"target": known[id_][2], "max_distance": 0.3})
        else:
            x = self._rng.choice((2.0, 3.0, 20.0))
            self._memory.update(id_, pose=(x, self._rng.uniform(-9.0, 9.0), 0.0))

    def withdraw(self, id_: int) -> None:
        """Forget a memory or purge it, and bring one back that was forgotten before."""
        if self._rng.random() < 0.3:
            self._memory.purge(ids=[id_])
        else:
            self._memory.forget(id_, "no longer")
        forgotten = [event.memory_id for event in self._memory.events(n=10_000).events if event.kind == "forgotten"]
        with suppress(MemoryNotFoundError):  # it was purged, is active again, or a part of another object
            self._memory.restore(self._rng.choice(forgotten))

    def _pass(self, seconds: int) -> None:
        self._t += seconds
        self._clock.now = self._t * SECOND


@pytest.mark.parametrize("seed", range(3))
def test_events_add_up_to_what_the_memory_holds(open_memory: OpenMemory, clock: Clock, seed: int) -> None:
    memory = open_memory(clock=clock)
    house, seen = House(memory, clock, seed), list[Event]()
    for _ in range(60):
        house.act()
        seen += memory.events(seen[-1].sequence if seen else 0, n=10_000).events
        assert [event.sequence for event in seen] == [*range(1, len(seen) + 1)]
        expected, found = held(memory), replayed(seen)
        assert {id_: entry[:2] for id_, entry in found.items()} == {
            id_: (_state(entry, found.get(id_)), entry[1]) for id_, entry in expected.items()
        }
        for id_, (_, _, position) in expected.items():
            then = found[id_][2]
            assert (position is None) is (then is None)
            assert position is None or then is None or math.dist(position, then) <= event_rows.MOVED
    assert {event.kind for event in seen} == {*EventKind}


def _state(entry: tuple[object, ...], found: tuple[object, ...] | None) -> object:
    # A restored object begins again: whether it was there before it was forgotten, events do not tell.
    return "unconfirmed" if entry[0] == "gone" and found and found[0] == "unconfirmed" else entry[0]


def test_a_cursor_goes_on_in_another_process_and_pages(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db") as memory:
        ids = [memory.learn(f"the shelf {number} holds {number} kg").memory_id for number in range(5)]
        first = memory.events(n=2)
        assert (len(first.events), first.latest) == (2, 5)
    with RobotMemory(tmp_path / "memory.db") as memory:
        memory.forget(ids[0], "gone")
        rest = memory.events(first.events[-1].sequence)
        assert [event.sequence for event in rest.events] == [3, 4, 5, 6]
        assert rest.latest == 6
        assert memory.events(6).events == ()


@pytest.mark.parametrize("arguments", [{"after": -1}, {"after": 7}, {"n": 0}, {"after": "x"}])
def test_a_cursor_of_another_file_is_refused(memory: RobotMemory, arguments: dict[str, object]) -> None:
    memory.learn("the shelf holds 5 kg")
    with pytest.raises(InvalidFieldError, match=next(iter(arguments))):
        memory.events(**arguments)  # type: ignore[arg-type]


def test_of_what_is_purged_no_event_keeps_the_text(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    for t in range(START, START + 60, 10):
        clock.now = t * SECOND
        look(memory, t, ("secret", 2.0))
    (thing,) = memory.recall("secret").memories
    memory.update(thing.id, label="secret2")
    last = memory.events().latest
    memory.purge(ids=[thing.id])
    (event,) = memory.events().events
    assert (event.kind.value, event.memory_id, event.label, event.pose) == ("forgotten", thing.id, "", None)
    assert event.sequence == last + 1


def test_what_fails_tells_nothing(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)

    def fail(transaction: object) -> None:
        raise InvalidFieldError("x", 1, "fails")

    database = memory.parts.database
    learned = [memory.parts.database.write(lambda transaction: None)]
    failing = database.write(fail)
    fact = memory.learn("the shelf holds 5 kg")
    assert isinstance(failing.exception(60.0), InvalidFieldError)
    learned[0].result()
    assert told(memory) == [("learned", fact.memory_id)]


def test_old_events_go_but_not_the_last_of_a_memory(
    open_memory: OpenMemory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_rows, "_KEPT", 10)
    monkeypatch.setattr(event_rows, "_CUT", 5)
    memory = open_memory(clock=clock)
    kept = memory.learn("the oldest shelf holds 5 kg").memory_id
    fact = memory.learn("the shelf holds 6 kg").memory_id
    for _ in range(20):
        memory.forget(fact, "no")
        memory.restore(fact)
    events = memory.events().events
    assert events[0].memory_id == kept
    assert 10 <= len(events) <= 16
    memory.forget(kept, "at last")
    *rest, last = memory.events().events
    assert last.memory_id == kept
    assert {event.memory_id for event in rest} == {fact}


def test_the_clock_of_the_robot_stamps_events(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    memory.learn("the shelf holds 5 kg")
    (event,) = memory.events().events
    assert event.at == clock.now == NOW
