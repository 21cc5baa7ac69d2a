"""What a wrong wall clock stores is marked, and put right by the monotonic clock once the wall clock is right."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from robotmem_ros.memory import OccupancyGrid, Origin, RobotMemory, clocks
from robotmem_ros.memory.clocks import iso, nanoseconds
from robotmem_ros.memory.doctor import Severity
from robotmem_ros.memory.maps import Move, PathPart
from robotmem_ros.memory.models import Session
from robotmem_ros.memory.storage import revisions, session_rows
from robotmem_ros.memory.storage.doubtful_times import TABLES

from ...support.clock import DAY, NOW, SECOND, Clock
from ...support.sightings import see, sighting, the

YEAR = 365 * DAY
MINUTE = 60 * SECOND
WRONG = [5 * SECOND, 946_684_800 * SECOND, NOW - YEAR, NOW + YEAR]
"""Clocks that begin in 1970 and 2000, one that stands at the day on which its image was made, and one that is ahead."""


class Machine(Clock):
    """The clocks of a machine: the wall clock, which is the robot's too, and the one that nobody sets."""

    def __init__(self) -> None:
        super().__init__()
        self.uptime, self.boot = 40 * SECOND, "a"

    def run(self, duration: int) -> None:
        """Let both clocks go on."""
        self.now += duration
        self.uptime += duration

    def restart(self, name: str) -> None:
        """Begin a new time since the start."""
        self.uptime, self.boot = 20 * SECOND, name


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Give the process the clocks of a machine."""
    machine = Machine()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", machine)
        patch.setattr(clocks, "uptime", lambda: machine.uptime)
        patch.setattr(clocks, "boot", lambda: machine.boot)
        yield machine


def opened(path: Path, clock: Clock) -> RobotMemory:
    """Open a memory by a clock, and wait for maintenance: a clock that jumps is seen by the next write."""
    memory = RobotMemory(path / "memory.db", embedding_model="", clock=clock, session_maintenance=False)
    memory.flush()
    return memory


def lived(path: Path, machine: Machine) -> int:
    """Let the memory live a day with a right clock, and the machine restart; return the id of what was stored."""
    with opened(path, machine) as memory:
        kept = memory.save_perception("a cup")
    machine.run(DAY)
    machine.restart("b")
    return kept.memory_id


def put_right(memory: RobotMemory) -> None:
    """Let maintenance look at the clock now, and not after a minute."""
    while memory.parts._look_at_clock():
        pass


def marked(memory: RobotMemory) -> str:
    """Return what the doctor tells of the clock."""
    (finding,) = [finding for finding in memory.doctor() if finding.name == "clock"]
    return finding.seen


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("start", WRONG)
def test_what_was_stored_is_put_right_when_the_clock_is(
    tmp_path: Path, machine: Machine, start: int, is_reopened: bool
) -> None:
    before = lived(tmp_path, machine)
    right = machine.now
    machine.now = start
    memory = opened(tmp_path, machine)
    seen = memory.save_perception("a box").memory_id
    fact = memory.learn("the lift is slow").memory_id
    machine.run(MINUTE)
    memory.learn("the lift is slow")
    put_right(memory)
    assert memory.explain(seen).times_in_doubt
    assert "memories stored or changed while it was in doubt: 2" in marked(memory)
    assert the(memory, seen).observed_at == start
    machine.run(MINUTE)
    machine.now = right + 2 * MINUTE
    if is_reopened:
        memory.close()
        memory = opened(tmp_path, machine)
    put_right(memory)
    assert (the(memory, seen).observed_at, the(memory, seen).created_at) == (right, right)
    assert the(memory, fact).observed_at == right + MINUTE
    assert [each.repeated_at for each in memory.explain(fact).repetitions] == [right + MINUTE]
    assert the(memory, before).observed_at == NOW
    assert not memory.explain(seen).times_in_doubt
    assert "in doubt" not in marked(memory)
    (change,) = memory.history(seen)
    assert change.change == "put right"
    assert nanoseconds(change.changed_at) == right + 2 * MINUTE
    memory.close()


@pytest.mark.parametrize("start", WRONG)
def test_objects_and_their_sightings_are_put_right(tmp_path: Path, machine: Machine, start: int) -> None:
    with opened(tmp_path, machine) as memory:
        (known,) = see(memory, sighting(2.0, t=NOW // SECOND))
    machine.run(DAY)
    machine.restart("b")
    right = machine.now
    machine.now = start
    with opened(tmp_path, machine) as memory:
        known, new = see(memory, sighting(2.0, t=start // SECOND), sighting(8.0, t=start // SECOND))
        machine.run(MINUTE)
        see(memory, sighting(8.0, t=machine.now // SECOND))
        machine.now = right + MINUTE
        put_right(memory)
        assert (the(memory, known).first_seen, the(memory, known).last_seen) == (NOW, right)
        assert (the(memory, new).first_seen, the(memory, new).last_seen) == (right, right + MINUTE)
        assert the(memory, new).observed_at == right + MINUTE
        assert [each.observed_at for each in memory.object_history(known)] == [right, NOW]
        assert [each.observed_at for each in memory.object_history(new)] == [right + MINUTE, right]


def test_a_clock_that_was_wrong_twice_is_put_right(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    right, machine.now = machine.now, 5 * SECOND
    with opened(tmp_path, machine) as memory:
        (box,) = see(memory, sighting(2.0, t=5))
        ball = memory.save_perception("a ball").memory_id
        machine.uptime += MINUTE
        machine.now = WRONG[1]
        see(memory, sighting(2.0, t=WRONG[1] // SECOND))
        machine.uptime += MINUTE
        machine.now = right + 2 * MINUTE
        put_right(memory)
        assert [each.observed_at for each in memory.object_history(box)] == [right + MINUTE, right]
        assert (the(memory, box).first_seen, the(memory, box).last_seen) == (right, right + MINUTE)
        assert the(memory, ball).observed_at == right


def test_each_start_of_the_machine_is_put_right_by_itself(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    seen = {}
    for number in range(3):
        machine.restart(f"boot {number}")
        right, machine.now = machine.now, 5 * SECOND
        with opened(tmp_path, machine) as memory:
            seen[memory.save_perception(f"box {number}").memory_id] = right
            machine.now = right
            put_right(memory)
            machine.run(DAY)
            assert {each: the(memory, each).observed_at for each in seen} == seen


@pytest.mark.parametrize("damage", ["soon", b"", 1.5])
def test_a_damaged_time_keeps_no_other_from_being_put_right(
    tmp_path: Path, machine: Machine, damage: str | bytes | float
) -> None:
    right, machine.now = machine.now, 5 * SECOND
    with opened(tmp_path, machine) as memory:
        box, ball = (memory.save_perception(text).memory_id for text in ("a box", "a ball"))
        sql = "UPDATE memories SET updated_at = ? WHERE id = ?"
        memory.parts.database.write(lambda transaction: transaction.execute(sql, (damage, box))).result()
        machine.now = right
        put_right(memory)
        assert the(memory, ball).observed_at == right
        assert not memory.explain(box).times_in_doubt


def test_a_new_file_on_a_clock_before_its_time_is_put_right(tmp_path: Path, machine: Machine) -> None:
    right, machine.now = machine.now, 5 * SECOND
    with opened(tmp_path, machine) as memory:
        seen = memory.save_perception("a box").memory_id
        machine.now = right
        put_right(memory)
        assert the(memory, seen).observed_at == right


def test_more_memories_than_one_transaction_takes_are_put_right_and_told_to_followers(
    tmp_path: Path, machine: Machine
) -> None:
    cup = lived(tmp_path, machine)
    right, machine.now = machine.now, 5 * SECOND
    with opened(tmp_path, machine) as memory:
        seen = memory.save_many([{"description": f"box {number}"} for number in range(250)])
        memory.flush()
        assert not memory.recall("box", after=right - SECOND).memories
        with memory.parts.database.snapshot() as snapshot:
            revision = revisions.latest(snapshot)
        machine.now = right
        put_right(memory)
        memory.flush()
        assert len(memory.recall("box", after=right - SECOND, n=100).memories) == 100
        assert [each.id for each in memory.recall("box", before=right - SECOND).memories] == [cup]
        with memory.parts.database.snapshot() as snapshot:
            assert snapshot.row("SELECT count(*) FROM memories WHERE revision > ?", (revision,)) == (len(seen),)


def test_times_from_a_right_clock_stay(tmp_path: Path, machine: Machine) -> None:
    before = lived(tmp_path, machine)
    right, machine.now = machine.now, 5 * SECOND
    with opened(tmp_path, machine) as memory:
        stamped = memory.save_perception("a box", observed_at=right - 3 * DAY).memory_id
        memory.update(before, "a red cup")
        machine.now = right
        put_right(memory)
        assert (the(memory, stamped).observed_at, the(memory, stamped).created_at) == (right - 3 * DAY, right)
        assert (the(memory, before).observed_at, the(memory, before).created_at) == (NOW, NOW)


def test_after_another_start_of_the_machine_the_mark_stays(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    right, machine.now = machine.now, 5 * SECOND
    with opened(tmp_path, machine) as memory:
        seen = memory.save_perception("a box").memory_id
    machine.now = right
    machine.restart("c")
    with opened(tmp_path, machine) as memory:
        put_right(memory)
        assert the(memory, seen).observed_at == 5 * SECOND
        assert memory.explain(seen).times_in_doubt
        assert "while it was in doubt: 1" in marked(memory)


@pytest.mark.parametrize("step", [-3 * SECOND, 3 * SECOND, -20 * DAY, 100 * DAY])
def test_a_step_of_a_clock_that_is_not_in_doubt_marks_and_moves_nothing(
    tmp_path: Path, machine: Machine, step: int
) -> None:
    lived(tmp_path, machine)
    with opened(tmp_path, machine) as memory:
        seen = memory.save_perception("a box", observed_at=NOW).memory_id
        machine.now += step
        put_right(memory)
        assert the(memory, seen).observed_at == NOW
        assert not memory.explain(memory.save_perception("a ball").memory_id).times_in_doubt


def test_a_robot_that_had_been_off_for_long_keeps_its_times(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    machine.run(200 * DAY)
    machine.restart("c")
    on = machine.now
    with opened(tmp_path, machine) as memory:
        seen = memory.save_perception("a box").memory_id
        assert memory.explain(seen).times_in_doubt
        machine.run(DAY)
        memory.save_perception("a ball")
        put_right(memory)
        assert the(memory, seen).observed_at == on
        assert not memory.explain(seen).times_in_doubt


def test_a_simulation_is_neither_marked_nor_moved(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    with opened(tmp_path, Clock(100 * SECOND)) as memory:
        seen = memory.save_perception("a box").memory_id
        assert not memory.explain(seen).times_in_doubt
    with opened(tmp_path, machine) as memory:
        put_right(memory)
        assert the(memory, seen).observed_at == 100 * SECOND


def test_nothing_of_a_marked_memory_is_left_after_a_purge(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    machine.now = 5 * SECOND
    with opened(tmp_path, machine) as memory:
        seen = memory.save_perception("a box").memory_id
        memory.purge(ids=[seen])
        with memory.parts.database.snapshot() as snapshot:
            assert snapshot.rows("SELECT * FROM doubtful_times WHERE memory_id") == []
        (finding,) = [finding for finding in memory.doctor() if finding.name == "clock"]
        assert finding.severity is Severity.WARN


def test_every_column_with_a_time_of_the_machine_is_marked(tmp_path: Path, machine: Machine) -> None:
    is_time = re.compile(r"(^|_)(at|seen|absent|accessed|kept|day)$|^last_(hit|missed)$|^appeared$|^segment$")
    with opened(tmp_path, machine) as memory, memory.parts.database.snapshot() as snapshot:
        tables = [name for (name,) in snapshot.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        times = {
            (table, column)
            for table in tables
            for (column,) in snapshot.rows("SELECT name FROM pragma_table_info(?)", (table,))
            if is_time.search(column)
        }
    of_recordings, derived = ("imported", "recorded_at"), ("memories", "evidence_day")
    times -= {of_recordings, derived, ("doubtful_times", "booted_at"), ("objects", "times_seen")}
    assert times == {(table, column) for table, (_, columns, *_) in TABLES.items() for column in columns}


def session_of(memory: RobotMemory, session_id: str) -> Session:
    """Return a session by its id."""
    return next(session for session in memory.sessions.latest() if session.session_id == session_id)


def close_expired(memory: RobotMemory, machine: Machine) -> None:
    """Close the sessions that are expired, as each start of a session does."""
    memory.parts.database.write(lambda transaction: session_rows.close_expired(transaction, machine.now)).result()


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("start", WRONG)
def test_sessions_the_path_maps_tags_and_recalls_are_put_right(
    tmp_path: Path, machine: Machine, start: int, is_reopened: bool
) -> None:
    cup = lived(tmp_path, machine)
    right, machine.now = machine.now, start
    memory = opened(tmp_path, machine)
    ended = memory.sessions.start().session_id
    moves = [Move(start + number * SECOND, float(number), 0.0, 0.0, start) for number in range(1100)]
    for part in (moves[:2], moves[2:]):
        memory.maps.store_path(PathPart(part, "map", "", "default")).result()
        machine.run(550 * SECOND)
    origin = Origin(0.0, 0.0, 0.0)
    grid = OccupancyGrid(frame_id="map", resolution=0.1, origin=origin, width=1, height=1, cells=b"0")
    memory.maps.save(replace(grid, observed_at=machine.now))
    memory.sessions.end(ended, 1.0)
    memory.tags.add("fragile")
    memory.recall("cup")
    memory.flush()
    assert "sessions, points of the path and the like: 1,104" in marked(memory)
    end, machine.now = right + 1100 * SECOND, right + 1100 * SECOND
    if is_reopened:
        memory.close()
        memory = opened(tmp_path, machine)
    put_right(memory)
    session = session_of(memory, ended)
    assert (session.started_at, session.ended_at) == (right, end)
    path = memory.maps.path(n=len(moves))
    assert [(point.observed_at - right, point.segment) for point in path] == [(at - start, 0) for at, *_ in moves]
    assert memory.maps.all()[0].observed_at == end
    assert memory.recalls().recalls[0].recalled_at == end
    assert memory.history(cup) == ()  # a recall is no change
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.rows("SELECT * FROM doubtful_times") == []
        assert snapshot.row("SELECT recalled_at, last_accessed FROM memories WHERE id = ?", (cup,)) == (
            end,
            iso(end, timespec="seconds"),
        )
        assert nanoseconds(snapshot.row("SELECT updated_at FROM tag_meta WHERE tag = 'fragile'")[0]) == end
        assert all(day <= end // DAY for (day,) in snapshot.rows("SELECT day FROM lived_days"))
    memory.close()


@pytest.mark.parametrize("start", WRONG)
def test_a_session_that_begins_before_the_clock_is_set_lasts_as_long_as_it_should(
    tmp_path: Path, machine: Machine, start: int
) -> None:
    lived(tmp_path, machine)
    right, machine.now = machine.now, start
    with opened(tmp_path, machine) as memory:
        session_id = memory.sessions.start(max_duration=3600.0).session_id
        machine.run(MINUTE)
        machine.now = right + MINUTE
        close_expired(memory, machine)  # before the times are put right
        assert session_of(memory, session_id).ended_at is None
        put_right(memory)
        session = session_of(memory, session_id)
        assert (session.started_at, session.expires_at) == (right, right + 3600 * SECOND)
        machine.run(3600 * SECOND)
        close_expired(memory, machine)
        session = session_of(memory, session_id)
        assert (session.end_reason, session.ended_at) == ("expired", right + 3600 * SECOND)


def test_sessions_end_by_the_clock_that_they_began_by(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    right = machine.now
    with opened(tmp_path, machine) as memory:
        begun = memory.sessions.start(max_duration=3600.0).session_id
        machine.now += YEAR
        in_doubt = memory.sessions.start(max_duration=600.0).session_id
        close_expired(memory, machine)
        assert session_of(memory, begun).ended_at is None
        machine.run(600 * SECOND)
        close_expired(memory, machine)
        assert session_of(memory, in_doubt).end_reason == "expired"
        machine.now = right + 600 * SECOND
        put_right(memory)
        close_expired(memory, machine)
        assert session_of(memory, begun).ended_at is None
        assert session_of(memory, in_doubt).ended_at == right + 600 * SECOND


@pytest.mark.parametrize("days", [1, 2, 6])
def test_a_clock_that_is_ahead_over_midnight_is_not_believed(tmp_path: Path, machine: Machine, days: int) -> None:
    lived(tmp_path, machine)
    for _ in range(8):
        machine.run(DAY)
        with opened(tmp_path, machine):
            pass
    machine.restart("c")
    machine.now += YEAR
    with opened(tmp_path, machine) as memory:
        seen = []
        for number in range(days + 1):
            seen.append((memory.save_perception(f"box {number}").memory_id, machine.now - YEAR))
            assert "the clock is ahead" in marked(memory)
            machine.run(DAY)
        machine.now -= YEAR
        put_right(memory)
        assert [(each, the(memory, each).observed_at) for each, _ in seen] == seen
        assert "lie ahead" not in marked(memory)
        for _ in range(60):  # nor does anything of it come back later
            machine.run(DAY)
            memory.save_perception("a ball")
            assert memory.status().reason.find("clock") < 0


def test_a_time_that_is_no_time_of_the_wrong_clock_stays_though_it_was_put_right_late(
    tmp_path: Path, machine: Machine
) -> None:
    lived(tmp_path, machine)
    machine.run(100 * DAY)
    with opened(tmp_path, machine):
        pass
    machine.restart("c")
    right = machine.now
    machine.now -= 40 * DAY
    with opened(tmp_path, machine) as memory:
        (box,) = see(memory, sighting(2.0, t=machine.now // SECOND))
    machine.run(60 * DAY)
    machine.now += 40 * DAY
    with opened(tmp_path, machine) as memory:
        see(memory, sighting(2.0, t=machine.now // SECOND))
        put_right(memory)
        assert [each.observed_at for each in memory.object_history(box)] == [right + 60 * DAY, right]


def test_marks_of_what_is_deleted_go_with_it(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    machine.now = 5 * SECOND
    with opened(tmp_path, machine) as memory:
        see(memory, sighting(2.0, t=5))
        memory.sessions.end(memory.sessions.start().session_id, 0.5)
        memory.maps.store_path(PathPart([Move(5 * SECOND, 0.0, 0.0, 0.0, 5 * SECOND)], "map", "", "default")).result()
    machine.restart("c")
    with opened(tmp_path, machine) as memory:
        memory.purge(collection="default")
        with memory.parts.database.snapshot() as snapshot:
            kinds = snapshot.rows("SELECT DISTINCT of_table FROM doubtful_times WHERE boot = 'b'")
            assert {kind for (kind,) in kinds} <= {"lived_days", "recalls"}


def test_sqlite_finds_a_file_with_marks_whole(tmp_path: Path, machine: Machine) -> None:
    lived(tmp_path, machine)
    machine.now = 5 * SECOND
    with opened(tmp_path, machine) as memory:
        assert memory.explain(memory.save_perception("a box").memory_id).times_in_doubt
        assert not [finding for finding in memory.doctor() if finding.severity is Severity.ERROR]
        with memory.parts.database.snapshot() as snapshot:
            assert snapshot.row("PRAGMA integrity_check") == ("ok",)
