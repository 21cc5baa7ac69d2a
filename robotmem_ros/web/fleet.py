"""The paths of the fleet: how its robots stand, where their objects are, a memory in full, and requests to a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import Field

from ..fleet.scope import FleetMemory
from ..memory import RobotMemory
from ..memory.argument import MAX_NAME
from ..memory.errors import RobotMemoryError
from ..memory.search.request import Scope
from ..memory.storage import revisions
from ..memory.verbs.requests import SeenObjectsRequest
from .memories import MemoryId
from .places import Objects
from .requests import Name, Strict, add_reading
from .responses import ConflictError, NotThereError, responses
from .schemas import DetailsOut, Value

if TYPE_CHECKING:
    from ..fleet.connection import Connection
    from ..fleet.requests import Request
    from ..memory.models import SeenObject
    from ..memory.search.details import MemoryDetails

T = TypeVar("T")
_PATIENCE = 5.0
"""Seconds that a person waits for the fleet."""


class FleetAnswer(Value):
    """What the fleet says, if it answers."""

    reason: str = Field("", description="Why the fleet did not answer; empty if it did.")


class RobotOut(Value):
    """How a robot of the fleet stands."""

    name: str
    is_own: bool = Field(description="The file of this console is its file.")
    contact: str = Field(description="When it last sent something, or had nothing to send: ISO 8601, UTC; or empty.")
    memories: int
    vectors: int
    revision: int = Field(description="The last revision of its file that the fleet has.")
    backlog: int = Field(description="Revisions that the fleet lacked at the last contact.")


class Robots(FleetAnswer):
    """The robots of the fleet that the login may see, by their names."""

    robots: list[RobotOut] = Field(default_factory=list)


class FleetObjects(FleetAnswer, Objects):
    """Objects of other robots, those seen last first."""


class RequestOut(Value):
    """A request to a robot, and what became of it."""

    id: int
    robot: str = Field(description="The robot that made the memory.")
    memory: str = Field(description="The UUID of the memory, the last ten digits of which are its id.")
    content: str | None = Field(description="What the memory should say; null if it is to be withdrawn.")
    reason: str
    asked_by: str = Field(description="The login that asks.")
    state: str = Field(description="open, done or refused.")
    answer: str


class Requests(FleetAnswer):
    """Requests, the latest first."""

    requests: list[RequestOut] = Field(default_factory=list)


class RequestIn(Strict):
    """What a robot is asked to do with a memory that it made."""

    robot: str = Field(min_length=1, max_length=MAX_NAME)
    memory: str = Field(min_length=1, max_length=MAX_NAME, description="Its id in the file of the robot, or its UUID.")
    content: str | None = Field(None, description="What the memory should say; null to withdraw it.")
    reason: str = Field(min_length=1, description="At most 2000 characters.")


class Asked(Value):
    """A request that the robot will answer."""

    request: int


def scopes_of(memory: RobotMemory, *, is_alone: bool) -> list[str]:
    """Return the scopes that a console can ask for, the usual one first."""
    if not isinstance(memory, FleetMemory):
        return [Scope.ROBOT.value]
    return [scope.value for scope in ((Scope.FLEET,) if is_alone else Scope)]


def fleet_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over the fleet of a memory; without one each says so."""
    router = APIRouter(prefix="/api/fleet", tags=["fleet"])

    @router.get("/robots", responses=responses(409))
    def robots() -> Robots:
        """Tell how each robot of the fleet stands that the login may see."""
        return Robots.model_validate(_answer(memory, "robots", _robots))

    def objects(**arguments: Any) -> dict[str, Any]:
        return _answer(memory, "objects", partial(_objects, request=SeenObjectsRequest(**arguments)))

    about = "List the objects of all maps that other robots know and this file has not, those seen last first."
    add_reading(router, "/objects", "objects", objects, FleetObjects, about=about, statuses=responses(409))

    @router.get("/memory/{robot}/{id}", responses=responses(404, 409))
    def details(robot: Annotated[Name, InPath()], memory_id: MemoryId) -> DetailsOut:
        """Return a memory of a robot in full, by its id in the file of the robot; raw data stay there."""
        full = _ask(memory, partial(_details, robot=robot, memory_id=memory_id))
        if full is None:
            raise NotThereError("id", memory_id, f"is the id of no memory of a robot {robot!r} that this login sees")
        return DetailsOut.model_validate(full)

    @router.get("/requests", responses=responses(409))
    def requests() -> Requests:
        """List the last requests to robots that the login may see, and what became of them."""
        return Requests.model_validate(_answer(memory, "requests", _requests))

    @router.post("/requests", responses=responses(409), status_code=201)
    def request(body: RequestIn) -> Asked:
        """Ask a robot to correct a memory that it made, or to withdraw it; the robot answers when it is there."""
        return Asked(request=_ask(memory, partial(_request, body=body), writes=True))

    return router


def _ask(memory: RobotMemory, work: Callable[[FleetMemory, Connection], T], *, writes: bool = False) -> T:
    if not isinstance(memory, FleetMemory):
        raise ConflictError("fleet_url", "", "is not set; start the console with --fleet-url URL")
    return memory.fleet.ask(partial(work, memory), _PATIENCE, writes=writes)()


def _answer(memory: RobotMemory, name: str, work: Callable[[FleetMemory, Connection], Any]) -> dict[str, Any]:
    # A fleet that does not answer is no error of the console: the page goes on with what the file has.
    try:
        return {name: _ask(memory, work)}
    except ConflictError:
        raise
    except RobotMemoryError as error:
        return {name: [], "reason": str(error)}


# What follows runs in a thread of the fleet, which tells if psycopg is missing.


def _robots(memory: FleetMemory, connection: Connection) -> list[dict[str, Any]]:
    from ..fleet.administration import status

    with memory.parts.database.snapshot() as snapshot:
        file = revisions.robot(snapshot)
    return [{**asdict(robot), "backlog": robot.backlog, "is_own": robot.file == file} for robot in status(connection)]


def _objects(memory: FleetMemory, connection: Connection, *, request: SeenObjectsRequest) -> list[SeenObject]:
    from ..fleet.memories import objects

    asker, is_all = memory.asker(is_of_both=True), request.include_unconfirmed
    return objects(connection, asker, memory.decay(), request.limit, include_unconfirmed=is_all)


def _details(memory: FleetMemory, connection: Connection, *, robot: str, memory_id: int) -> MemoryDetails | None:
    from ..fleet.memories import details

    return details(connection, robot, memory_id, memory.decay())


def _requests(memory: FleetMemory, connection: Connection) -> list[Request]:
    from ..fleet.requests import requests

    return requests(connection)


def _request(memory: FleetMemory, connection: Connection, *, body: RequestIn) -> int:
    from ..fleet.requests import ask

    return ask(connection, body.robot, body.memory, body.content, body.reason)
