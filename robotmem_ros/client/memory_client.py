"""Call the verbs of a memory of a node, over its services."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from builtin_interfaces.msg import Time as TimeMessage
from rclpy.node import Node
from rclpy.time import Time as RclpyTime

from robotmem_ros import srv

from ..memory import Match, RobotMemoryError
from ..memory.argument import Verbs
from ..memory.times import moment
from ..memory.validation import number
from ..memory.verbs.requests import WatchRequest
from ..memory.verbs.sessions import Sessions
from ..memory.verbs.table import OWNERS
from ..memory.verbs.written import MapVerbs, MemoryVerbs, SessionVerbs, TagVerbs
from ..messages.fields import time_from
from ..messages.responses import error_of
from ..messages.verbs import LONG_VERBS, VERBS, Verb
from .connection import Answer, Connection
from .long_work import LongWork, Told
from .long_work import begin as begin_work
from .watch import Watch, begin_watch

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT = 5.0
"""Seconds until a verb gives up, unless the program says otherwise."""


class _Calls(Verbs):
    """What all verbs share: a connection, and how long to wait for an answer.

    Args:
        connection: The connection to the node.
        timeout: Seconds until a verb gives up.
    """

    is_asynchronous: ClassVar[bool] = False
    """Whether verbs return an answer to await, and not its result."""

    def __init_subclass__(cls, part: str | None = None) -> None:
        """Take the verbs of a part of a memory: those of the table call their services, all others are refused."""
        super().__init_subclass__()
        if part is not None:
            served = {verb.path: verb for verb in VERBS}
            for name in vars(OWNERS[part]):
                if not name.startswith("_"):
                    path = f"{part}.{name}" if part else name
                    setattr(cls, f"_{name}", _calling(served[path]) if path in served else _refusing(path))

    def __init__(self, connection: Connection, timeout: float) -> None:
        self.connection, self.timeout = connection, number("timeout", timeout, low=0.0)

    def moment(self, field: str, value: object) -> int:
        """Return a time in nanoseconds since the epoch: `now` is that of the clock of the program's node.

        Raises:
            InvalidFieldError: it is no time, see `robotmem_ros.memory.times.Time`, nor one of ROS.
        """
        if isinstance(value, RclpyTime):
            return int(value.nanoseconds)
        if isinstance(value, TimeMessage):
            return time_from(field, value) or 0
        return moment(field, value, self.connection.now())

    def call(self, verb: Verb, request: Any) -> Any:
        """Call the service of a verb with its request."""

        def result(response: Any) -> Any:
            if not response.success:
                raise error_of(response.error, request)
            return verb.result(request, response)

        answer = self.connection.begin(
            verb.name, verb.fill_request(verb.service.Request(), request), result, self.timeout
        )
        return answer if self.is_asynchronous else self.connection.wait(answer)


def _calling(verb: Verb) -> Callable[[_Calls, Any], Any]:
    """Return the method to which a verb gives its request: it calls a service."""
    return lambda self, request: self.call(verb, request)


def _refusing(verb: str) -> Callable[[Any, Any], Any]:
    """Return the method of a verb that no service has."""
    other = f"work({verb!r}, ...) does" if verb in LONG_VERBS else "RobotMemory does, on the file"

    def refuse(self: Any, request: Any) -> Any:
        raise RobotMemoryError(f"{verb}: no service of the node does this; {other}")

    return refuse


def _awaited(verb: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Answer[T]]:
    """Return the same verb for a class that is asynchronous."""
    return verb  # type: ignore[return-value]


class ClientSessions(_Calls, SessionVerbs, part="sessions"):
    """The sessions of the memory of a node, `memory.sessions`."""

    open = Sessions.open


class ClientTags(_Calls, TagVerbs, part="tags"):
    """The tags of the memory of a node, `memory.tags`."""


class ClientMaps(_Calls, MapVerbs, part="maps"):
    """What the memory of a node knows of the floor, `memory.maps`."""


class MemoryClient(_Calls, MemoryVerbs, part=""):
    """The memory of a node, with the verbs of `RobotMemory`, each of which waits for its result.

    It may be called everywhere: in a callback of `node`, whatever its executor, before it spins, in several threads.
    Values are those of `RobotMemory`; a time may be one of ROS as well, a place or pose a message of geometry_msgs.
    What a request cannot carry is an error that says so. A context manager that closes itself.

    Each verb raises the errors of `RobotMemory`, and NoAnswerError if its service is not there, or does not respond,
    within `timeout` seconds.

    Args:
        node: The node of the program: its context, namespace, remappings and clock are used.
        name: Name of the memory node, in the namespace of `node` unless it begins with a slash.
        timeout: Seconds that a verb waits for its service and the response together.
        connection: The connection of another client, to share it; then `name` means nothing.

    Raises:
        InvalidFieldError: the timeout is no number of seconds.
    """

    def __init__(
        self, node: Node, name: str = "memory", *, timeout: float = TIMEOUT, connection: Connection | None = None
    ) -> None:
        self.node = node
        super().__init__(connection or _connected(node, name), timeout)
        self.sessions, self.tags = ClientSessions(self.connection, timeout), ClientTags(self.connection, timeout)
        self.maps = ClientMaps(self.connection, timeout)
        self.start_session, self.end_session = self.sessions.start, self.sessions.end

    @property
    def asynchronous(self) -> AsyncMemoryClient:
        """Return a client of the same connection whose verbs return at once, with an answer to await."""
        return AsyncMemoryClient(self.node, timeout=self.timeout, connection=self.connection)

    def within(self, timeout: float) -> MemoryClient:
        """Return a client of the same connection that waits so many seconds: `memory.within(0.2).recall("mug")`.

        Raises:
            InvalidFieldError: it is no number of seconds.
        """
        return MemoryClient(self.node, timeout=timeout, connection=self.connection)

    def watch(self, on_match: Callable[[Match], object], **conditions: Any) -> Watch:
        """Call a function with what satisfies some conditions, as it comes, changes and goes, until the watch ends.

        `conditions` are the arguments of `RobotMemory.watch`: those of a recall, and `after`. The function is called by
        the executor of the node of the program.

        Raises:
            InvalidFieldError: a condition cannot be used.
            NoAnswerError: the service is not there, or does not respond.
        """
        request = WatchRequest(**conditions)
        return self.connection.wait(begin_watch(self.node, self.connection, request, on_match, self.timeout))

    def work(self, verb: str, on_feedback: Told = lambda share, text: None, **arguments: Any) -> LongWork:
        """Have the node do what takes long, such as `work("purge", session_id="4e1f02c2")`; return it while it goes on.

        `verb` is backup, learn_many, purge, save_many or sessions.consolidate, with the arguments of `RobotMemory` as
        JSON has them. `on_feedback(share, text)` is called in the thread of the client.

        Raises:
            NoAnswerError: the action is not there, or does not respond.
        """
        return self.connection.wait(begin_work(self.connection, verb, arguments, self.timeout, on_feedback))

    def close(self) -> None:
        """Leave the graph; what still waits gets a MemoryClosedError. A second call does nothing."""
        self.connection.close()

    def __enter__(self) -> MemoryClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClientSessions(_Calls, part="sessions"):
    """The sessions of the memory of a node, with answers to await."""

    is_asynchronous = True
    start = _awaited(SessionVerbs.start)
    end = _awaited(SessionVerbs.end)
    consolidate = _awaited(SessionVerbs.consolidate)


class AsyncClientTags(_Calls, part="tags"):
    """The tags of the memory of a node, with answers to await."""

    is_asynchronous = True
    all = _awaited(TagVerbs.all)
    add = _awaited(TagVerbs.add)
    rename = _awaited(TagVerbs.rename)
    remove = _awaited(TagVerbs.remove)


class AsyncClientMaps(_Calls, part="maps"):
    """What the memory of a node knows of the floor, with answers to await."""

    is_asynchronous = True
    approach = _awaited(MapVerbs.approach)


class AsyncMemoryClient(_Calls, part=""):
    """The same with verbs that return at once: `await` an answer in asyncio or in rclpy, or ask it for its `result()`.

    An argument that cannot be used is an error of the call, and what the node says one of the answer. The arguments of
    the constructor are those of MemoryClient.
    """

    is_asynchronous = True
    learn = _awaited(MemoryVerbs.learn)
    save_perception = _awaited(MemoryVerbs.save_perception)
    recall = _awaited(MemoryVerbs.recall)
    timeline = _awaited(MemoryVerbs.timeline)
    get_memories = _awaited(MemoryVerbs.get_memories)
    counts = _awaited(MemoryVerbs.counts)
    forget = _awaited(MemoryVerbs.forget)
    restore = _awaited(MemoryVerbs.restore)
    update = _awaited(MemoryVerbs.update)
    events = _awaited(MemoryVerbs.events)
    object_history = _awaited(MemoryVerbs.object_history)
    look = _awaited(MemoryVerbs.look)
    data = _awaited(MemoryVerbs.data)
    doctor = _awaited(MemoryVerbs.doctor)

    def __init__(
        self, node: Node, name: str = "memory", *, timeout: float = TIMEOUT, connection: Connection | None = None
    ) -> None:
        self.node = node
        super().__init__(connection or _connected(node, name), timeout)
        self.sessions = AsyncClientSessions(self.connection, timeout)
        self.tags, self.maps = AsyncClientTags(self.connection, timeout), AsyncClientMaps(self.connection, timeout)
        self.start_session, self.end_session = self.sessions.start, self.sessions.end

    def watch(self, on_match: Callable[[Match], object], **conditions: Any) -> Answer[Watch]:
        """Begin a watch, with the arguments of `MemoryClient.watch`."""
        return begin_watch(self.node, self.connection, WatchRequest(**conditions), on_match, self.timeout)

    def work(self, verb: str, on_feedback: Told = lambda share, text: None, **arguments: Any) -> Answer[LongWork]:
        """Begin what takes long, with the arguments of `MemoryClient.work`."""
        return begin_work(self.connection, verb, arguments, self.timeout, on_feedback)

    def close(self) -> None:
        """Leave the graph; what still waits gets a MemoryClosedError. A second call does nothing."""
        self.connection.close()


def _connected(node: Node, name: str) -> Connection:
    return Connection(node, name, {verb.name: verb.service for verb in VERBS} | {"watch": srv.Watch})
