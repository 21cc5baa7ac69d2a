"""Pages hear of every change, by whatever program, and of nothing else; open streams do not keep the console alive."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.maps import OccupancyGrid, Origin

from ..support.forks import output_of
from ..support.waiting import until
from ..support.web import Server, console, listening, with_limits

_OF_ANOTHER_PROCESS = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    print(memory.learn("a lamp hangs over the table").memory_id)
"""


def test_each_kind_of_change_is_told_and_counting_a_recall_is_not(db: Path) -> None:
    grid = OccupancyGrid(frame_id="map", resolution=0.5, origin=Origin(0.0, 0.0), width=1, height=1, cells=b"d")
    with console(db) as server, RobotMemory(db, embedding_model="") as memory, listening(server) as listener:
        for change in (
            lambda: memory.learn("a fork lies in the drawer"),
            lambda: memory.update(2, category="grasp"),
            lambda: memory.forget(2, "a test"),
            lambda: memory.restore(2),
            lambda: memory.save_perception("a mug", label="mug", pose=[0.0, 1.0, 0.8]),
            memory.start_session,
            lambda: memory.maps.save(grid),
            lambda: memory.purge(ids=[3]),
        ):
            before = len(listener.changes)
            change()
            until(lambda before=before: len(listener.changes) > before, f"event after {before}")  # type: ignore[misc]
        lamp = int(output_of(_OF_ANOTHER_PROCESS, db))
        until(lambda: listener.changes[-1]["newest"] == lamp, "lamp")
        versions = [one["version"] for one in listener.changes]
        assert versions == sorted(set(versions))
        heard = len(listener.changes)
        with server.client() as client:
            client.get("/api/search", params={"q": "mug"})
        memory.recall("mug")
        memory.flush()
        last = memory.learn("a spoon").memory_id
        until(lambda: listener.changes[-1]["newest"] == last, "spoon")
        assert len(listener.changes) <= heard + 2


def test_a_stream_that_is_silent_has_a_heartbeat(db: Path) -> None:
    code = (
        "import sys\nfrom fastapi import routing\nrouting._PING_INTERVAL = 0.2\n"
        "from robotmem_ros.cli.main import main\nsys.exit(main())\n"
    )
    with console(db, code=code) as server, listening(server) as listener:
        until(lambda: listener.lines.count(": ping") >= 2, "heartbeat")
        assert listener.changes == []


def test_a_listener_that_returns_is_told_at_once_that_it_may_have_missed_something(server: Server) -> None:
    with listening(server, **{"Last-Event-ID": "3"}) as listener:
        until(lambda: len(listener.changes) == 1, "event")


def test_more_streams_than_are_allowed_are_refused(db: Path) -> None:
    with console(db, code=with_limits(streams=1)) as server, server.client() as client:
        with listening(server):
            assert client.get("/api/events").status_code == 429
            assert client.get("/api/stats").status_code == 200

        def is_free() -> bool:
            with client.stream("GET", "/api/events") as response:
                return response.status_code == 200

        until(is_free, "room for a stream")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_console_although_streams_are_open(db: Path, number: int) -> None:
    with console(db) as server, listening(server) as listener:
        assert server.stop(number) == (0, "")
        listener.thread.join(120)
        assert not listener.thread.is_alive()
    assert not Path(f"{db}-wal").exists()  # the last program has closed the file


def test_a_change_in_the_console_is_on_disk_when_it_is_killed(db: Path) -> None:
    with console(db) as server, server.client() as client:
        assert client.put("/api/memory/2", json={"content": "a new text"}).status_code == 200
        server.process.kill()
        server.process.wait()
    with RobotMemory(db, embedding_model="", read_only=True) as memory:
        assert memory.get_memories([2])[0].memory.content == "a new text"
