"""Answer from the robot's own file, from its fleet, or from both, as the scope of a request says.

This is the one place where verbs choose. What the fleet does not answer within the deadline, the robot answers from
its own file, and says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..memory import robot_memory, validation
from ..memory.conditions.condition import Condition
from ..memory.conditions.spatial import SinceLastVisit
from ..memory.embedding import ModelUnavailableError
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.robot_memory import RobotMemory
from ..memory.search.counts import Count, CountQuery, Counts, parse_counts
from ..memory.search.query import Query, parse_query
from ..memory.search.request import (
    MAX_COUNTS,
    MAX_DEADLINE,
    CountField,
    CountsRequest,
    RecallRequest,
    Scope,
    Scoped,
    TimelineRequest,
)
from ..memory.search.result import Mode, RecallResult
from ..memory.search.timeline import Position, Timeline, TimelineEntry, parse_timeline
from ..memory.status import Status
from ..memory.storage import revisions, tag_rows
from ..memory.table.view import complete
from ..memory.text.normal_form import label_key
from .client import FleetClient

if TYPE_CHECKING:
    from .ask import Asker
    from .connection import Connection

T = TypeVar("T")
U = TypeVar("U")


R = TypeVar("R", bound=Scoped)


@dataclass(frozen=True)
class _Call(Generic[R, T]):
    """A call of a verb: whom it asks, and what."""

    request: R
    own: Callable[[R], T]
    """Answers a request from the robot's own file."""
    scope: Scope
    deadline: float

    @property
    def is_of_both(self) -> bool:
        return self.scope is Scope.BOTH

    def ask_robot(self) -> T:
        return self.own(replace(self.request, scope=Scope.ROBOT.value))


def _answer(
    memory: FleetMemory,
    call: _Call[Any, T],
    ask: Callable[[Connection], U],
    join: Callable[[T | None, U], T],
    say: Callable[[T, str], T],
) -> T:
    # What the fleet says, joined with what the robot knows if both are asked; or that alone, and why.
    answer = memory.fleet.ask(ask, call.deadline)
    local = call.ask_robot() if call.is_of_both else None
    try:
        remote = answer()
    except RobotMemoryError as error:
        return say(call.ask_robot() if local is None else local, f"{error}; this is what the robot knows")
    return join(local, remote)


def _recall(memory: FleetMemory, call: _Call[RecallRequest, RecallResult]) -> RecallResult:
    parts = memory.parts
    query = parse_query(
        memory.parameters, call.request, decay=memory.decay(), areas=parts.areas.by_name, places=parts.places
    )
    query = replace(query, conditions=memory.complete(query.conditions))

    def ask(connection: Connection) -> RecallResult:
        from .recall import recall

        return recall(connection, query, memory.asker(query.text, is_of_both=call.is_of_both))

    def join(local: RecallResult | None, remote: RecallResult) -> RecallResult:
        return _merge(local, remote, query) if local is not None else say(remote, query.cut)

    def say(result: RecallResult, reason: str) -> RecallResult:
        return replace(result, reason="; ".join(filter(None, (reason, result.reason))))

    return _answer(memory, call, ask, join, say)


def _timeline(memory: FleetMemory, call: _Call[TimelineRequest, Timeline]) -> Timeline:
    query = parse_timeline(memory.parameters, call.request, decay=memory.decay(), areas=memory.parts.areas.by_name)

    def ask(connection: Connection) -> list[tuple[TimelineEntry, bytes]]:
        from .timeline import timeline

        return timeline(connection, query, memory.asker(is_of_both=call.is_of_both))

    def join(local: Timeline | None, remote: list[tuple[TimelineEntry, bytes]]) -> Timeline:
        keys = [(entry.observed_at, entry.id, uuid, entry) for entry, uuid in remote]
        keys += [(entry.observed_at, entry.id, bytes(16), entry) for entry in local or ()]
        keys.sort(key=lambda key: key[:3], reverse=not query.oldest_first)
        page = keys[: query.n]
        is_last = len(keys) <= query.n and not (local and local.cursor)
        cursor = "" if is_last else Position(query.oldest_first, *page[-1][:3]).cursor()
        return Timeline(tuple(entry for *_, entry in page), cursor)

    return _answer(memory, call, ask, join, lambda local, reason: replace(local, reason=reason))


