"""The weeks of a robot are consistent, have the rates that they state, and their truth answers its own questions."""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.suites.week import room, year
from bench.suites.week.answers import Answers, Belief, LastSightings, MemoryAnswers
from bench.suites.week.measure import measure
from bench.suites.week.small import measure_small
from bench.worlds.objects import Detection, Point
from bench.worlds.week import DAY, HOUR, MONDAY, SECOND, Detector, Message, Settings, Slip, World, make_week
from bench.worlds.week.house import FLOOR, furnish
from bench.worlds.week.life import LIVING, live
from bench.worlds.week.robot import LABELS, Camera
from bench.worlds.week.small import SMALL_WORLDS, make_small_world
from bench.worlds.week.truth import Change, LastSeen, Truth, is_near

from .test_suites import bench


@lru_cache(maxsize=2)
def week(seed: int = 3) -> World:
    return make_week(seed, Settings())


class Omniscient(Answers):
    """Answers by the truth."""

    def __init__(self, world: World) -> None:
        self._world, self._now = world, MONDAY
        self._last: dict[str, LastSeen] = {}

    def tell(self, messages: Sequence[Message], now: int) -> None:
        for message in messages:
            for detection in message.detections:
                being = None if detection.thing is None else self._world.beings[detection.thing]
                if being is not None and being.label == detection.label:
                    place = being.place(message.stamp)
                    assert place is not None
                    self._last[being.label] = LastSeen(being.label, message.stamp, place)
        self._now = now

    def where_at(self, label: str, time: int) -> Point | None:
        return next(iter(Truth(self._world).places(label, time)), None)

    def usually(self, label: str, hour: int, days: int) -> Point | None:
        places = [self.where_at(label, MONDAY + day * DAY + hour * HOUR) for day in range(days)]
        return max(places, key=lambda place: sum(is_near(place, other) for other in places))

    def changed_since(self, time: int) -> list[Change]:
        changes = []
        for being in self._world.beings:
            before, after = being.place(time), being.place(self._now)
            if not is_near(before, after):
                changes += [Change(being.label, True, after)] if after else []
                changes += [Change(being.label, False, before)] if before else []
        truth = Truth(self._world)
        return [
            change
            for change in changes
            if truth.is_there(change.label, change.place, time) != change.came
            and truth.is_there(change.label, change.place, self._now) == change.came
        ]

    def last_seen(self, label: str) -> LastSeen | None:
        return self._last.get(label)

    def believed(self) -> list[Belief]:
        return [Belief(being.label, place, 1.0) for being in self._world.beings if (place := being.place(self._now))]

    beliefs = believed


def test_who_knows_the_truth_answers_everything_right() -> None:
    score = measure(week(), Truth(week()), Omniscient(week()), 3)
    assert {kind: score.share(kind) for kind in score.asked} == dict.fromkeys(
        ("last seen", "changes", "where", "gone", "any time", "usually", "found"), 1.0
    )
    assert min(score.asked.values()) >= 20, score.asked
    assert (score.counts["ghosts"], score.counts["persons"], score.counts["too many"]) == (0, 0, 0)
    assert set(score.bins) == {9}


def test_everything_is_in_one_place_at_a_time_and_in_the_house() -> None:
    width, depth = FLOOR.size
    for being in week().beings:
        assert all(stay.start < stay.end for stay in being.stays)
        assert all(first.end <= second.start for first, second in pairwise(being.stays))
        assert all(0 < x < width and 0 < y < depth for (x, y, _), *_ in being.stays)
        assert being.stays[0].start >= MONDAY
        assert being.label in LABELS


def test_twenty_four_things_are_carried_about_and_the_others_stand() -> None:
    truth = Truth(week())
    assert len(truth.movable) == 24
    assert all(len(week().beings[index].stays) > 1 for index in truth.movable)
    assert sum(being.is_furniture for being in week().beings) == 64
    assert Counter(being.label for being in week().beings if being.label in LIVING) == {"person": 4, "dog": 1}


def test_things_have_habits() -> None:
    (laptop,) = (being for being in week().beings if being.label == "laptop")
    at_noon = [laptop.place(MONDAY + day * DAY + 12 * HOUR) for day in range(5)]
    at_night = [laptop.place(MONDAY + day * DAY + 19 * HOUR) for day in range(5)]
    assert statistics.mode(place and round(place[0]) for place in at_noon) != statistics.mode(
        place and round(place[0]) for place in at_night
    )


