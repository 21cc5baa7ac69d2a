"""Nodes of py_trees that ask a memory and tell it how tasks went; no tick of a tree waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from geometry_msgs.msg import PoseStamped
from py_trees.behaviour import Behaviour
from py_trees.common import Access, Status
from py_trees.decorators import Decorator

from ..memory import Hit, RobotMemoryError
from ..messages.fields import pose_stamped
from .connection import Answer
from .memory_client import MemoryClient

TARGET, GOAL, SESSION = "target", "goal", "session_id"
"""Keys of the blackboard: the memory that was found last, a `Hit`; where to drive; the id of the current episode."""


class _Asking(Behaviour):
    """Runs until an answer is there; an error of the memory is a failure, which `feedback_message` tells."""

    def __init__(self, name: str, ask: Callable[[], Answer[Any]]) -> None:
        super().__init__(name)
        self._ask = ask
        self._answer: Answer[Any] = Answer()

    def initialise(self) -> None:
        """Ask."""
        self._answer = _begun(self._ask)

    def update(self) -> Status:
        """Look whether the answer is there."""
        if not self._answer.done():
            return Status.RUNNING
        error = self._answer.exception()
        self.feedback_message = str(error or "")
        return Status.FAILURE if error else self.use(self._answer.result())

    def use(self, result: Any) -> Status:
        """Return the status that a result means."""
        return Status.SUCCESS


class IsRemembered(_Asking):
    """Succeed if the memory has something; the arguments behind `memory` are those of `recall`.

    Args:
        name: Name of the behaviour.
        memory: The memory.
        query: The words to search for.
        conditions: Other arguments of `MemoryClient.recall`.
    """

    def __init__(self, name: str, memory: MemoryClient, query: str = "", **conditions: Any) -> None:
        ahead = memory.asynchronous
        super().__init__(name, lambda: ahead.recall(query, n=1, **conditions))

    def use(self, result: Any) -> Status:
        """Succeed if anything was found that is relevant."""
        self.feedback_message = repr(result[0]) if result else result.reason
        return Status.SUCCESS if result.relevant else Status.FAILURE


class RecallNearest(IsRemembered):
    """Write the nearest memory to the blackboard as `target`; fail if there is none.

    Args:
        name: Name of the behaviour.
        memory: The memory.
        query: The words to search for.
        frame_id: The frame from whose origin to measure: that of the robot.
        key: Key of the blackboard for the `Hit`.
        conditions: Other arguments of `MemoryClient.recall`, such as `labels`.
    """

    def __init__(
        self, name: str, memory: MemoryClient, query: str = "", *,
        frame_id: str = "base_link", key: str = TARGET, **conditions: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, memory, query, **{"spatial_sort": frame_id, **conditions})
        self._key = key
        self._board = self.attach_blackboard_client()
        self._board.register_key(key, access=Access.WRITE)

    def use(self, result: Any) -> Status:
        """Write what was found to the blackboard."""
        status = super().use(result)
        if status is Status.SUCCESS:
            found: Hit = result[0]
            self._board.set(self._key, found)
        return status


class Approach(Decorator):
    """Run a child for each pose from which a thing can be looked at, best first, until it succeeds.

    The pose is `goal` of the blackboard, a `geometry_msgs/PoseStamped`. Fails if there is none, or no child succeeded.

    Args:
        name: Name of the behaviour.
        child: Drives to the goal.
        memory: The memory.
        key: Key of the blackboard for the `Hit` of the thing.
        how: Other arguments of `MemoryClient.maps.approach`, such as `distance`.
    """

    def __init__(self, name: str, child: Behaviour, memory: MemoryClient, *, key: str = TARGET, **how: Any) -> None:
        super().__init__(name, child)
        self._board = board = self.attach_blackboard_client()
        board.register_key(key, access=Access.READ)
        board.register_key(GOAL, access=Access.WRITE)
        maps = memory.asynchronous.maps
        self._ask = lambda: maps.approach(board.get(key).memory.id, **how)
        self._answer: Answer[Any] | None = None
        self._poses: Iterator[PoseStamped] = iter(())
        self._has_goal = False

    def initialise(self) -> None:
        """Ask for the poses."""
        self._answer, self._has_goal = _begun(self._ask), False

    def tick(self) -> Iterator[Behaviour]:
        """Tick the child while there is a goal."""
        yield from super().tick() if self.status is Status.RUNNING and self._has_goal else Behaviour.tick(self)

    def update(self) -> Status:
        """Take the next goal if there is none, or the child failed."""
        if self._answer is not None and not self._answer.done():
            return Status.RUNNING
        if self._answer is not None:
            self._take_poses(self._answer)
        elif self.decorated.status is not Status.FAILURE:
            return self.decorated.status
        pose = next(self._poses, None)
        self._has_goal = pose is not None
        if pose is not None:
            self._board.set(GOAL, pose)
        return Status.RUNNING if self._has_goal else Status.FAILURE

    def _take_poses(self, answer: Answer[Any]) -> None:
        self._answer, self._poses, error = None, iter(()), answer.exception()
        self.feedback_message = str(error or answer.result().reason)
        if error is None:
            approach = answer.result()
            self._poses = (pose_stamped(pose, approach.frame_id) for pose in approach.poses)


class LearnOutcome(_Asking):
    """Learn a fact, in the episode that goes on, if there is one.

    Args:
        name: Name of the behaviour.
        memory: The memory.
        insight: The fact, in a sentence that stands alone.
        success: Whether it tells a success: `task.success` of its context.
        context: What else belongs to it.
    """

    def __init__(
        self, name: str, memory: MemoryClient, insight: str, *, success: bool, context: Mapping[str, Any] | None = None
    ) -> None:
        ahead, outcome = memory.asynchronous, _with_success(context, success=success)
        super().__init__(name, lambda: ahead.learn(insight, outcome, session_id=self._session()))
        self._board = self.attach_blackboard_client()
        self._board.register_key(SESSION, access=Access.READ)

    def _session(self) -> str | None:
        return self._board.get(SESSION) if self._board.exists(SESSION) else None


class Episode(Decorator):
    """Make a session of the run of a child: begin it, end it with the outcome, and learn that.

    The status is that of the child. A memory that does not answer keeps no child from running: `feedback_message` tells
    it. An episode that is interrupted ends without an outcome. Its id is `session_id` of the blackboard.

    Args:
        name: Name of the task: the fact that is learned is that it worked, or failed and why.
        child: The task.
        memory: The memory.
        context: What the episode is about, such as {"spatial": {"room": "kitchen"}}.
    """

    def __init__(
        self, name: str, child: Behaviour, memory: MemoryClient, context: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(name, child)
        self._memory = memory.asynchronous
        self._context = {**(context or {}), "task": {"name": name, **(context or {}).get("task", {})}}
        self._board = self.attach_blackboard_client()
        self._board.register_key(SESSION, access=Access.WRITE)
        self._begun: Answer[Any] | None = None
        self._steps: list[Callable[[], Answer[Any] | None]] = []
        self._step: Answer[Any] | None = None
        self._is_child_ticked = self._is_child_done = False

    def initialise(self) -> None:
        """Begin a session."""
        self._is_child_done, self._step, self._steps = False, None, []
        self.feedback_message = ""
        self._begun = self._memory.start_session(self._context)

    def tick(self) -> Iterator[Behaviour]:
        """Tick the child from the begin of the session until it is done."""
        is_running = self.status is Status.RUNNING and not self._is_child_done
        self._is_child_ticked = is_running and self._begun is not None and self._begun.done()
        if self._is_child_ticked:
            self._board.set(SESSION, self._session())
        yield from super().tick() if self._is_child_ticked else Behaviour.tick(self)

    def update(self) -> Status:
        """Learn the outcome of a child that is done, then end the session."""
        status = self.decorated.status
        if self._is_child_ticked and status in {Status.SUCCESS, Status.FAILURE}:
            self._is_child_done = True
            self._steps = [lambda: self._learn(is_success=status is Status.SUCCESS),
                           lambda: self._end(1.0 if status is Status.SUCCESS else 0.0)]  # fmt: skip
        return status if self._is_child_done and self._is_told() else Status.RUNNING

    def terminate(self, new_status: Status) -> None:
        """End the session of a task that was interrupted."""
        if new_status is Status.INVALID and self.status is Status.RUNNING and self._begun and not self._is_child_done:
            self._begun.add_done_callback(lambda begun: begun.exception() or self._end(None))

    def _is_told(self) -> bool:
        while self._step is None or self._step.done():
            if self._step is not None and (error := self._step.exception()):
                self.feedback_message = str(error)
            if not self._steps:
                return True
            self._step = self._steps.pop(0)()
        return False

    def _session(self) -> str | None:
        # None if it could not begin.
        assert self._begun is not None
        if error := self._begun.exception():
            self.feedback_message = str(error)
            return None
        return str(self._begun.result().session_id)

    def _learn(self, *, is_success: bool) -> Answer[Any]:
        tip = self.decorated.tip()
        why = f": {tip.feedback_message}" if not is_success and tip and tip.feedback_message else ""
        outcome = _with_success(self._context, success=is_success)
        insight = f"{self.name} {'worked' if is_success else 'failed'}{why}"
        return self._memory.learn(insight, outcome, session_id=self._session())

    def _end(self, outcome: float | None) -> Answer[Any] | None:
        session_id = self._session()
        return None if session_id is None else self._memory.end_session(session_id, outcome)


def _begun(ask: Callable[[], Answer[Any]]) -> Answer[Any]:
    # An argument that cannot be used is an error of the answer, too.
    try:
        return ask()
    except RobotMemoryError as error:
        refused: Answer[Any] = Answer()
        refused.set_exception(error)
        return refused


def _with_success(context: Mapping[str, Any] | None, *, success: bool) -> dict[str, Any]:
    given = dict(context or {})
    return {**given, "task": {**given.get("task", {}), "success": success}}
