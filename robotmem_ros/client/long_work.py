"""Have a memory node do long work, follow it and cancel it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from action_msgs.msg import GoalStatus

from robotmem_ros.action import Work

from ..memory.errors import CancelledError, InvalidFieldError, RobotMemoryError
from ..messages.responses import error_of
from .connection import Answer, Connection, NoAnswerError

Told = Callable[[float, str], object]
"""Function that is told the share that is done, in [0, 1], and the same in words."""
_PERIOD = 5.0
"""Seconds between two looks whether the node still has the work."""


class LongWork:
    """Work that goes on in the node, until `result` has it.

    Args:
        connection: The connection to the node.
        handle: The goal.
        goal: What is to be done.
    """

    def __init__(self, connection: Connection, handle: Any, goal: Work.Goal) -> None:
        if not handle.accepted:
            raise RobotMemoryError(f"{goal.verb}: the node did not accept it")
        self._connection = connection
        self._handle = handle
        self._goal = goal
        self.answer: Answer[Any] = connection.new_answer()
        """What `result` waits for, to await it."""
        self._rest = connection.every(_PERIOD, self._ask)
        self.answer.add_done_callback(lambda answer: self._rest())
        self._ask()

    def cancel(self) -> None:
        """Have it end after the piece at hand; `result` raises CancelledError unless it was done by then."""
        self._handle.cancel_goal_async()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result of the verb, as JSON has it: dicts and lists.

        Raises:
            TimeoutError: it is not done within `timeout` seconds.
            CancelledError: it was cancelled.
            NoAnswerError: the node is gone; what was done by then is on disk.
            RobotMemoryError: it failed, as the verb of RobotMemory does.
        """
        return self.answer.result(timeout)

    def _ask(self) -> None:
        # Again and again, since a node that was started again knows nothing of it.
        if self._connection.has_work:
            self._handle.get_result_async().add_done_callback(self._take)
        else:
            self._fail(NoAnswerError(self._goal.verb, "result", _PERIOD, "the node is gone"))

    def _take(self, future: Any) -> None:
        status, result = future.result().status, future.result().result
        if self.answer.done():
            return
        if status == GoalStatus.STATUS_CANCELED:
            self._fail(CancelledError(self._goal.verb))
        elif status == GoalStatus.STATUS_UNKNOWN:
            self._fail(NoAnswerError(self._goal.verb, "result", _PERIOD, "the node was started again"))
        elif not result.success:
            self._fail(
                error_of(result.error, SimpleNamespace(**{"session_id": None, **json.loads(self._goal.arguments)}))
            )
        else:
            self.answer.set_result(json.loads(result.result))

    def _fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


def begin(
    connection: Connection, verb: str, arguments: Mapping[str, object], timeout: float, on_feedback: Told
) -> Answer[LongWork]:
    """Begin a verb; the answer is there once the node accepted it, within `timeout` seconds.

    The answer raises NoAnswerError if the action is not there, or does not respond.

    Raises:
        InvalidFieldError: an argument cannot be written as JSON.
    """
    try:
        goal = Work.Goal(verb=verb, arguments=json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as cause:
        raise InvalidFieldError("arguments", arguments, f"must be JSON ({cause})") from cause

    def tell(feedback: Any) -> None:
        on_feedback(feedback.fraction, feedback.text)

    return connection.begin_work(goal, lambda handle: LongWork(connection, handle, goal), timeout, tell)