def test_a_year_has_a_place_for_each_thing_that_goes_astray() -> None:
    dice = random.Random("a year")
    beings = live(dice, furnish(dice), 365)
    for being in beings:
        assert all(one.end <= other.start for one, other in pairwise(being.stays))
    assert all(len(being.stays) > 300 for being in beings if being.label in ("mug", "phone"))


def test_nothing_is_detected_through_a_wall_or_out_of_the_opening() -> None:
    # Walls as drawn, which is computed otherwise than whether a ray meets one.
    cells, count = FLOOR.cells(0.1), 0
    for message in week().messages[:2000]:
        for detection in message.detections:
            if detection.thing is None:
                continue
            place = week().beings[detection.thing].place(message.stamp)
            assert place is not None
            camera, ray = message.camera, complex(*place[:2]) - message.camera.place
            assert abs(math.remainder(math.atan2(ray.imag, ray.real) - camera.heading, math.tau)) <= math.pi / 4 + 1e-9
            # The ends of walls at a door are as wide as a cell.
            points = [camera.place + ray * step / 200 for step in range(201)]
            met = sum(cells[round(10 * point.imag)][round(10 * point.real)] for point in points)
            assert met * abs(ray) / 200 < 0.15, (camera, place)
            count += 1
    assert count > 2000


def test_rates_are_as_stated() -> None:
    detections = [(message, detection) for message in week().messages for detection in message.detections]
    assert 17_000 < len(detections) < 23_000
    beings = week().beings
    real = [(message, found, beings[found.thing]) for message, found in detections if found.thing is not None]
    wrong = sum(found.label != being.label for _, found, being in real)
    assert wrong / len(real) == pytest.approx(0.1, abs=0.01)
    assert (len(detections) - len(real)) / len(week().messages) == pytest.approx(0.005, abs=0.003)
    errors: dict[bool, list[float]] = {False: [], True: []}
    for message, found, being in real:
        place = being.place(message.stamp)
        assert place is not None
        distance = abs(complex(*place[:2]) - message.camera.place)
        errors[distance > 2].append(math.dist(found.position, place))
    assert statistics.fmean(errors[True]) > 1.3 * statistics.fmean(errors[False])
    blind = [message for message in week().messages if message.is_blind]
    assert 50 < len(blind) < 0.02 * len(week().messages)
    assert not any(message.detections for message in blind)


def test_life_is_the_same_whatever_the_robot() -> None:
    first, other, again = (
        make_week(3, settings, days=1) for settings in (Settings(), Settings(view=0.0, misses=2.0), Settings())
    )
    assert other.beings == first.beings
    counts = [sum(len(message.detections) for message in world.messages) for world in (first, other)]
    assert counts[1] < 0.9 * counts[0]
    assert again == first
    assert make_week(4, Settings(), days=1).beings != first.beings


def test_late_messages_come_in_another_order_and_within_their_delay() -> None:
    late = make_week(0, Settings(delay=60.0), days=1).messages
    assert all(0 <= message.arrived - message.stamp <= 60 * SECOND for message in late)
    assert any(first.stamp > second.stamp for first, second in pairwise(late))
    assert all(first.arrived <= second.arrived for first, second in pairwise(late))


def test_two_detectors_take_turns_and_err_about_different_labels() -> None:
    world = make_week(0, Settings(detectors=(Detector("/a", (0.0, 0.3)), Detector("/b", (0.3, 0.0)))), days=1)
    wrong = {
        (message.stream, LABELS.index(world.beings[found.thing].label) % 2)
        for message in world.messages
        for found in message.detections
        if found.thing is not None and found.label != world.beings[found.thing].label
    }
    assert wrong == {("/a", 1), ("/b", 0)}


@pytest.mark.parametrize("is_drift", [False, True])
def test_the_robot_is_where_it_believes_but_in_a_slip(is_drift: bool) -> None:
    slip = Slip(MONDAY + 8 * HOUR, MONDAY + 12 * HOUR, 1 + 1j, is_drift)
    world = make_week(0, replace(Settings(), slips=(slip,)), days=1)
    errors = {message.stamp: abs(complex(*message.origin[:2]) - message.camera.place) for message in world.messages}
    assert max(error for stamp, error in errors.items() if not slip.start <= stamp < slip.end) < 0.2
    inside = [error for stamp, error in errors.items() if slip.start <= stamp < slip.end]
    assert max(inside) > 1.2
    assert (min(inside) < 0.6) == is_drift


