"""Serve the memory: convert each request, call the core and convert the result back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rclpy.node import Node

from robotmem_ros.srv import (
    Consolidate,
    EndSession,
    Forget,
    GetData,
    GetMemories,
    Learn,
    List,
    ObjectHistory,
    Recall,
    Restore,
    SavePerception,
    StartSession,
    Timeline,
    Update,
)

from ..memory import Learned, RobotMemory, Sighting, Stored
from ..memory.errors import FrameMismatchError, RobotMemoryError
from . import conversions
from .conversions import fields_of, fill
from .executors import CallbackThread
from .service import DEPTH, serve, then
from .transforms import Point, Target

_PLACES = ("spatial_sort", "near", "since_last_visit")
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
            (Timeline, "~/timeline", self._calling(RobotMemory.timeline), fill),
            (GetMemories, "~/get_memories", self._calling(RobotMemory.get_memories), conversions.fill_memories),
            (List, "~/list", self._calling(RobotMemory.counts), conversions.fill_counts),
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

    def _recall(self, request: Recall.Request) -> Future[conversions.Recalled]:
        parameters = self._memory().parameters
        targets = {
            f"{name}.target": conversions.target_from(name, message, parameters)
            for name in _PLACES
            for message in getattr(request, name)
        }
        return self._recalled(fields_of(request), targets)

    def _recalled(self, query: dict[str, Any], targets: dict[str, Target]) -> Future[conversions.Recalled]:
        # A target in another frame becomes one in the memory frame, one after the other.
        def again(target: Target, name: str, transformed: Future[Point]) -> Future[conversions.Recalled]:
            place = {**query[name], "target": transformed.result(), "frame_id": target.target}
            rest = {field: one for field, one in targets.items() if one is not target}
            return self._recalled({**query, name: place}, rest)

        def in_memory_frame(done: Future[conversions.Recalled]) -> Future[conversions.Recalled]:
            error = done.exception()
            if not isinstance(error, FrameMismatchError) or error.field not in targets:
                return done
            target = targets[error.field]
            return then(self._transformed(target), partial(again, target, error.field.partition(".")[0]))

        return then(self._workers.submit(recall, self._memory(), **query), in_memory_frame)

    def _object_history(self, request: ObjectHistory.Request) -> Future[tuple[Sighting, ...]]:
        n = min(int(request.n) or _HISTORY, _LONGEST_HISTORY)
        return self._workers.submit(self._memory().object_history, int(request.memory_id), n)


def recall(memory: RobotMemory, *, brief: bool, **query: Any) -> conversions.Recalled:
    """Recall memories in full or in brief, with the arguments of the core; raise the same errors."""
    result = memory.recall(**query)
    memories, in_brief = ((), result.brief()) if brief else (result.memories, ())
    return conversions.Recalled(memories, in_brief, result.mode, result.reason)
