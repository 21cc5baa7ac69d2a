"""Send requests to the services of a memory node, and give each its response or, after its deadline, an error.

A thread with an executor of its own takes the responses. So a program may wait for one wherever it is: in a callback of
its node, on any executor, in several threads.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rclpy.action import ActionClient
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile

from robotmem_ros import srv
from robotmem_ros.action import Work

from ..memory import MemoryClosedError, RobotMemoryError
from ..node.executors import new_executor, spin_once
from ..node.services import DEPTH

T = TypeVar("T")
_TURN = 1.0
_SEARCH = 0.02
"""Seconds between two looks for a service that is not there yet."""
_GREETING = 0.5
"""Seconds after which a greeting is sent again."""


class NoAnswerError(RobotMemoryError, TimeoutError):
    """A service was not there in time, or did not answer; whether it did what was asked for is not known then."""

    def __init__(self, service: str, lacking: str, seconds: float, why: str) -> None:
        super().__init__(f"{service}: no {lacking} within {seconds:g} s{f': {why}' if why else ''}")
        self.service = service


class Answer(Future[T]):
    """The result of a verb, once it is there: `result()` waits for it, `await` does in asyncio and in rclpy.

    It is always done at its deadline.
    """

    def __await__(self) -> Generator[Any, None, T]:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a coroutine of rclpy, which its executor goes on with when it is woken
            while not self.done():
                yield
            return self.result()
        return (yield from asyncio.wrap_future(self, loop=loop).__await__())


@dataclass(eq=False)
class _Call:
    client: Any
    request: Any
    read: Callable[[Any], Any]
    ends: float
    seconds: float
    answer: Answer[Any]
    sent: Any = None
    """The future of its response; None until it is sent."""


class _Goals:
    """Send the goals of an action, and receive what they tell, like a client of a service."""

    def __init__(self, client: Any, name: str, on_feedback: Callable[[Any], object]) -> None:
        self._client = client
        self._on_feedback = on_feedback
        self.srv_name = f"{name}/_action/send_goal"

    def service_is_ready(self) -> bool:
        return bool(self._client.server_is_ready())

    def call_async(self, goal: Any) -> Any:
        return self._client.send_goal_async(goal, feedback_callback=lambda told: self._on_feedback(told.feedback))

    def remove_pending_request(self, sent: Any) -> None:
        sent.cancel()


class Connection:
    """The clients of all services of one memory node, in a hidden node beside that of the program.

    Args:
        node: The node of the program, whose context, namespace, remappings and clock are used.
        name: The memory node, relative to the namespace of `node` or with a leading slash.
        services: Types of the services by their names.
    """

    def __init__(self, node: Node, name: str, services: Mapping[str, Any]) -> None:
        self._node = node
        hidden = f"_{node.get_name()}_memory_client"
        self._own = Node(
            hidden, context=node.context, namespace=node.get_namespace(), use_global_arguments=False,
            enable_rosout=False, start_parameter_services=False,
        )  # fmt: skip
        # All at once, since each takes its time to find its service.
        self._clients = {service: self._client(f"{name}/{service}", kind) for service, kind in services.items()}
        self._greeter = self._client(f"{name}/get_memories", srv.GetMemories)
        self._work_name = self._node.resolve_service_name(f"{name}/work")
        self._works = ActionClient(self._own, Work, self._work_name)
        self._is_met, self._greeted, self._trouble = False, 0.0, ""
        self._new: deque[_Call] = deque()
        self._calls: list[_Call] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self._closing = threading.Event()
        self._executor = new_executor(self._own)
        self._executor.add_node(self._own)
        self._thread = threading.Thread(target=self._run, name="memory-client", daemon=True)
        self._thread.start()
        # No thread may be in C++ code when the interpreter ends.
        atexit.register(self.close)

    def _client(self, name: str, kind: Any) -> Any:
        return self._own.create_client(kind, self._node.resolve_service_name(name), qos_profile=QoSProfile(depth=DEPTH))

    def begin(self, service: str, request: Any, read: Callable[[Any], T], seconds: float) -> Answer[T]:
        """Send a request when its service is there; the answer is what `read` makes of its response."""
        return self._begin(self._clients[service], request, read, seconds)

    def begin_work(
        self, goal: Work.Goal, read: Callable[[Any], T], seconds: float, on_feedback: Callable[[Any], object]
    ) -> Answer[T]:
        """Send a goal when ~/work is there; the answer is what `read` makes of its handle at the client."""
        return self._begin(_Goals(self._works, self._work_name, on_feedback), goal, read, seconds)

    def _begin(self, client: Any, request: Any, read: Callable[[Any], T], seconds: float) -> Answer[T]:
        answer: Answer[T] = self.new_answer()
        call = _Call(client, request, read, time.monotonic() + seconds, seconds, answer)
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._new.append(call)
                self._executor.create_task(_do_nothing)  # ends the turn of the thread
        if is_closed:
            _close(call)
        return answer

    def new_answer(self) -> Answer[Any]:
        """Return an answer that is not there yet."""
        answer: Answer[Any] = Answer()
        answer.set_running_or_notify_cancel()  # asyncio would cancel what waits for a thread no more
        answer.add_done_callback(self._wake)
        return answer

    def every(self, seconds: float, work: Callable[[], None]) -> Callable[[], object]:
        """Call a function in the thread of the responses from time to time; return what ends that."""
        timer = self._own.create_timer(seconds, work, clock=Clock(clock_type=ClockType.STEADY_TIME))
        return lambda: self._own.destroy_timer(timer)

    @property
    def has_work(self) -> bool:
        """Tell whether ~/work is there."""
        return bool(self._works.server_is_ready())

    def wait(self, answer: Answer[T]) -> T:
        """Return what an answer says; raises its error."""
        if threading.current_thread() is self._thread and not answer.done():
            problem = "an answer cannot be waited for in a callback of another one; begin it with AsyncMemoryClient"
            raise RobotMemoryError(problem)
        return answer.result()

    def now(self) -> int:
        """Return the time of the program's node, in nanoseconds."""
        return int(self._node.get_clock().now().nanoseconds)

    def close(self) -> None:
        """End the thread and leave the graph; what still waits gets a MemoryClosedError. A second call does nothing."""
        self._closing.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._executor.create_task(_do_nothing)
            self._thread.join()
        atexit.unregister(self.close)

    def _run(self) -> None:
        while not self._closing.is_set() and self._node.context.ok():
            spin_once(self._executor, self._own, self._tend())
        with self._lock:
            self._is_closed = True
        for call in (*self._calls, *self._new):
            _close(call)
        self._executor.shutdown()
        self._works.destroy()
        self._own.destroy_node()

    def _tend(self) -> float:
        """Send what can be sent, fail what is too late, and return the seconds until there is more to do."""
        while self._new:
            self._calls.append(self._new.popleft())
        now = time.monotonic()
        for call in [*self._calls]:
            if call.sent is None and self._may_send(call, now):
                call.sent = call.client.call_async(call.request)
                call.sent.add_done_callback(partial(self._finish, call))
            if call.ends <= now:
                self._give_up(call)
        ends = min((call.ends - now for call in self._calls), default=_TURN)
        is_searching = any(call.sent is None for call in self._calls)
        return max(0.0, min(_TURN, ends, _SEARCH if is_searching else _TURN))

    def _may_send(self, call: _Call, now: float) -> bool:
        # A service is found before it has found the client, whose response would be lost then. What is created later
        # is found later: a response to the greeter means that all clients are known. An error means that the node
        # still starts.
        if not call.client.service_is_ready():
            self._is_met = False
            return False
        if not self._is_met and now - self._greeted >= _GREETING and self._greeter.service_is_ready():
            self._greeted, self._trouble = now, ""
            self._greeter.call_async(srv.GetMemories.Request()).add_done_callback(self._meet)
        return self._is_met

    def _meet(self, future: Any) -> None:
        response = future.result()
        self._is_met, self._trouble = response.success, response.error

    def _finish(self, call: _Call, future: Any) -> None:
        if call in self._calls:
            self._calls.remove(call)
            try:
                result = call.read(future.result())
            except Exception as error:
                call.answer.set_exception(error)
            else:
                call.answer.set_result(result)

    def _give_up(self, call: _Call) -> None:
        self._calls.remove(call)
        self._is_met = False
        is_there = call.client.service_is_ready()
        lacking = "answer" if is_there or call.sent else "such service"
        if is_there:
            why = self._trouble if self._greeter.service_is_ready() else self._missing(self._greeter)
        else:
            why = "it is gone" if call.sent else self._missing(call.client)
        if call.sent is not None:
            call.client.remove_pending_request(call.sent)
        call.answer.set_exception(NoAnswerError(call.client.srv_name, lacking, call.seconds, why))

    def _missing(self, client: Any) -> str:
        # A service is found only if its type is the same, to the last field.
        if not self._own.count_services(client.srv_name):
            return "is the memory node running?"
        return f"{client.srv_name} has another type: is its node of another version of robotmem_ros?"

    def _wake(self, answer: Future[Any]) -> None:
        # A coroutine of rclpy that awaits the answer goes on in the next turn of its executor.
        executor = self._node.executor
        if executor is not None:
            executor.wake()


def _close(call: _Call) -> None:
    call.answer.set_exception(
        MemoryClosedError("the client is closed, or rclpy was shut down; make a new MemoryClient")
    )


def _do_nothing() -> None:
    pass
