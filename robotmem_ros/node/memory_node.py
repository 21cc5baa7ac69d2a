"""The memory node: wiring only. A lifecycle node that by default brings itself up.

Threads: everything of rclpy runs in the executor's thread, questions in worker threads, writes in the writer's thread,
vectors in the thread of the backfill. No callback waits for a disk or a model.
"""

from __future__ import annotations

import threading

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.timer import Timer

from ..memory import Parameters, RobotMemory
from ..memory.errors import RobotMemoryError
from .node_parameters import declare
from .perception_topic import Counts, PerceptionTopic
from .services import NotActiveError, Services
from .status import StatusTopic


class MemoryNode(LifecycleNode):
    """Serves one memory.

    Services: ~/learn, ~/save_perception, ~/recall, ~/forget, ~/update. Subscribes ~/perception, publishes ~/status.
    The services exist in every state; while the node is not active they answer why.
    """

    def __init__(self) -> None:
        super().__init__("memory")
        self._memory: RobotMemory | None = None
        self._topic: PerceptionTopic | None = None
        self._state = "unconfigured"
        self._why = ""
        self._last_counts = Counts()
        self.parameters = declare(self, self._apply)
        self._services_ = Services(self, self._active_memory, self._now, self.parameters.worker_threads)
        self._status = StatusTopic(self, self._now)
        # Steady time: under simulated time without a clock, no other timer fires.
        self._status_timer: Timer = self.create_timer(
            self.parameters.status_period, self._publish_status, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Opens the database and begins to load the model."""
        try:
            options = {name: getattr(self.parameters, name) for name in self.parameters.__dataclass_fields__}
            self._memory = RobotMemory(clock=self._now, patience=0.0, **options)
        except RobotMemoryError as error:
            self._why = str(error)
            self.get_logger().error(f"cannot be configured: {error}")
            self._publish_status()
            return TransitionCallbackReturn.FAILURE
        self._why = ""
        self._enter("inactive")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Takes perceptions and answers requests; the model is warmed up meanwhile."""
        assert self._memory is not None
        threading.Thread(target=self._warm_up, args=(self._memory,), name="memory-warm-up", daemon=True).start()
        self._topic = PerceptionTopic(self, self._memory, self._now)
        self._enter("active")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Takes and answers nothing more; what was accepted is committed."""
        self._close_topic()
        self._enter("inactive")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Closes the database."""
        self._close_memory()
        self._enter("unconfigured")
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Commits what was accepted and closes the database."""
        self._close_topic()
        self._close_memory()
        self._enter("finalized")
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Gives back what it holds, so that it can be configured again."""
        self._close_topic()
        self._close_memory()
        self._enter("unconfigured")
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Ends the worker threads and closes the database, whatever the state."""
        self._services_.close()
        self._close_topic()
        self._close_memory()

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _active_memory(self) -> RobotMemory:
        if self._memory is None or self._state != "active":
            raise NotActiveError(self._state, self._why)
        return self._memory

    def _apply(self, parameters: Parameters) -> None:
        self.parameters = parameters
        if self._memory is not None:
            self._memory.parameters = parameters

    def _enter(self, state: str) -> None:
        self._state = state
        self.get_logger().info(f"{state}, memory in {self._memory.path}" if self._memory else state)
        self._publish_status()

    def _publish_status(self) -> None:
        try:
            self._status.publish(self._state, self._why, self._memory, self._counts)
        except RobotMemoryError as error:
            self.get_logger().error(f"no status: {error}", throttle_duration_sec=10.0)

    def _counts(self) -> Counts:
        if self._topic is not None:
            self._last_counts = self._topic.counts()
        return self._last_counts

    def _warm_up(self, memory: RobotMemory) -> None:
        memory.warm_up()
        status = memory.status()
        why = f": {status.reason}" if status.reason else ""
        self.get_logger().info(f"questions run on {status.mode.value}{why}")

    def _close_topic(self) -> None:
        if self._topic is not None:
            self._counts()
            self._topic.close()
            self._topic = None

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None
