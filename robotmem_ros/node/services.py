"""Serve the memory: convert each request, call the core and convert the result back, when it is there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy

from robotmem_ros import srv

from ..memory import RobotMemory, Stored
from ..memory.errors import FrameMismatchError, MemoryClosedError, RobotMemoryError, encodable
from ..memory.threads import completed
from ..messages.fields import fill
from ..messages.requests import Clock, arguments_of
from ..messages.responses import Found
from ..messages.verbs import VERBS, Verb
from ..perception import Placed, PlacePerception
from . import conversions
from .events import OpenWatch
from .executors import CallbackThread
from .transforms import Target, TimedTransform

_LOG = logging.getLogger(__name__)
DEPTH = 1000
"""Requests that may wait: the usual depth of 10 would lose what a burst holds beyond, and its callers would wait."""
_PLACES = ("spatial_sort", "near", "since_last_visit")
S = TypeVar("S")
T = TypeVar("T")
Memory = Callable[[], RobotMemory]
"""Function that returns the memory of the active node, or raises NotActiveError."""
Transforming = Callable[[Target], Future[TimedTransform]]
"""Function that returns the transform that a request asks for, now or when it has come."""


SHUTTING_DOWN = "shutting down"
"""State of a node that ends."""


class NotActiveError(RobotMemoryError):
    """The node has no memory to serve with now."""

    def __init__(self, state: str, problem: str) -> None:
        is_ending = state == SHUTTING_DOWN
        ending = f": {problem}" if problem else ""
        super().__init__(f"the node is {state}{'' if is_ending else ', not active'}{ending}")


class Services:
    """All services, under the node's own name."""

    def __init__(
        self,
        node: Node,
        memory: Memory,
        transform: Transforming,
        place: PlacePerception,
        clock: Clock,
        *,
        watch: Callable[[Mapping[str, Any]], OpenWatch],
        workers: int,
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._transform = transform
        self._place = place
        self._watch = watch
        self._workers = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="memory-service")
        self._thread = CallbackThread(node, "memory-requests")
        begins: dict[str, Callable[[Any], Future[Any]]] = {
            "save_perception": self._save_perception,
            "recall": self._recall,
        }
        for verb in VERBS:
            begin = begins.get(verb.path) or partial(self._begin, verb)
            serve(node, self._thread, verb.service, f"~/{verb.name}", begin=begin, fill=verb.into)
        serve(node, self._thread, srv.Watch, "~/watch", begin=self._begin_watch, fill=fill)
        self._thread.start()

    def close(self) -> None:
        """Take no more requests, and end the worker threads after those at hand."""
        self._thread.close(DEPTH)
        self._workers.shutdown()

    def _begin(self, verb: Verb, request: Any) -> Future[Any]:
        arguments = verb.arguments(request, self._clock)
        return self._submit(lambda memory: attrgetter(verb.path)(memory)(**arguments))

    def _begin_watch(self, request: srv.Watch.Request) -> Future[OpenWatch]:
        arguments = arguments_of(request, self._clock)
        return self._submit(lambda memory: self._watch(arguments))

    def _submit(self, work: Callable[[RobotMemory], T]) -> Future[T]:
        # Refused at once by a node that is not active, and by one that no longer is when a worker is free.
        self._memory()
        return self._workers.submit(self._call, work)

    def _call(self, work: Callable[[RobotMemory], T]) -> T:
        memory = self._memory()
        try:
            return work(memory)
        except MemoryClosedError:
            self._memory()  # it says why it was closed
            raise

    def _save_perception(self, request: srv.SavePerception.Request) -> Future[Stored]:
        new = conversions.perception_from(request.perception, self._memory().parameters, self._clock, source="service")
        return then(self._place(new), self._store)

    def _store(self, placed: Future[Placed]) -> Future[Stored]:
        new, reason = placed.result()
        stored = self._call(lambda memory: memory.store(new))
        return then(stored, lambda future: completed(replace(future.result(), reason=reason)))

    def _recall(self, request: srv.Recall.Request) -> Future[Found]:
        parameters = self._memory().parameters
        targets = {
            f"{name}.target": conversions.target_from(name, message, parameters)
            for name in _PLACES
            for message in getattr(request, name)
        }
        query = arguments_of(request, self._clock)
        frame = conversions.result_frame_from(query.pop("result_frame"), parameters)
        if frame is None:
            return self._recall_in(query, targets)

        def in_frame(timed: TimedTransform, found: Future[Found]) -> Future[Found]:
            return completed(conversions.in_frame(found.result(), frame, timed, parameters.map_id))

        return then(
            self._transform(frame),
            lambda timed: then(self._recall_in(query, targets), partial(in_frame, timed.result())),
        )

    def _recall_in(self, query: dict[str, Any], targets: dict[str, Target]) -> Future[Found]:
        # A target in another frame becomes one in the memory frame, one after the other.
        def again(target: Target, name: str, timed: Future[TimedTransform]) -> Future[Found]:
            point = timed.result().transform.apply((*query[name]["target"], 0.0)[:3])
            place = {**query[name], "target": point, "frame_id": target.target}
            rest = {field: other_target for field, other_target in targets.items() if field != target.field}
            return self._recall_in({**query, name: place}, rest)

        def in_memory_frame(future: Future[Found]) -> Future[Found]:
            error = future.exception()
            if not isinstance(error, FrameMismatchError) or error.field not in targets:
                return future
            target = targets[error.field]._replace(hint=error.reason)
            return then(self._transform(target), partial(again, target, error.field.partition(".")[0]))

        return then(self._submit(partial(recall, **query)), in_memory_frame)


