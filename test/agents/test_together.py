"""Many at once: servers beside a node's writer on one file, calls side by side, and what takes too long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.agents import server, tools
from robotmem_ros.agents.desk import Desk
from robotmem_ros.agents.toolbox import Toolbox
from robotmem_ros.memory import RobotMemory

from ..support.agents import HELLO, READY, served, spoken, stdio_client

CALLS: list[tuple[str, Callable[[int], dict[str, Any]]]] = [
    ("recall", lambda number: {"query": "red mug"}),
    ("learn", lambda number: {"insight": f"lamp {number} works"}),
    ("digest", lambda number: {}),
    ("objects", lambda number: {"query": "mug"}),
    ("timeline", lambda number: {"n": 3}),
]


@pytest.mark.rare
@pytest.mark.anyio
async def test_two_servers_and_a_writer_work_on_one_file(db: Path) -> None:
    with RobotMemory(db, embedding_model="") as node:
        async with (
            stdio_client(db, "--no-model") as first,
            stdio_client(db, "--no-model") as second,
            stdio_client(db, "--no-model", "--read-only") as reader,
        ):
            for number in range(20):
                node.save_perception(f"a box number {number}", pose=[number, 20.0, 0.0], label=f"box {number}")
                one = await first.call_tool("learn", {"insight": f"shelf {number} of the first agent is full"})
                two = await second.call_tool("learn", {"insight": f"shelf {number} of the second agent is full"})
                assert not one.is_error
                assert not two.is_error
            for client in (first, second, reader):
                told = (await client.call_tool("doctor", {})).structured_content
                assert (told["facts"], told["perceptions"]) == (45, 23)
                found = await client.call_tool("recall", {"query": "shelf 19", "n": 2})
                assert len(found.structured_content["memories"]) == 2
        assert node.status().facts == 45


def test_calls_side_by_side_are_all_answered(db: Path) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": given(number)}}
        for number, (name, given) in enumerate(CALLS * 8, 2)
    ]
    with served(db, "--no-model") as process:
        said = spoken(process, HELLO, READY, *calls, answers=41)
    answers = {message["id"]: message["result"] for message in said if message.get("id") is not None}
    assert answers.keys() == set(range(1, 42))
    assert not [answer["content"] for answer in answers.values() if answer.get("isError")]
    with RobotMemory(db, embedding_model="", read_only=True) as memory:
        assert memory.status().facts == 13


@pytest.mark.anyio
async def test_what_takes_too_long_is_told_and_keeps_nobody_waiting(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp import Client

    go_on = threading.Event()

    def slow(desk: Desk, given: Mapping[str, Any]) -> object:
        go_on.wait(60)
        return {}

    quick = {**tools.BY_NAME, "learn": replace(tools.BY_NAME["learn"], run=slow, time_limit=0.2)}
    monkeypatch.setattr("robotmem_ros.agents.toolbox.BY_NAME", quick)
    try:
        async with Client(server.build(toolbox, "1")) as client:
            late = await client.call_tool("learn", {"insight": "x"})
            assert late.is_error
            assert late.content[0].type == "text"
            assert late.content[0].text.startswith("learn: no answer within 0.2 s; what it was to change may still be ")
            assert not (await client.call_tool("doctor", {})).is_error
    finally:
        go_on.set()


def test_a_mistake_of_ours_is_for_the_log(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(desk: Desk, given: Mapping[str, Any]) -> object:
        raise KeyError("secret")

    monkeypatch.setattr("robotmem_ros.agents.toolbox.BY_NAME", {"doctor": replace(tools.BY_NAME["doctor"], run=broken)})
    answer = toolbox.call("doctor", {})
    assert answer.is_error
    assert answer.text == "'doctor' failed with an unexpected KeyError; the server's log has it"
    assert "secret" in caplog.text
