"""Do what ~/work asks for, one goal after the other, in a thread of its own."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as NotInTimeError
from functools import partial
from operator import attrgetter
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node

from robotmem_ros.action import Work

from ..memory import RobotMemory
from ..memory.display import json_values
from ..memory.errors import CancelledError, InvalidFieldError, RobotMemoryError, did_you_mean, encodable
from ..memory.progress import told_to
from ..memory.threads import Threads
from ..messages.verbs import LONG_VERBS

_PERIOD = 0.1
"""Least seconds between two messages of feedback."""
_PATIENCE = 2.0
"""Seconds in which a node that ends waits for the piece of work at hand."""


class LongWork:
    """The action server ~/work, until `close`; `memory` returns the memory of the active node, or raises why not.

    A goal is executing for its client from when it is done: until then rclpy would occupy the executor with it.
    """

    def __init__(self, node: Node, memory: Callable[[], RobotMemory]) -> None:
        self._node = node
        self._memory = memory
        self._is_closing = False
        self._threads = Threads(1, "memory-work")
        self._server = ActionServer(
            node, Work, "~/work", execute_callback=_unused, handle_accepted_callback=self._accept,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )  # fmt: skip

    def close(self) -> None:
        """Cancel what is not done, and end the server."""
        self._is_closing = True
        last = self._threads.submit(lambda: None)
        self._threads.shutdown(wait=False)
        try:
            last.result(_PATIENCE)
        except NotInTimeError:
            self._node.get_logger().warning("~/work: the work at hand goes on until it fails")
        self._server.destroy()

    def _accept(self, handle: Any) -> None:
        self._threads.submit(self._work, handle)

    def _work(self, handle: Any) -> None:
        result, end = Work.Result(), handle.succeed
        try:
            result.result = self._done(handle)
            result.success = True
        except CancelledError as error:
            result.error, end = str(error), handle.canceled if handle.is_cancel_requested else handle.abort
        except RobotMemoryError as error:
            result.error, end = encodable(str(error)), handle.abort
        except Exception as error:
            self._node.get_logger().error(f"~/work: {handle.request.verb} failed: {error!r}")
            result.error, end = encodable(f"internal error: {error!r}"), handle.abort
        handle.execute(partial(_ended, end, result))

    def _done(self, handle: Any) -> str:
        told_at = 0.0

        def tell(done: int, total: int) -> None:
            nonlocal told_at
            if (handle.is_cancel_requested or self._is_closing) and done < total:
                raise CancelledError(handle.request.verb, done, total)
            if done == total or time.monotonic() - told_at >= _PERIOD:
                told_at = time.monotonic()
                share = done / total if total else 1.0
                handle.publish_feedback(Work.Feedback(fraction=share, text=f"{done:,} of {total:,}"))

        tell(0, 1)
        verb = _verb(self._memory(), handle.request.verb)
        arguments = _arguments(verb, handle.request)
        with told_to(tell):
            return json.dumps(json_values(verb(**arguments)), ensure_ascii=False, default=str)


def _verb(memory: RobotMemory, path: str) -> Callable[..., Any]:
    if path not in LONG_VERBS:
        raise InvalidFieldError("verb", path, f"must be one of {', '.join(LONG_VERBS)}{did_you_mean(path, LONG_VERBS)}")
    method: Callable[..., Any] = attrgetter(path)(memory)
    return method


def _arguments(verb: Callable[..., Any], request: Work.Goal) -> dict[str, Any]:
    try:
        arguments = json.loads(request.arguments or "{}")
    except (ValueError, RecursionError) as cause:
        raise InvalidFieldError("arguments", request.arguments, f"must be a JSON object ({cause})") from cause
    if not isinstance(arguments, dict):
        raise InvalidFieldError("arguments", request.arguments, "must be a JSON object")
    parameters = inspect.signature(verb).parameters
    names = [name for name in parameters if name != "progress"]
    for name, value in arguments.items():
        if name not in names:
            hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise InvalidFieldError(f"arguments.{name}", value, f"is no argument of {request.verb}{hint}")
    for name in names:
        if parameters[name].default is inspect.Parameter.empty and name not in arguments:
            raise InvalidFieldError(f"arguments.{name}", None, f"must be given, {request.verb} needs it")
    return arguments


def _ended(end: Callable[[], None], result: Work.Result, handle: Any) -> Work.Result:
    end()
    return result


def _unused(handle: Any) -> Work.Result:
    raise AssertionError(f"{handle} has a callback of its own")
