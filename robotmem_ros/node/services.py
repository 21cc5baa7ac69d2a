"""Serve the memory: convert each request, call the core and convert the result back, when it is there."""

from __future__ import annotations

import logging
from collections.abc import Callable
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
from ..perception import Placed
from . import conversions
from .conversions import RecallResponse
from .executors import CallbackThread
from .fields import fill
from .perception_topic import Place
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
        place: Place,
        clock: conversions.Clock,
        *,
        workers: int,
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._transform = transform
        self._place = place
        self._workers = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="memory-service")
        self._thread = CallbackThread(node, "memory-requests")
        for kind, name, begin, fill_response in self._table():
            serve(node, self._thread, kind, name, begin=begin, fill=fill_response)
        self._thread.start()

    def _table(self) -> tuple[tuple[Any, str, Callable[[Any], Future[Any]], Callable[[Any, Any], object]], ...]:
        stamped = partial(conversions.stamped_fields, clock=self._clock)
        return (
            (srv.Learn, "~/learn", self._calling("learn", stamped), fill),
            (srv.SavePerception, "~/save_perception", self._save_perception, fill),
            (srv.Recall, "~/recall", self._recall, conversions.fill_found),
            (srv.Timeline, "~/timeline", self._calling("timeline"), fill),
            (srv.GetMemories, "~/get_memories", self._calling("get_memories"), fill),
            (srv.List, "~/list", self._calling("counts"), conversions.fill_counts),
            (srv.ListTags, "~/list_tags", self._calling("tags.all"), _into("tags")),
            (srv.AddTag, "~/add_tag", self._calling("tags.add"), fill),
            (srv.RenameTag, "~/rename_tag", self._calling("tags.rename"), fill),
            (srv.RemoveTag, "~/remove_tag", self._calling("tags.remove"), fill),
            (srv.Forget, "~/forget", self._calling("forget"), fill),
            (srv.Look, "~/look", self._calling("look", stamped), _into("gone")),
            (srv.Restore, "~/restore", self._calling("restore"), fill),
            (srv.Update, "~/update", self._calling("update", conversions.update_fields), fill),
            (srv.ObjectHistory, "~/object_history", self._calling("object_history"), _into("sightings")),
            (srv.Approach, "~/approach", self._calling("maps.approach"), conversions.fill_approach),
            (srv.GetData, "~/get_data", self._calling("data"), fill),
            (srv.StartSession, "~/start_session", self._calling("sessions.start"), fill),
            (srv.EndSession, "~/end_session", self._calling("sessions.end"), conversions.fill_report),
            (srv.Consolidate, "~/consolidate", self._calling("sessions.consolidate"), fill),
            (srv.Doctor, "~/doctor", self._calling("doctor"), _into("findings")),
        )

    def close(self) -> None:
        """Take no more requests, and end the worker threads after those at hand."""
        self._thread.close(DEPTH)
        self._workers.shutdown()

    def _calling(
        self, verb: str, read: Callable[[Any], dict[str, Any]] = conversions.arguments_of
    ) -> Callable[[Any], Future[Any]]:
        def begin(request: Any) -> Future[Any]:
            arguments = read(request)
            return self._submit(lambda memory: attrgetter(verb)(memory)(**arguments))

        return begin

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
        return then(stored, lambda future: _completed(replace(future.result(), reason=reason)))

    def _recall(self, request: srv.Recall.Request) -> Future[RecallResponse]:
        parameters = self._memory().parameters
        targets = {
            f"{name}.target": conversions.target_from(name, message, parameters)
            for name in _PLACES
            for message in getattr(request, name)
        }
        query = conversions.arguments_of(request)
        frame = conversions.result_frame_from(query.pop("result_frame"), parameters)
        if frame is None:
            return self._recall_in(query, targets)

        def in_frame(timed: TimedTransform, found: Future[RecallResponse]) -> Future[RecallResponse]:
            return _completed(found.result().in_frame(frame, timed, parameters.map_id))

        return then(
            self._transform(frame),
            lambda timed: then(self._recall_in(query, targets), partial(in_frame, timed.result())),
        )

    def _recall_in(self, query: dict[str, Any], targets: dict[str, Target]) -> Future[RecallResponse]:
        # A target in another frame becomes one in the memory frame, one after the other.
        def again(target: Target, name: str, timed: Future[TimedTransform]) -> Future[RecallResponse]:
            point = timed.result().transform.apply((*query[name]["target"], 0.0)[:3])
            place = {**query[name], "target": point, "frame_id": target.target}
            rest = {field: other_target for field, other_target in targets.items() if other_target is not target}
            return self._recall_in({**query, name: place}, rest)

        def in_memory_frame(future: Future[RecallResponse]) -> Future[RecallResponse]:
            error = future.exception()
            if not isinstance(error, FrameMismatchError) or error.field not in targets:
                return future
            target = targets[error.field]
            return then(self._transform(target), partial(again, target, error.field.partition(".")[0]))

        return then(self._submit(partial(recall, **query)), in_memory_frame)


def _into(field: str) -> Callable[[Any, Any], object]:
    # Fills a response with a result that is the value of a single field.
    return lambda response, result: fill(response, **{field: result})


def recall(memory: RobotMemory, *, brief: bool, **query: Any) -> RecallResponse:
    """Recall memories in full or in brief, with the arguments of the core; raise the same errors."""
    result = memory.recall(caller="service", **query)
    hits, in_brief = ((), result.brief()) if brief else (result.hits, ())
    return RecallResponse(hits, in_brief, result.mode, result.reason, result.relevant)


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
            _complain(node, f"a request of {name} failed: {error!r}")
            response = kind.Response(success=False, error=encodable(f"internal error: {error!r}"))
        try:
            send(response, header)
        except RuntimeError as error:
            _complain(node, f"an answer of {name} could not be sent: {error}")

    qos = QoSProfile(depth=DEPTH, reliability=QoSReliabilityPolicy.RELIABLE)
    service = node.create_service(kind, name, take, qos_profile=qos, callback_group=thread.group)
    send = service.send_response
    # An executor sends what the callback returns. Here that is a future, and the response follows when it is done. A
    # coroutine would need turns of the executor, and keeps EventsExecutor of Kilted busy while it waits.
    service.send_response = lambda result, header: result.add_done_callback(partial(answer, header))
    thread.add(service)


def _completed(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future


def _complain(node: Node, trouble: str) -> None:
    node.get_logger().error(trouble)


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
