"""Take requests in a thread of its own, and answer each from the thread that has its result."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service

from ..memory.errors import RobotMemoryError
from . import subscriptions as qos
from .own_wait_set import NotByExecutor, OwnWaitSet, unused

_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class ServiceThread:
    """The services of a node. A bad request is answered with its error; nothing leaves a caller waiting."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._services: list[_Served] = []
        self._wait_set: OwnWaitSet | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="memory-requests", daemon=True)

    def add(self, kind: Any, name: str, begin: Callable[[Any], Future[T]], fill: Callable[[Any, T], None]) -> None:
        """A service that is there from now on and answers from `start` on.

        `begin` takes the request and must not wait; `fill` writes the result into the response, in the thread that
        has it.
        """
        group = NotByExecutor()
        service = self._node.create_service(kind, name, unused, qos_profile=qos.requests(), callback_group=group)
        self._services.append(_Served(service, begin, fill))

    def start(self) -> None:
        """Begins to take requests."""
        self._wait_set = OwnWaitSet(self._node, services=[served.service for served in self._services])
        self._thread.start()

    def close(self) -> None:
        """Takes no more requests; those that came before are still answered by whoever works on them."""
        self._closing = True
        if self._wait_set is not None:
            self._wait_set.wake()
            self._thread.join()

    def _run(self) -> None:
        assert self._wait_set is not None
        while not self._closing:
            ready = self._wait_set.wait()
            for served in self._services:
                if served.service.handle.pointer in ready:
                    self._take(served)
        for served in self._services:
            while self._take(served):
                pass

    def _take(self, served: _Served) -> bool:
        try:
            with served.service.handle:
                request, header = served.service.handle.service_take_request(served.service.srv_type.Request)
        except Exception:
            # A request that is no message of its type; without its header there is nobody to answer.
            self._complain(f"a request of {served.service.srv_name} could not be read:\n{traceback.format_exc()}")
            return True
        if request is None:
            return False
        try:
            begun = served.begin(request)
        except Exception as error:
            begun = Future()
            begun.set_exception(error)
        begun.add_done_callback(lambda done: self._answer(served, header, done))
        return True

    def _answer(self, served: _Served, header: Any, done: Future[Any]) -> None:
        response = served.service.srv_type.Response()
        try:
            served.fill(response, done.result())
            response.success = True
        except RobotMemoryError as error:
            _LOG.debug("%s refused: %s", served.service.srv_name, error)
            response = served.refusal(str(error))
        except Exception as error:
            self._complain(f"a request of {served.service.srv_name} failed: {error!r}")
            response = served.refusal(f"internal error: {error!r}")
        try:
            served.service.send_response(response, header)
        except rclpy_implementation.RCLError as error:
            self._complain(f"an answer of {served.service.srv_name} could not be sent: {error}")

    def _complain(self, trouble: str) -> None:
        self._node.get_logger().error(trouble)


class _Served(NamedTuple):
    service: Service[Any, Any]
    begin: Callable[[Any], Future[Any]]
    fill: Callable[[Any, Any], None]

    def refusal(self, error: str) -> Any:
        readable = error.encode("utf-8", "backslashreplace").decode("utf-8")
        return self.service.srv_type.Response(success=False, error=readable)


S = TypeVar("S")


def then(first: Future[S], step: Callable[[Future[S]], Future[T]]) -> Future[T]:
    """Give the result of what `step` begins with `first`, once that is done; an error of `step` itself is the result.

    `step` runs in the thread that has the result of `first`, and must not wait.
    """
    result: Future[T] = Future()

    def begin(done: Future[S]) -> None:
        try:
            step(done).add_done_callback(finish)
        except Exception as error:
            result.set_exception(error)

    def finish(done: Future[T]) -> None:
        error = done.exception()
        if error is None:
            result.set_result(done.result())
        else:
            result.set_exception(error)

    first.add_done_callback(begin)
    return result
