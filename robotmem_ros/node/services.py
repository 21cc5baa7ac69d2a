"""The services: each converts a request, calls the core and converts the result back.

What may take its time runs in a worker thread or in the writer's, so that a slow request holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from rclpy.node import Node

from robotmem_ros.srv import Forget, GetData, Learn, ObjectHistory, Recall, Restore, SavePerception, Update

from ..memory import Learned, PerceptionData, RecallResult, RobotMemory, Sighting, Stored
from ..memory.errors import FrameMismatchError, RobotMemoryError
from . import conversions
from .frames import Point, Target
from .service_thread import ServiceThread
from .session_services import SessionServices
from .steps import then

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
        self._thread = ServiceThread(node)
        self._thread.add(Learn, "~/learn", self._learn, conversions.fill_learned)
        self._thread.add(SavePerception, "~/save_perception", self._save_perception, conversions.fill_stored)
        self._thread.add(Recall, "~/recall", self._recall, conversions.fill_recall)
        self._thread.add(Forget, "~/forget", self._forget, conversions.fill_nothing)
        self._thread.add(Restore, "~/restore", self._restore, conversions.fill_nothing)
        self._thread.add(Update, "~/update", self._update, conversions.fill_nothing)
        self._thread.add(ObjectHistory, "~/object_history", self._object_history, conversions.fill_history)
        self._thread.add(GetData, "~/get_data", self._get_data, conversions.fill_data)
        SessionServices(memory, self._workers).add_to(self._thread)
        self._thread.start()

    def close(self) -> None:
        """Takes no more requests, and ends the worker threads after those at hand."""
        self._thread.close()
        self._workers.shutdown()

    def _learn(self, request: Learn.Request) -> Future[Learned]:
        memory = self._memory()
        new = conversions.fact_from(request, memory.parameters, self._clock)
        return self._workers.submit(memory.learn_fact, new)

    def _save_perception(self, request: SavePerception.Request) -> Future[Stored]:
        memory = self._memory()
        return memory.store(conversions.perception_from(request.perception, memory.parameters, self._clock))

    def _recall(self, request: Recall.Request) -> Future[RecallResult]:
        memory = self._memory()
        question = conversions.question_from(request)
        first = self._workers.submit(lambda: memory.recall(**question))
        if not request.spatial_sort:
            return first
        target = conversions.target_from(request.spatial_sort[0], memory.parameters)

        def again(transformed: Future[Point]) -> Future[RecallResult]:
            sort = {**question["spatial_sort"], "target": transformed.result(), "frame_id": target.target}
            return self._workers.submit(lambda: memory.recall(**{**question, "spatial_sort": sort}))

        def in_memory_frame(done: Future[RecallResult]) -> Future[RecallResult]:
            if not isinstance(done.exception(), FrameMismatchError):
                return done
            return then(self._transformed(target), again)

        return then(first, in_memory_frame)

    def _forget(self, request: Forget.Request) -> Future[None]:
        memory = self._memory()
        return self._workers.submit(memory.forget, int(request.memory_id), request.reason)

    def _restore(self, request: Restore.Request) -> Future[None]:
        memory = self._memory()
        return self._workers.submit(memory.restore, int(request.memory_id))

    def _update(self, request: Update.Request) -> Future[None]:
        memory = self._memory()
        correction = conversions.correction_from(request)
        return self._workers.submit(lambda: memory.update(int(request.memory_id), **correction))

    def _object_history(self, request: ObjectHistory.Request) -> Future[tuple[Sighting, ...]]:
        n = min(int(request.n) or _HISTORY, _LONGEST_HISTORY)
        return self._workers.submit(self._memory().object_history, int(request.memory_id), n)

    def _get_data(self, request: GetData.Request) -> Future[PerceptionData]:
        return self._workers.submit(self._memory().data, int(request.memory_id))
