"""What says the same as what was stored last is left out: states that did not change, things that did not move."""

from __future__ import annotations

from robotmem_ros.perception import Observation, Reason
from robotmem_ros.perception.last_stored import Comparison, LastStored
from robotmem_ros.perception.placement import Placed


def at(x: float | None, label: str = "mug", frame: str = "map", identity: str = "", state: str | None = None) -> Placed:
    pose = None if x is None else (x, 0.0, 0.0)
    seen = Observation("seen", 1, False, pose=pose, label=label, identity=identity, state=state)
    return Placed(seen, frame)


def stored(last: LastStored, *message: Placed) -> list[bool]:
    """Whether each observation of a message is stored, when everything that can be is."""
    comparison = Comparison(last)
    found = []
    for one in message:
        found.append(comparison.reason(one) is None)
        if found[-1]:
            comparison.accept(one)
    comparison.commit()
    return found


def test_an_observation_that_has_not_moved_is_dropped() -> None:
    last = LastStored(0.5)
    assert [x for x in (0.0, 0.3, 0.49, 0.5, 0.9, 1.0) if stored(last, at(x)) == [True]] == [0.0, 0.5, 1.0]
    assert Comparison(last).reason(at(1.2)) is Reason.MIN_DISPLACEMENT


def test_two_chairs_in_one_message_stay_two_and_are_not_stored_again() -> None:
    last = LastStored(2.0)
    chairs = [at(0.0, "chair"), at(0.5, "chair")]
    assert stored(last, *chairs) == [True, True]
    assert stored(last, *chairs) == [False, False]
    assert stored(last, at(0.0, "table"), *chairs) == [True, False, False]
    assert stored(last, at(9.0, "chair"), at(0.5, "chair")) == [True, False]


def test_what_has_no_place_is_not_asked_to_move() -> None:
    last = LastStored(2.0)
    assert [stored(last, at(None)) for _ in range(2)] == [[True], [True]]


def test_without_a_distance_everything_is_stored() -> None:
    last = LastStored(0.0)
    assert [stored(last, at(1.0)) for _ in range(2)] == [[True], [True]]


def test_things_are_told_apart_by_identity_and_frame() -> None:
    last = LastStored(2.0)
    for one in (at(0.0), at(0.0, frame="odom"), at(0.0, identity="7")):
        assert stored(last, one) == [True]
        assert stored(last, one) == [False]
    last.reset()
    assert stored(last, at(0.0)) == [True]


def test_only_changes_of_each_thing_are_stored() -> None:
    last = LastStored(0.0)
    states = [("a", "ok"), ("b", "ok"), ("a", "ok"), ("a", "hot"), ("b", "ok"), ("a", "ok")]
    found = [stored(last, at(None, identity=name, state=state)) for name, state in states]
    assert found == [[True], [True], [False], [True], [False], [True]]
    assert Comparison(last).reason(at(None, identity="a", state="ok")) is Reason.UNCHANGED


def test_a_state_is_stored_once_of_one_message() -> None:
    assert stored(LastStored(0.0), at(None, state="ok"), at(None, state="ok")) == [True, False]


def test_a_change_of_what_has_not_moved_is_still_a_change_when_it_moves() -> None:
    last = LastStored(1.0)
    assert stored(last, at(0.0, state="shut")) == [True]
    assert stored(last, at(0.0, state="open")) == [False]
    assert stored(last, at(5.0, state="open")) == [True]


def test_what_is_not_committed_is_not_remembered() -> None:
    last = LastStored(1.0)
    lost = Comparison(last)
    assert lost.reason(at(0.0, state="ok")) is None
    lost.accept(at(0.0, state="ok"))
    assert stored(last, at(0.0, state="ok")) == [True]


def test_an_observation_that_could_not_be_written_is_not_remembered() -> None:
    last = LastStored(1.0)
    assert stored(last, at(0.0, state="ok")) == [True]
    failed = Comparison(last)
    failed.accept(at(9.0, state="hot"))
    failed.commit()
    failed.forget()
    assert stored(last, at(9.0, state="hot")) == [True]


def test_the_number_of_remembered_observations_is_bounded() -> None:
    last = LastStored(1.0)
    stored(last, *(at(0.0, str(number), state="ok") for number in range(10_001)))
    assert stored(last, at(0.0, "0", state="ok"), at(0.0, "10000", state="ok")) == [True, False]
