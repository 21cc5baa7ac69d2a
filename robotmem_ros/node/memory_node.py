"""The memory node: wiring only. A lifecycle node that by default brings itself up."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from ..fleet.scope import FleetMemory, open_memory
from ..memory import Parameters, RobotMemory
from ..memory.errors import MemoryClosedError, RobotMemoryError
from ..memory.intake_report import FINALIZED, IntakeReport, TopicReport
from ..memory.models import NewMemory
from ..memory.storage.connection import default_path
from ..perception import Placed
from .bond import Bond
from .drop_warnings import DropWarnings
from .events import EventTopics, OpenWatch
from .executors import ThreadedNode
from .live_intake import LiveIntake
from .long_work import LongWork
from .markers import Markers
from .objects import ObjectsTopic
from .parameters import ParametersNode, declare, ignored_parameters
from .perception_topic import PerceptionTopic
from .reports import Diagnostics, IntakeFile, IntakeRates, StatusTopic
from .services import SHUTTING_DOWN, NotActiveError, Services
from .subscriptions import TopicState
from .transforms import Target, TimedTransform

T = TypeVar("T")
_CHECK_UP_PERIOD = 3600.0
"""Seconds; an examination reads the whole file."""
_DIAGNOSTICS_PERIOD = 1.0
_READING = 1.5
"""Seconds in which a node that ends reads what waits; it writes for some seconds: see `Database.begin_to_close`."""


class MemoryNode(ThreadedNode, ParametersNode):
    """Serve one memory. The services exist in every state; while the node is not active they answer why."""

    def __init__(self) -> None:
        super().__init__("memory")
        self._memory: RobotMemory | None = None
        self._topic: PerceptionTopic | None = None
        self._events: EventTopics | None = None
        self._objects: ObjectsTopic | None = None
        self._live: LiveIntake | None = None
        self._state = "unconfigured"
        self._is_ending = False
        self._problem = ""
        # Of ~/perception since the last activation: what is written after its end counts as well.
        self._perceptions: Callable[[], TopicState] | None = None
        self._drops = DropWarnings(self)
        self._rates = IntakeRates()
        self._intake_file = IntakeFile()
        self.parameters = declare(self, self._apply)
        for warning in ignored_parameters(self, self.parameters):
            self.get_logger().warning(warning)
        workers = self.parameters.worker_threads
        self._services_ = Services(
            self, self._active_memory, self._transform, self._place, self._now, watch=self._watch, workers=workers
        )
        self._work = LongWork(self, self._active_memory)
        self._status = StatusTopic(self, self._now)
        self._diagnostics = Diagnostics(self, self._now)
        self._markers = Markers(self)
        self._bond = Bond(self, self.parameters.bond_heartbeat_period)
        for period, work in (
            (self.parameters.status_period, self._publish_status),
            (_DIAGNOSTICS_PERIOD, self._publish_diagnostics),
            (self.parameters.markers_period, self._publish_markers),
            (_CHECK_UP_PERIOD, self._check_up),
        ):
            if period:
                # Steady time: under simulated time without a clock, no other timer fires.
                self.create_timer(period, work, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the database and begin to load the model."""
        try:
            options = {name: getattr(self.parameters, name) for name in self.parameters.__dataclass_fields__}
            options["db_path"] = self.parameters.db_path or default_path(self.get_namespace())
            self._memory = open_memory(clock=self._now, patience=0.0, source="service", **options)
            self._live = LiveIntake(self, self._memory, self._now)
            if isinstance(self._memory, FleetMemory):
                self._memory.follow()
        except RobotMemoryError as error:
            self._problem = str(error)
            self._close_memory()
            self.get_logger().error(f"cannot be configured: {error}")
            self.tell_waiting("configure")
            self._publish_status()
            return TransitionCallbackReturn.FAILURE
        self._problem = ""
        self._enter("inactive")
        if not self.parameters.autostart:
            self.tell_waiting("activate")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take perceptions and answer requests; warm up the model in another thread."""
        assert self._memory is not None
        assert self._live is not None
        threading.Thread(target=self._warm_up, args=(self._memory,), name="memory-warm-up", daemon=True).start()
        self._live.start()
        self._topic = PerceptionTopic(self, self._memory, self._live.place, self._now)
        self._events = EventTopics(self, self._memory)
        self._objects = ObjectsTopic(self, self._memory, self.parameters.objects_period)
        self._perceptions = self._topic.state
        self._drops = DropWarnings(self)
        self._rates = IntakeRates(self._topics())
        self._enter("active")
        self._bond.form()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take and answer nothing more; commit what was accepted."""
        self._stop()
        self._enter("inactive")
        self.tell_waiting("activate")
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the database."""
        self._close_memory()
        self._enter("unconfigured")
        self.tell_waiting("configure")
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Commit what was accepted and close the database."""
        self._state = SHUTTING_DOWN
        self._end(FINALIZED)
        self._enter(FINALIZED)
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything, so that the node can be configured again."""
        self._end()
        self._enter("unconfigured")
        self.tell_waiting("configure")
        return TransitionCallbackReturn.SUCCESS

    def tell_waiting(self, transition: str) -> None:
        """Log what the node waits for, and the command that does it."""
        name = self.get_fully_qualified_name()
        self.get_logger().info(
            f"waits for {transition}: `ros2 lifecycle set {name} {transition}`, or a manager does it"
        )

    def shut_down(self) -> None:
        """Shut the node down from whatever state it is in: commit, close the database and end the threads.

        What waits has a few seconds; the log counts what was not written by then.
        """
        self._is_ending = True
        self._begin_to_close()
        if self._state != FINALIZED:  # there is no transition out of that
            self.trigger_shutdown()
        # Before the services, since requests that wait for transforms are answered by it.
        self._stop(_READING)
        self._work.close()
        self._services_.close()
        self._close_memory()

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _active_memory(self) -> RobotMemory:
        if self._is_ending or self._memory is None or self._state != "active":
            raise NotActiveError(SHUTTING_DOWN if self._is_ending else self._state, self._problem)
        return self._memory

    def _apply(self, parameters: Parameters) -> None:
        self.parameters = parameters
        if self._memory is not None:
            self._memory.parameters = parameters

    def _enter(self, state: str) -> None:
        self._state = state
        self.get_logger().info(f"{state}, memory in {self._memory.path}" if self._memory else state)
        self._keep_intake(state, at_once=True)
        self._publish_status()

    def _transform(self, target: Target) -> Future[TimedTransform]:
        return self._there(self._live).transform(target)

    def _place(self, new: NewMemory) -> Future[Placed]:
        return self._there(self._live).place(new)

    def _watch(self, conditions: Mapping[str, Any]) -> OpenWatch:
        return self._there(self._events).watch(conditions)

    def _there(self, part: T | None) -> T:
        if part is None:
            raise NotActiveError(self._state, self._problem)
        return part

    def _publish_status(self) -> None:
        # The counts first, so that what is counted as stored is among the memories.
        topics = self._topics()
        try:
            status = self._memory.status() if self._memory else None
        except RobotMemoryError as error:
            self.get_logger().error(f"no status: {error}", throttle_duration_sec=10.0)
            return
        self._status.publish(self._state, self._trouble(), status, topics)

    def _publish_diagnostics(self) -> None:
        topics = self._warn_of_drops()
        problem, status = self._trouble(), None
        queues = self._live.queues() if self._live else {}
        reports = self._keep_intake(self._state, topics)
        try:
            status = self._memory.status() if self._memory else None
        except RobotMemoryError as error:
            problem = str(error)
        self._diagnostics.publish(
            self._state, problem, status, topics=topics, reports=reports, queues=queues,
            findings=self._memory.findings if self._memory else (),
        )  # fmt: skip

    def _keep_intake(
        self, state: str, topics: Sequence[TopicState] | None = None, *, at_once: bool = False
    ) -> tuple[TopicReport, ...]:
        """Report what came in to those who see only the file; return the reports of the topics."""
        reports = self._rates.reports(self._topics() if topics is None else topics)
        if self._memory is not None:
            problem = "; ".join(filter(None, (self._problem, self._live.problem() if self._live else "")))
            report = IntakeReport(self.get_fully_qualified_name(), state, time.time_ns(), problem, reports)
            self._intake_file.keep(self._memory, report, at_once=at_once)
        return reports

    def _check_up(self) -> None:
        if self._memory is not None and self._state == "active":
            threading.Thread(target=self._examine, args=(self._memory,), name="memory-doctor", daemon=True).start()

    def _examine(self, memory: RobotMemory) -> None:
        with suppress(MemoryClosedError):
            memory.doctor()

    def _publish_markers(self) -> None:
        memory = self._memory
        if memory is not None and self._state == "active":
            try:
                self._markers.publish(memory.objects, self._now())
            except RobotMemoryError as error:
                self.get_logger().error(f"no markers: {error}", throttle_duration_sec=10.0)

    def _topics(self) -> list[TopicState]:
        own = [self._perceptions()] if self._perceptions else []
        return own + (self._live.states() if self._live else [])

    def _trouble(self) -> str:
        live = (self._live.problem(), self._live.last_error) if self._live else ()
        return "; ".join(filter(None, (self._problem, *live, self._drops.recent())))

    def _warn_of_drops(self) -> list[TopicState]:
        topics = self._topics()
        for topic in topics:
            self._drops.look(topic.topic, topic.counts)
        return topics

    def _warm_up(self, memory: RobotMemory) -> None:
        try:
            memory.warm_up()
            status = memory.status()
        except MemoryClosedError:
            return
        # Dictionaries and model stay as long as the node: the garbage collector need not look through them each time.
        gc.collect()
        gc.freeze()
        ending = f": {status.reason}" if status.reason else ""
        self.get_logger().info(f"queries run on {status.mode.value}{ending}")
        self._examine(memory)

    def _begin_to_close(self) -> None:
        if self._memory is not None:
            self._memory.parts.database.begin_to_close()

    def _end(self, state: str = "unconfigured") -> None:
        self._begin_to_close()
        self._stop(_READING)
        self._close_memory(state)

    def _stop(self, patience: float | None = None) -> None:
        self._bond.dissolve()
        if self._topic is not None:
            self._topic.close(patience)
            self._topic = None
        if self._live is not None:
            self._live.stop(patience)
        if self._events is not None:
            self._events.close()
            self._events = None
        if self._objects is not None:
            self._objects.close()
            self._objects = None
        self._warn_of_drops()

    def _close_memory(self, state: str = "unconfigured") -> None:
        if self._memory is not None:
            self._keep_intake(state, at_once=True)
        self._live = None
        if self._memory is not None:
            self._memory.close()
            self._memory = None
