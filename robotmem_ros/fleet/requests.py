"""Ask a robot to withdraw or correct a memory that it made; the robot carries it out and answers.

Only the robot that made a memory changes it. An operator who wants that leaves a request in the fleet.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from psycopg import errors

from ..memory.errors import InvalidFieldError, MemoryNotFoundError
from ..memory.robot_memory import RobotMemory
from ..memory.storage import revisions
from .connection import Connection, FleetError, fleet_errors

_MAX_REASON, _MAX_LISTED = 2000, 1000
_OPEN = """
    SELECT id, memory, content, reason, asked_by FROM robotmem.requests
    WHERE robot = (SELECT robotmem.me()) AND state = 'open' ORDER BY id LIMIT 32
"""
_ANSWER = "UPDATE robotmem.requests SET state = %s, answer = %s, answered_at = now() WHERE id = %s"
# The id of a memory is at the end of its UUID: see memory/storage/revisions.py.
_FIND = """
    SELECT m.robot, m.uuid FROM robotmem.memories AS m JOIN robotmem.robots AS r ON r.id = m.robot
    WHERE r.name = %(robot)s AND (m.uuid::text = %(memory)s OR right(m.uuid::text, 10) = %(ending)s)
"""
_ASK = "INSERT INTO robotmem.requests (robot, memory, content, reason) VALUES (%s, %s, %s, %s) RETURNING id"
_LIST = f"""
    SELECT q.id, r.name, replace(q.memory::text, '-', ''), q.content, q.reason, q.asked_by, q.state, q.answer
    FROM robotmem.requests AS q JOIN robotmem.robots AS r ON r.id = q.robot ORDER BY q.id DESC LIMIT {_MAX_LISTED}
"""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A request, and what became of it."""

    id: int
    robot: str
    """The robot that made the memory."""
    memory: str
    """The UUID of the memory."""
    content: str | None
    """Text that the memory should have; None if it is to be withdrawn."""
    reason: str
    asked_by: str
    """The login that asks."""
    state: str
    """`open`, `done` or `refused`."""
    answer: str


def ask(connection: Connection, robot: str, memory: str, content: str | None, reason: str) -> int:
    """Ask a robot to correct a memory, or without a content to withdraw it; return the number of the request.

    `memory` is its id in the file of the robot, or its UUID.

    Raises:
        InvalidFieldError: the memory, the content or the reason cannot be used, or the login sees no such memory.
        FleetError: the login may not ask.
    """
    if not reason.strip() or len(reason) > _MAX_REASON or "\0" in reason:
        raise InvalidFieldError("reason", reason, f"must be a text of up to {_MAX_REASON} characters")
    if content is not None and (not content.strip() or "\0" in content):
        raise InvalidFieldError("content", content, "must be a text; without a content the memory is withdrawn")
    try:
        is_id = memory.isdecimal() and len(memory) < 13
        uuid, ending = ("", f"{int(memory):010x}") if is_id else (str(UUID(memory)), "")
    except ValueError as cause:
        raise InvalidFieldError("memory", memory, "must be the id in the robot's file, or a UUID") from cause
    with fleet_errors():
        rows = connection.execute(_FIND, {"robot": robot, "memory": uuid, "ending": ending}).fetchall()
        if len(rows) != 1:
            raise InvalidFieldError("memory", memory, f"is none of a robot {robot!r} that this login sees")
        try:
            row = connection.execute(_ASK, (*rows[0], content, reason.strip())).fetchone()
        except errors.InsufficientPrivilege as cause:
            raise FleetError("only operators ask a robot to change something, and this login is none") from cause
    assert row is not None
    return int(row[0])


def requests(connection: Connection) -> list[Request]:
    """Return the last 1,000 requests that the login may see, newest first.

    Raises:
        FleetError: the fleet cannot be read.
    """
    with fleet_errors():
        return [Request(*row) for row in connection.execute(_LIST)]


def carry_out(connection: Connection, memory: RobotMemory) -> int:
    """Do what is asked of this robot, and answer; return the number of answers.

    Raises:
        psycopg.Error: the fleet cannot be read or written; what was done is done again without harm.
        StorageError: the file cannot be written; the request stays open.
    """
    rows = connection.execute(_OPEN).fetchall()
    for number, uuid, content, reason, asked_by in rows:
        try:
            state, answer = "done", _change(memory, uuid, content, f"asked by {asked_by}: {reason}")
        except (FleetError, InvalidFieldError, MemoryNotFoundError) as error:
            state, answer = "refused", str(error)
        _LOG.info("fleet: request %s of %s is %s: %s", number, asked_by, state, answer)
        connection.execute(_ANSWER, (state, answer.replace("\0", ""), number))
    return len(rows)


def _change(memory: RobotMemory, uuid: UUID, content: str | None, reason: str) -> str:
    with memory.parts.database.snapshot() as snapshot:
        memory_id = revisions.memory_of(snapshot, uuid.bytes)
    if memory_id is None:
        raise FleetError("the file has no such memory any more")
    (now,) = memory.get_memories(memory_id, include_forgotten=True)
    if content is None:
        if now.status == "invalidated":
            return "it was withdrawn before"
        memory.forget(memory_id, reason)
        return f"memory {memory_id} is withdrawn"
    if now.memory.content == content.strip():
        return "it says so already"
    memory.update(memory_id, content, reason=reason)
    return f"memory {memory_id} is corrected"
