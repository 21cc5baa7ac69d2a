"""~/work on a real graph: feedback comes, a cancelled goal ends, and nothing is half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.client import MemoryClient, NoAnswerError
from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.errors import CancelledError

from ..support.node.graph import DEADLINE, Client

FACTS = [{"insight": f"the door {number} of hall {number % 7} sticks", "session_id": "long"} for number in range(600)]


@pytest.fixture
def memory(own: Any, tmp_path: Path) -> Iterator[MemoryClient]:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    with MemoryClient(client.node, timeout=DEADLINE) as connected:
        yield connected


def count(memory: MemoryClient) -> int:
    """Return how many memories there are."""
    return sum(entry.memories for entry in memory.counts("kinds"))


def test_long_work_tells_how_far_it_is_and_has_the_result_of_its_verb(memory: MemoryClient, tmp_path: Path) -> None:
    told: list[tuple[float, str]] = []
    stored = memory.work("learn_many", facts=FACTS).result(DEADLINE)
    assert len(stored) == 600
    purged = memory.work("purge", lambda *news: told.append(news), session_id="long").result(DEADLINE)
    assert (purged["memories"], count(memory)) == (600, 0)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[-1] == (1.0, "600 of 600")
    memory.learn("the gate is open")
    copy = tmp_path / "copy.db"
    assert memory.work("backup", path=str(copy)).result(DEADLINE) == str(copy)
    with RobotMemory(copy, embedding_model="", read_only=True) as other:
        assert other.status().facts == 1


def test_a_cancelled_purge_stops_between_two_pieces(memory: MemoryClient) -> None:
    memory.work("learn_many", facts=FACTS).result(DEADLINE)
    begun = threading.Event()

    def tell(share: float, text: str) -> None:
        if share > 0.0:
            begun.set()

    purge = memory.work("purge", tell, session_id="long")
    assert begun.wait(DEADLINE)
    purge.cancel()
    try:
        purge.result(DEADLINE)
    except CancelledError:
        remaining = count(memory)
        assert remaining in {350, 100}
        assert len(memory.recall("door", n=5)) == 5
    # What remains, and traces of what went, is purged by the next one.
    memory.work("purge", session_id="long").result(DEADLINE)
    assert count(memory) == 0


def test_a_client_is_told_that_the_node_is_gone(own: Any, tmp_path: Path) -> None:
    start, connect = own
    # By UDP: what is killed while it writes into the shared memory of another process may leave that one deaf.
    node = start(
        "-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''",
        environment={"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"},
    )  # fmt: skip
    client: Client = connect()
    client.until_active()
    with MemoryClient(client.node, timeout=DEADLINE) as memory:
        work = memory.work("learn_many", facts=FACTS * 20)
        node.stop(signal.SIGKILL)
        with pytest.raises(NoAnswerError, match="learn_many: no result within 5 s: the node is gone"):
            work.result(DEADLINE)
    with RobotMemory(tmp_path / "memory.db", embedding_model="", read_only=True) as file:
        assert file.status().facts in {0, 600}


def test_work_that_waits_is_cancelled_before_it_begins(memory: MemoryClient) -> None:
    first = memory.work("learn_many", facts=FACTS)
    second = memory.work("learn_many", facts=["the lamp flickers"])
    second.cancel()
    with pytest.raises(CancelledError):
        second.result(DEADLINE)
    first.result(DEADLINE)
    assert count(memory) == 600


@pytest.mark.parametrize(
    ("verb", "arguments", "problem"),
    [
        ("purgee", {}, "verb: 'purgee' must be one of backup, .*; did you mean 'purge'"),
        ("recall", {}, "verb: 'recall' must be one of"),
        ("purge", {}, "ids: None chooses nothing"),
        ("purge", {"sesion_id": "x"}, "arguments.sesion_id: 'x' is no argument of purge; did you mean 'session_id'"),
        ("backup", {}, "arguments.path: None must be given"),
        ("backup", {"path": "/"}, "path: '/' "),
        ("learn_many", {"facts": [{"insight": 3}]}, r"facts\[0\].insight: 3 must be"),
        ("learn_many", {"facts": [], "progress": 3}, "arguments.progress: 3 is no argument"),
        ("sessions.consolidate", {"session_id": "nobody"}, "nobody"),
    ],
)
def test_what_cannot_be_done_is_named(verb: str, arguments: dict[str, Any], problem: str, shared: MemoryClient) -> None:
    with pytest.raises(Exception, match=problem) as raised:
        shared.work(verb, **arguments).result(DEADLINE)
    assert not isinstance(raised.value, InvalidFieldError) or raised.value.field


@pytest.fixture(scope="module")
def shared(client: Client) -> Iterator[MemoryClient]:
    with MemoryClient(client.node, timeout=DEADLINE) as connected:
        yield connected