def test_what_is_asked_is_what_messages_tell() -> None:
    world, truth, dice = week(), Truth(week()), random.Random(1)
    places = {being.label: being for being in world.beings}
    asked = list(truth.where_at(dice, 100))
    assert len(asked) == 100
    for where in asked:
        assert places[where.label].place(where.time) == where.place
    for gone in truth.gone_at(dice, 20):
        assert gone.is_answered_by(None)
        assert any(
            sum(
                message.camera.shows(stay.position, 2.5, math.radians(70))
                for message in world.messages
                if stay.end <= message.stamp <= gone.time
            )
            >= 2
            for stay in places[gone.label].stays
        )
    now = MONDAY + 3 * DAY + 22 * HOUR
    for change in truth.changes(now - DAY, now):
        assert truth.is_change(change, now - DAY, now)
        assert truth.is_there(change.label, change.place, now) == change.came
        assert not truth.is_change(change._replace(came=not change.came), now - DAY, now)
    assert {round((seen.time - MONDAY) / DAY) for seen in truth.last_seen(now)} <= {1, 2, 3, 4}


@pytest.mark.parametrize("name", SMALL_WORLDS)
def test_who_knows_the_truth_of_a_small_world_has_nothing_too_many_and_misses_nothing(name: str) -> None:
    world = make_small_world(name, 1)
    assert measure_small(world, Omniscient(world.world)) == (0, 0)
    assert measure_small(world, LastSightings())[0] > 0


def test_looks_at_a_real_room_are_told_and_compared_with_the_truth(tmp_path: Path) -> None:
    # The first landmark stays; the second one leaves after five minutes, and one look at it is wrong.
    times, leaves = np.arange(0.0, 600.5, 0.5), 300.0
    seen = (times < leaves).astype(float)
    seen[times == 20] = 0
    stays = np.ones_like(times)
    arrays: dict[str, Any] = {}
    for number, (looks, truth) in enumerate(((stays, stays), (seen, times < leaves))):
        arrays |= {f"{number}_{name}_t": times for name in ("obs", "gt")}
        arrays |= {f"{number}_obs": looks, f"{number}_gt_obs": truth}
    np.savez(tmp_path / "room.npz", **arrays)
    memory, last_look = room.rows(tmp_path / "room.npz")
    asked = 2 * 59
    assert last_look[:3] == ("last look", f"{1 - 1 / asked:.3f}", f"{1 / asked:.3f}")
    assert float(memory[1]) > 0.9


def test_the_memory_is_asked_for_what_left_too() -> None:
    camera = Camera(MONDAY, 0j, 0.0)

    def look(second: int, x: float, label: str) -> Message:
        time = MONDAY + second * SECOND
        found = (Detection(label, (x, 1.5, 1.0), 0.9, 0),) if label else ()
        return Message(time, time, "/camera", found, (x, 0.0, 1.0), (0.0, 1.0, 0.0), camera, False)

    answers = MemoryAnswers(Settings(has_map=False))
    with answers.memory:
        answers.tell([look(second, 0.0, "mug") for second in range(0, 60, 10)], MONDAY + 60 * SECOND)
        gone = [look(second, 0.0, "") for second in range(100, 200, 10)]
        answers.tell([*gone, *(look(second, 9.0, "keys") for second in range(200, 260, 10))], MONDAY + 300 * SECOND)
        changes = {(change.label, change.came) for change in answers.changed_since(MONDAY + 60 * SECOND)}
    assert changes == {("mug", False), ("keys", True)}


@pytest.mark.rare
def test_tables_of_weeks_and_small_worlds_are_printed() -> None:
    measured = bench("week", "--seeds", "0", "--days", "1", "--variant", "week", "--small", "swapped")
    assert measured.returncode == 0, measured.stderr
    head, _, *rows = measured.stdout.split("\n")
    assert head.startswith("| week ")
    assert [row.split("|")[2].strip() for row in rows[:2]] == ["memory", "last sightings"]
    assert "| week: probability given" in measured.stdout
    assert re.search(r"^\| swapped +\| memory ", measured.stdout, re.MULTILINE)


def test_a_year_tells_what_is_kept() -> None:
    (row,) = year.rows(1, 0)
    kept = dict(zip(year.HEAD, row, strict=True))
    assert kept["days"] == "1"
    assert int(kept["detections"]) > 2000
    assert 64 < int(kept["objects"]) < int(kept["sightings"])
