"""The services: each converts a request, calls the core and converts the result back.

A callback is a coroutine that waits for a worker thread or for the writer, so that a slow request holds up no other.
A bad request is answered with its error; no exception leaves a callback, since it would end the node and leave the
caller waiting.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future as ConcurrentFuture
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from robotmem_ros.srv import Forget, Learn, ObjectHistory, Recall, SavePerception, Update

from ..memory import RobotMemory
from ..memory.errors import FrameMismatchError, RobotMemoryError
from ..memory.records import Answer, NewMemory
from . import conversions, qos
from .frames import TargetFrames

_HISTORY, _LONGEST_HISTORY = 100, 10_000
T = TypeVar("T")
Memory = Callable[[], RobotMemory]
"""Gives the memory of the active node, or raises NotActiveError."""


class NotActiveError(RobotMemoryError):
    """The node has no memory to serve with now."""

    def __init__(self, state: str, why: str) -> None:
        super().__init__(f"the node is {state}, not active" + (f": {why}" if why else ""))


class Services:
    """Learn, SavePerception, Recall, Forget, Update and ObjectHistory under the node's own name."""

    def __init__(
        self, node: Node, memory: Memory, frames: Callable[[], TargetFrames], clock: conversions.Clock, workers: int
    ) -> None:
        self._node = node
        self._memory = memory
        self._clock = clock
        self._frames = frames
        self._workers = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="memory-service")
        group = ReentrantCallbackGroup()
        for kind, name, handler in (
            (Learn, "learn", self._learn),
            (SavePerception, "save_perception", self._save_perception),
            (Recall, "recall", self._recall),
            (Forget, "forget", self._forget),
            (Update, "update", self._update),
            (ObjectHistory, "object_history", self._object_history),
        ):
            answer = _answering(node, handler)
            node.create_service(kind, f"~/{name}", answer, qos_profile=qos.requests(), callback_group=group)

    def close(self) -> None:
        """Ends the worker threads after the requests at hand."""
        self._workers.shutdown()

    async def _learn(self, request: Learn.Request, response: Learn.Response) -> None:
        memory = self._memory()
        response.memory_id = await self._store(memory, conversions.fact_from(request, memory.parameters, self._clock))

    async def _save_perception(self, request: SavePerception.Request, response: SavePerception.Response) -> None:
        memory = self._memory()
        new = conversions.perception_from(request.perception, memory.parameters, self._clock)
        response.memory_id = await self._store(memory, new)

    async def _recall(self, request: Recall.Request, response: Recall.Response) -> None:
        memory = self._memory()
        question = conversions.question_from(request)
        answer = await self._in_worker(lambda: self._answer(memory, request, question))
        conversions.fill_recall_response(response, answer)

    async def _forget(self, request: Forget.Request, response: Forget.Response) -> None:
        memory = self._memory()
        await self._in_worker(lambda: memory.forget(int(request.memory_id), request.reason))

    async def _update(self, request: Update.Request, response: Update.Response) -> None:
        memory = self._memory()
        correction = conversions.correction_from(request)
        await self._in_worker(lambda: memory.update(int(request.memory_id), **correction))

    async def _object_history(self, request: ObjectHistory.Request, response: ObjectHistory.Response) -> None:
        memory = self._memory()
        n = min(int(request.n) or _HISTORY, _LONGEST_HISTORY)
        sightings = await self._in_worker(lambda: memory.object_history(int(request.memory_id), n))
        response.sightings = [conversions.sighting_message(sighting) for sighting in sightings]

    def _answer(self, memory: RobotMemory, request: Recall.Request, question: dict[str, Any]) -> Answer:
        try:
            return memory.recall(**question)
        except FrameMismatchError:
            target = request.spatial_sort[0].target.header
            spatial_sort = dict(question["spatial_sort"], frame_id=memory.parameters.memory_frame)
            spatial_sort["target"] = self._frames().transformed(
                spatial_sort["target"], target.frame_id, spatial_sort["frame_id"], target.stamp
            )
            return memory.recall(**{**question, "spatial_sort": spatial_sort})

    async def _store(self, memory: RobotMemory, new: NewMemory) -> int:
        stored = await self._settled(memory.store(new))
        return int(stored.memory_id)

    async def _in_worker(self, work: Callable[[], T]) -> T:
        return await self._settled(self._workers.submit(work))

    async def _settled(self, done: ConcurrentFuture[T]) -> T:
        # rclpy awaits its own futures only, and a thread that sets one must wake the executor. A future that knows its
        # executor would wake it too, and each turn of the executor costs as much as the rest of the service.
        executor = self._node.executor
        future: Future = Future()

        def pass_on(_: ConcurrentFuture[T]) -> None:
            future.set_result(None)
            if executor is not None:
                executor.wake()

        done.add_done_callback(pass_on)
        # Lets the worker begin now, not when the executor comes to wait: half a millisecond.
        time.sleep(0)  # noqa: ASYNC251 (rclpy's executor is no asyncio loop)
        await future
        return done.result()


def _answering(node: Node, handler: Callable[[Any, Any], Awaitable[None]]) -> Callable[[Any, Any], Awaitable[Any]]:
    async def answer(request: Any, response: Any) -> Any:
        try:
            await handler(request, response)
        except RobotMemoryError as error:
            return _refused(response, str(error))
        except Exception as error:
            node.get_logger().error(f"a request failed: {error!r}")
            return _refused(response, f"internal error: {error!r}")
        response.success = True
        return response

    return answer


def _refused(response: Any, error: str) -> Any:
    refused = type(response)()
    refused.success = False
    refused.error = error.encode("utf-8", "backslashreplace").decode("utf-8")
    return refused