def recall(memory: RobotMemory, *, brief: bool, **query: Any) -> Found:
    """Recall memories in full or in brief, with the arguments of the core; raise the same errors."""
    result = memory.recall(caller="service", **query)
    hits, in_brief = ((), result.brief()) if brief else (result.hits, ())
    return Found(hits, in_brief, result.mode, result.reason, result.relevant)


def serve(
    node: Node, thread: CallbackThread, kind: Any, name: str, *,
    begin: Callable[[Any], Future[T]], fill: Callable[[Any, T], object],
) -> None:  # fmt: skip
    """Create a service. A bad request is answered with its error; nothing leaves a caller waiting.

    `begin` takes the request, in `thread`, and must not wait; `fill` writes the result into the response, in the
    thread that has it.
    """

    def take(request: Any, response: Any) -> Future[T]:
        thread.count()
        try:
            return begin(request)
        except Exception as error:
            future: Future[T] = Future()
            future.set_exception(error)
            return future

    def answer(header: Any, future: Future[T]) -> None:
        response = kind.Response()
        try:
            fill(response, future.result())
            response.success = True
        except RobotMemoryError as error:
            _LOG.debug("%s rejected: %s", name, error)
            response = kind.Response(success=False, error=encodable(str(error)))
        except Exception as error:
            node.get_logger().error(f"a request of {name} failed: {error!r}")
            response = kind.Response(success=False, error=encodable(f"internal error: {error!r}"))
        try:
            send(response, header)
        except RuntimeError as error:
            node.get_logger().error(f"an answer of {name} could not be sent: {error}")

    qos = QoSProfile(depth=DEPTH, reliability=QoSReliabilityPolicy.RELIABLE)
    service = node.create_service(kind, name, take, qos_profile=qos, callback_group=thread.group)
    send = service.send_response
    # An executor sends what the callback returns. Here that is a future, and the response follows when it is done. A
    # coroutine would need turns of the executor, and keeps EventsExecutor of Kilted busy while it waits.
    service.send_response = lambda result, header: result.add_done_callback(partial(answer, header))
    thread.add(service)


def then(first: Future[S], step: Callable[[Future[S]], Future[T]]) -> Future[T]:
    """Give the result of what `step` begins with `first`, once that is done; an error of `step` itself is the result.

    `step` runs in the thread that has the result of `first`, and must not wait.
    """
    result: Future[T] = Future()

    def begin(future: Future[S]) -> None:
        try:
            step(future).add_done_callback(finish)
        except Exception as error:
            result.set_exception(error)

    def finish(future: Future[T]) -> None:
        error = future.exception()
        if error is None:
            result.set_result(future.result())
        else:
            result.set_exception(error)

    first.add_done_callback(begin)
    return result
