"""The tracker alone, with its objects in a list: the same sightings give the same objects, however they come."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.objects.sightings import scenes
from robotmem_ros.memory.objects.tracker import Picture, Tracker
from robotmem_ros.memory.tracks import Changes, Neighbourhood, Pair, Track

from ...support.sightings import SECOND, sighting

PARAMETERS = Parameters()
LABELS = ("chair", "mug", "lamp")
STEP = 10.0
"""Metres between two things: farther than any object reaches."""


class Seen(NamedTuple):
    """A sighting of a thing, from where it stands."""

    thing: int
    x: float
    y: float
    confidence: float

    def at(self, seconds: float) -> NewMemory:
        label = LABELS[self.thing % len(LABELS)]
        new = sighting(STEP * self.thing + self.x, self.y, t=seconds, label=label, confidence=self.confidence)
        return replace(new, stream="/detections", received_at=new.observed_at)


THINGS = st.lists(
    st.builds(Seen, st.integers(0, 5), st.floats(-0.1, 0.1), st.floats(-0.1, 0.1), st.floats(0.3, 1.0)),
    max_size=6,
    unique_by=lambda seen: seen.thing,
)
LOOKS = st.lists(THINGS.filter(bool), min_size=1, max_size=8)


class Objects:
    """The objects of one scene in a list, for a tracker without a database."""

    def __init__(self) -> None:
        self.tracks: list[Track] = []
        self.neighbours: dict[Pair, Neighbourhood] = {}

    def see(self, new: Sequence[NewMemory]) -> None:
        numbered = [(index, one, None) for index, one in enumerate(new)]
        (scene,) = scenes(numbered, PARAMETERS)
        tracker = Tracker(PARAMETERS, self.tracks, self.neighbours, now=new[0].observed_at)
        tracker.see(scene, Picture())
        self._save(tracker.changes)

    def _save(self, changes: Changes) -> None:
        assert not changes.merged
        for pair, messages in changes.neighbours.items():
            self.neighbours[pair] = self.neighbours.get(pair, Neighbourhood()).plus(messages)
        for track, _ in changes.created:
            track.memory_id = len(self.tracks) + 1
            self.tracks.append(track)


def facts(tracks: Iterable[Track]) -> list[dict[str, object]]:
    """Return what is known of each object but its id, in the order of their places."""
    ordered = sorted(tracks, key=lambda track: track.estimate)
    return [{**vars(track), "memory_id": 0} for track in ordered]


@given(looks=LOOKS, sizes=st.lists(st.integers(1, 6), min_size=1))
def test_any_split_of_a_look_into_messages_gives_the_same_objects_as_one_by_one(
    looks: list[list[Seen]], sizes: list[int]
) -> None:
    split, single = Objects(), Objects()
    for number, look in enumerate(looks):
        new = [seen.at(100.0 + 3 * number) for seen in look]
        size = sizes[number % len(sizes)]
        for start in range(0, len(new), size):
            split.see(new[start : start + size])
        for one in new:
            single.see([one])
    assert facts(split.tracks) == facts(single.tracks)


@given(look=THINGS.filter(bool), dice=st.randoms())
def test_the_order_of_the_sightings_of_a_message_does_not_matter(look: list[Seen], dice: random.Random) -> None:
    new = [seen.at(100.0) for seen in look]
    shuffled = [*new]
    dice.shuffle(shuffled)
    ordered, mixed = Objects(), Objects()
    ordered.see(new)
    mixed.see(shuffled)
    assert ordered.tracks == mixed.tracks


def test_without_a_database_the_objects_are_those_of_a_memory() -> None:
    looks = [[Seen(thing, 0.01 * turn, 0.0, 0.5 + 0.05 * turn) for thing in range(turn % 4 + 1)] for turn in range(9)]
    alone = Objects()
    with RobotMemory(":memory:", embedding_model="", clock=lambda: 1000 * SECOND) as memory:
        for number, look in enumerate(looks):
            new = [seen.at(100.0 + 3 * number) for seen in look]
            alone.see(new)
            memory.store_sightings(new).result()
        stored = memory.objects(include_unconfirmed=True)
    assert [(one.label, one.times_seen, one.position, one.confirmed) for one in sorted(stored)] == [
        (track.label, track.times_seen, track.estimate.position, track.confirmed) for track in alone.tracks
    ]


def test_a_new_object_at_the_place_of_one_that_is_seen_often_becomes_a_part_of_it() -> None:
    often = Objects()
    for turn in range(12):
        often.see([Seen(0, 0.0, 0.0, 0.9).at(100.0 + turn)])
    (known,) = often.tracks
    tracker = Tracker(PARAMETERS, [known], {}, now=200 * SECOND)
    stray = replace(Seen(0, 0.05, 0.0, 0.4).at(150.0), label="stool", content="a stool")
    (scene,) = scenes([(0, stray, None)], PARAMETERS)
    (track,) = tracker.see(scene)
    ((created, _),) = tracker.changes.created
    assert (track, tracker.changes.merged) == (known, [(created.memory_id, known.memory_id)])
    assert known.votes == {"chair": 12, "stool": 1}