def _counts(memory: FleetMemory, call: _Call[CountsRequest, Counts]) -> Counts:
    query = parse_counts(call.request)
    # All of them: what is seldom on the robot may be frequent elsewhere.
    whole = replace(call, request=replace(call.request, n=MAX_COUNTS))

    def ask(connection: Connection) -> list[Count]:
        from .counts import counts

        return counts(connection, query, memory.asker(is_of_both=call.is_of_both), memory.parts.areas.by_name())

    def join(local: Counts | None, remote: list[Count]) -> Counts:
        sums = {_key(query, count): count for count in local or ()}
        for count in remote:
            name, number = sums.get(_key(query, count), Count(count.value, 0))
            sums[_key(query, count)] = Count(name, number + count.memories)
        return Counts.of(sums.values(), query.n)

    return _answer(memory, whole, ask, join, lambda local, reason: Counts.of(local, query.n, reason))


def _key(query: CountQuery, count: Count) -> str:
    return label_key(count.value) if query.field is CountField.LABELS else count.value


class FleetMemory(RobotMemory):
    """A memory that also answers from the fleet that the parameter `fleet_url` names."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fleet = FleetClient(self.parameters.fleet_url)
        self.attach(self.fleet)

    def _recall(self, request: RecallRequest) -> RecallResult:
        return self._choose(request, super()._recall, _recall)

    def _timeline(self, request: TimelineRequest) -> Timeline:
        return self._choose(request, super()._timeline, _timeline)

    def _counts(self, request: CountsRequest) -> Counts:
        return self._choose(request, super()._counts, _counts)

    def _choose(self, request: R, own: Callable[[R], T], beyond: Callable[[FleetMemory, _Call[R, T]], T]) -> T:
        scope = Scope.of(request.scope)
        if scope is not Scope.ROBOT and (habit := getattr(request, "usually_at", None)):
            raise InvalidFieldError("usually_at", habit, f"is asked of the robot alone, not of {scope.value!r}")
        deadline = validation.number("deadline", request.deadline, low=0.0, high=MAX_DEADLINE)
        call = _Call(request, own, scope, deadline)
        return call.ask_robot() if scope is Scope.ROBOT else beyond(self, call)

    def follow(self) -> None:
        """Send what changes to the fleet, and store what others know, until the memory is closed.

        Raises:
            FleetError: the URL cannot be used.
        """
        self.fleet.follow(self)

    def status(self) -> Status:
        """Return what the memory holds now, and what is missing; ask the fleet for a second, if nothing follows it."""
        status = super().status()
        backlog, trouble = self.fleet.standing(self)
        reason = "; ".join(filter(None, (status.reason, trouble)))
        return replace(status, fleet_backlog=backlog, fleet_trouble=trouble, reason=reason)

    def complete(self, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
        """Return conditions with what only the robot's own file tells of them."""
        return tuple(
            self._access.ask(complete, condition) if isinstance(condition, SinceLastVisit) else condition
            for condition in conditions
        )

    def asker(self, text: str = "", *, is_of_both: bool) -> Asker:
        """Return who asks for a text; what both know is told by the robot alone."""
        from .ask import Asker

        vector, reason, embedder = None, "", self.parts.embedder
        if text:
            try:
                vector = embedder.embed_query(text)
            except ModelUnavailableError as error:
                reason = str(error)
        parents, file = self._access.read(tag_rows.parents), self._access.read(revisions.robot)
        robots = self._access.ask(lambda view: view.others) if is_of_both else None
        return Asker(self.parameters, vector, embedder.identity, reason, parents, file, robots)


def open_memory(
    db_path: str | os.PathLike[str] | None = None, collection: str = "default", **options: Any
) -> RobotMemory:
    """Open a memory with all that its parameters name, its fleet included; see `memory.robot_memory`.

    Raises:
        DatabaseUnusableError: the database cannot be opened.
        InvalidFieldError: a parameter cannot be used.
    """
    return robot_memory.open_memory(
        db_path, collection, opens=FleetMemory if options.get("fleet_url") else None, **options
    )


def _merge(local: RecallResult, remote: RecallResult, query: Query) -> RecallResult:
    # The relevance is computed alike on both sides, and so are distances and times; scores are not.
    hits = [*local, *remote]
    if query.spatial_sort is not None:
        hits.sort(key=lambda hit: hit.distance)
    elif query.text:
        hits.sort(key=lambda hit: -hit.relevance)
        best = hits[0].relevance if hits else 0.0
        hits = [replace(hit, score=hit.relevance / best if best else 1.0) for hit in hits]
    else:
        hits.sort(key=lambda hit: -hit.memory.observed_at)
    modes = {result.mode for result in (local, remote) if result} or {local.mode}
    return RecallResult(
        tuple(hits[: query.n]), modes.pop() if len(modes) == 1 else Mode.HYBRID,
        "; ".join(dict.fromkeys(filter(None, (local.reason, remote.reason)))), local.relevant or remote.relevant,
        {**remote.words, **local.words},
    )  # fmt: skip
