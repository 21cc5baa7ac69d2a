"""Serve requests whose results come later, from any thread, without a thread or an executor that waits for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy

from ..memory.errors import RobotMemoryError
from .executors import CallbackThread

_LOG = logging.getLogger(__name__)
DEPTH = 1000
"""Requests that may wait: the usual depth of 10 would lose what a burst holds beyond, and its callers would wait."""
S = TypeVar("S")
T = TypeVar("T")


def serve(
    node: Node, thread: CallbackThread, kind: Any, name: str, *,
    begin: Callable[[Any], Future[T]], fill: Callable[[Any, T], object],
) -> None:  # fmt: skip
    """Create a service. A bad request is answered with its error; nothing leaves a caller waiting.

    `begin` takes the request, in `thread`, and must not wait; `fill` writes the result into the response, in the
    thread that has it.
    """

    def take(request: Any, response: Any) -> Future[T]:
        thread.calls += 1
        try:
            return begin(request)
        except Exception as error:
            failed: Future[T] = Future()
            failed.set_exception(error)
            return failed

    def answer(header: Any, done: Future[T]) -> None:
        response = kind.Response()
        try:
            fill(response, done.result())
            response.success = True
        except RobotMemoryError as error:
            _LOG.debug("%s rejected: %s", name, error)
            response = kind.Response(success=False, error=_encodable(str(error)))
        except Exception as error:
            _complain(node, f"a request of {name} failed: {error!r}")
            response = kind.Response(success=False, error=_encodable(f"internal error: {error!r}"))
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


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _complain(node: Node, trouble: str) -> None:
    node.get_logger().error(trouble)


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
