"""An operator who wants a memory withdrawn or corrected asks its robot, which does that and answers."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import FleetError, connect
from robotmem_ros.fleet.pull import Pull
from robotmem_ros.fleet.requests import Request, ask, carry_out, requests
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import InvalidFieldError

from .conftest import Fleet, push


def pull(memory: RobotMemory, url: str) -> None:
    with closing(Pull(memory, url)) as puller:
        for _ in puller.pieces():
            pass


def listed(url: str) -> list[Request]:
    with closing(connect(url)) as connection:
        return requests(connection)


def test_an_operator_asks_and_the_robot_answers(
    fleet: Fleet, memory: RobotMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    url, ada = fleet.add("asked"), fleet.add("ada", add=administration.add_operator)
    facts = [memory.learn(f"the {name} is open").memory_id for name in ("lab", "hall", "attic")]
    note = memory.learn("the shed is open").memory_id
    push(memory, url)
    at = ["--fleet-url", ada]
    assert main(["fleet", "requests", *at]) == 0
    assert capsys.readouterr().out == "no requests\n"
    for words in (
        ["withdraw", "asked", str(facts[0]), "it is closed"],
        ["correct", "asked", str(facts[1]), "the hall is open on Sunday", "seen"],
        ["correct", "asked", str(facts[2]), "x" * 5000, "too long"],
        ["withdraw", "asked", str(note), "it is gone"],
    ):
        assert main(["fleet", "request", *words, *at]) == 0
    memory.purge(ids=[note])
    pull(memory, url)
    assert {hit.memory.content for hit in memory.recall("open", n=9)} == {
        "the hall is open on Sunday", "the attic is open",
    }  # fmt: skip
    answers = {request.id: (request.state, request.asked_by, request.answer) for request in listed(ada)}
    assert answers[1] == ("done", "operator_ada", f"memory {facts[0]} is withdrawn")
    assert answers[2] == ("done", "operator_ada", f"memory {facts[1]} is corrected")
    assert answers[3][0] == answers[4][0] == "refused"
    assert "at most 2000 are allowed" in answers[3][2]
    assert answers[4][2] == "the file has no such memory any more"
    assert memory.history(facts[0])[0].reason == "asked by operator_ada: it is closed"
    # A robot that failed before it answered does it again.
    fleet.query("UPDATE robotmem.requests SET state = 'open' WHERE id < 3")
    pull(memory, url)
    assert [request.state for request in listed(ada)] == ["refused", "refused", "done", "done"]
    push(memory, url)
    assert fleet.query("SELECT content FROM robotmem.memories WHERE status = 'active' AND content LIKE '%hall%'") == [
        ("the hall is open on Sunday",)
    ]
    capsys.readouterr()
    assert main(["fleet", "requests", *at]) == 0
    assert "it says so already" in capsys.readouterr().out
    assert main(["fleet", "requests", "--json", *at]) == 0


def test_a_robot_asks_for_nothing_and_answers_for_itself_alone(fleet: Fleet, memory: RobotMemory) -> None:
    url, other = fleet.add("asked"), fleet.add("other")
    fact = memory.learn("the lab is open").memory_id
    push(memory, url)
    ((uuid,),) = fleet.query("SELECT uuid FROM robotmem.memories")
    with closing(connect(other)) as connection:
        with pytest.raises(InvalidFieldError, match=f"'{fact}' is none of a robot 'asked' that this login sees"):
            ask(connection, "asked", str(fact), None, "it is closed")
        with closing(connect(fleet.url)) as owner:
            administration.grant(owner, "other", "default")
        with pytest.raises(FleetError, match="only operators ask a robot"):
            ask(connection, "asked", uuid.hex, None, "it is closed")
        with closing(connect(fleet.url)) as owner:
            ask(owner, "asked", uuid.hex, None, "it is closed")
        answer = "UPDATE robotmem.requests SET state = 'done', answer = 'no'"
        assert connection.execute(answer.encode()).rowcount == 0
        assert carry_out(connection, memory) == 0
        for statement in (
            "UPDATE robotmem.requests SET content = 'x'",
            "INSERT INTO robotmem.requests (robot, memory, reason, state) VALUES (1, gen_random_uuid(), 'x', 'done')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())
    assert listed(other) == []
    pull(memory, url)
    assert [(request.state, request.asked_by) for request in listed(url)] == [("done", "postgres")]
    assert not memory.recall("lab")


@pytest.mark.parametrize(
    ("memory_name", "reason", "problem"),
    [
        ("x", "why", "memory: 'x' must be"),
        ("1", " ", "reason: ' ' must be"),
        ("1", "a\0b", "reason: "),
        ("9", "why", "memory: '9' is none of a robot"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused(
    fleet: Fleet, memory: RobotMemory, memory_name: str, reason: str, problem: str
) -> None:
    fleet.add("asked")
    with closing(connect(fleet.url)) as connection, pytest.raises(Exception, match=problem):
        ask(connection, "asked", memory_name, None, reason)
