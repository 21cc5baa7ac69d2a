"""Files that a robot left, and MCP servers as clients start them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robotmem_ros.memory import RobotMemory, open_memory

from .forks import PipedFork, serving
from .subprocesses import PATH, ROOT

if TYPE_CHECKING:
    from mcp import Client

COMMAND = (sys.executable, "-m", "robotmem_ros.cli")
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def kitchen(path: Path, *, embedding_model: str = "") -> Path:
    """Store what a robot learned and saw in a kitchen; return the path."""
    handbook = path.parent / "handbook"
    handbook.mkdir()
    (handbook / "battery.md").write_text(
        "# Battery\n\nCharge it at dock 3.\n\n## Winter\n\nIt lasts 2 hours below 5 °C.\n"
    )
    options: dict[str, Any] = {} if embedding_model == "default" else {"embedding_model": embedding_model}
    with RobotMemory(path, **options) as memory:
        session = memory.start_session({"task": "clear the table"}).session_id
        memory.learn(
            "a grip force of 12.5 N holds the red mug",
            {"task": {"name": "grip", "success": True}, "params": {"force": 12.5}},
            session,
        )
        memory.learn(
            "the red mug slipped at 6 N because its handle was wet",
            {"task": {"name": "grip", "success": False}, "params": {"force": 6.0}},
            session,
        )
        for _ in range(3):
            memory.save_perception("a red mug on the table", pose=[3.0, 1.0, 0.8], label="mug", session_id=session)
        memory.save_perception("a blue mug in the sink", pose=[5.0, 1.0, 0.8], label="mug")
        memory.save_perception("a chair at the window", pose=[9.0, 9.0, 0.0], label="chair")
        for tag in ("fridge", "icebox"):
            memory.tags.add(tag)
        memory.learn("hold the glass with 12.5 N")
        memory.learn("hold the glass with 15 N")
        memory.learn("杯子要轻轻拿起，握力十二牛")
        memory.end_session(session, 0.2)
    with open_memory(path, notes_folders=(str(handbook),), **options) as memory:
        memory.flush()
    return path


@asynccontextmanager
async def stdio_client(db: Path, *options: str) -> AsyncIterator[Client]:
    """Start `robotmem mcp` on a file, and connect the library's own client to it."""
    from mcp import Client, StdioServerParameters, stdio_client

    arguments = [*COMMAND[1:], "mcp", "--db", str(db), *options]
    parameters = StdioServerParameters(command=COMMAND[0], args=arguments, env=PATH, cwd=ROOT)
    async with Client(stdio_client(parameters)) as client:
        yield client


def served(db: Path, *options: str) -> AbstractContextManager[PipedFork]:
    """Fork `robotmem mcp` with pipes; it is killed at the end if it still runs."""
    return serving("mcp", "--db", str(db), *options)


def spoken(process: PipedFork, *lines: object, answers: int) -> list[Any]:
    """Say lines to a server, and return its messages until it gave so many answers; then close its stdin."""
    process.stdin.write("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    process.stdin.flush()
    said: list[Any] = []
    while sum(message.get("id") is not None for message in said) < answers:
        line = process.stdout.readline()
        assert line, process.complaints
        said.append(json.loads(line))
    rest, complaints = process.communicate(timeout=180)
    assert process.returncode == 0, complaints
    assert "Traceback" not in complaints
    return [*said, *map(json.loads, rest.splitlines())]
