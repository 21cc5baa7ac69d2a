"""Serve the memory: convert each request, call the core and convert the result back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.node import Node

from robotmem_ros.srv import (
    Consolidate,
    EndSession,
    Forget,
    GetData,
    Learn,
    ObjectHistory,
    Recall,
    Restore,
    SavePerception,
    StartSession,
    Update,
)

from ..memory import Learned, RecallResult, RobotMemory, Sighting, Stored
from ..memory.errors import FrameMismatchError, RobotMemoryError
from . import conversions
from .conversions import fields_of, fill
from .executors import CallbackThread
from .service import DEPTH, serve, then
from .transforms import Point, Target

_HISTORY, _LONGEST_HISTORY = 100, 10_000
T = TypeVar("T")
Memory = Callable[[], RobotMemory]
"""Gives the memory of the active node, or raises NotActiveError."""
Transformed = Callable[[Target], Future[Point]]
"""Gives a point in another frame, now or when its transform has come."""


class NotActiveError(RobotMemoryError):
    """The node has no memory to serve with now."""

    def __init__(self, state: str, why: str) -> None:
        super().__init__(f"the node is {state}, not active" + (f": {why}" if why else ""))


class Services:
    """All services, under the node's own name."""

    def __init__(
        self, node: Node, memory: Memory, transformed: Transformed, clock: conversions.Clock, workers: int
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._transformed = transformed
        self._workers = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="memory-service")
        self._thread = CallbackThread(node, "memory-requests")
        for kind, name, begin, filled in self._table():
            serve(node, self._thread, kind, name, begin=begin, fill=filled)
        self._thread.start()

    def _table(self) -> tuple[tuple[Any, str, Callable[[Any], Future[Any]], Callable[[Any, Any], object]], ...]:
        return (
            (Learn, "~/learn", self._learn, fill),
            (SavePerception, "~/save_perception", self._save_perception, fill),
            (Recall, "~/recall", self._recall, fill),
            (Forget, "~/forget", self._calling(RobotMemory.forget), fill),
            (Restore, "~/restore", self._calling(RobotMemory.restore), fill),
            (Update, "~/update", self._update, fill),
            (ObjectHistory, "~/object_history", self._object_history, conversions.fill_history),
            (GetData, "~/get_data", self._calling(RobotMemory.data), fill),
            (StartSession, "~/start_session", self._calling(RobotMemory.start_session), fill),
            (EndSession, "~/end_session", self._calling(RobotMemory.end_session), conversions.fill_report),
            (Consolidate, "~/consolidate", self._calling(RobotMemory.consolidate), fill),
        )

    def close(self) -> None:
        """Take no more requests, and end the worker threads after those at hand."""
        self._thread.close(DEPTH)
        self._workers.shutdown()

    def _calling(self, verb: Callable[..., T]) -> Callable[[Any], Future[T]]:
        # A request that has the names and values of the verb's arguments.
        def begin(request: Any) -> Future[T]:
            return self._workers.submit(verb, self._memory(), **fields_of(request))

        return begin

    def _learn(self, request: Learn.Request) -> Future[Learned]:
        return self._workers.submit(self._memory().learn, **conversions.learn_fields(request, self._clock))

    def _update(self, request: Update.Request) -> Future[None]:
        return self._workers.submit(self._memory().update, **conversions.update_fields(request))

    def _save_perception(self, request: SavePerception.Request) -> Future[Stored]:
        memory = self._memory()
        return memory.store(conversions.perception_from(request.perception, memory.parameters, self._clock))

    def _recall(self, request: Recall.Request) -> Future[RecallResult]:
        memory = self._memory()
        query = fields_of(request)
        first = self._workers.submit(lambda: memory.recall(**query))
        if not request.spatial_sort:
            return first
        target = conversions.target_from(request.spatial_sort[0], memory.parameters)

        def again(transformed: Future[Point]) -> Future[RecallResult]:
            sort = {**query["spatial_sort"], "target": transformed.result(), "frame_id": target.target}
            return self._workers.submit(lambda: memory.recall(**{**query, "spatial_sort": sort}))

        def in_memory_frame(done: Future[RecallResult]) -> Future[RecallResult]:
            if not isinstance(done.exception(), FrameMismatchError):
                return done
            return then(self._transformed(target), again)

        return then(first, in_memory_frame)

    def _object_history(self, request: ObjectHistory.Request) -> Future[tuple[Sighting, ...]]:
        n = min(int(request.n) or _HISTORY, _LONGEST_HISTORY)
        return self._workers.submit(self._memory().object_history, int(request.memory_id), n)
