"""Make an episode of each goal of the action servers that `watch_actions` names, with its outcome.

A goal is a session with the id of the goal, so that it goes on when the node is started again. What came of it is a
memory at the place where the robot was when it ended, with the last feedback and, where the server or its client tells
them by introspection, the goal itself.
"""

from __future__ import annotations

import importlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTimeError
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from ..memory import RobotMemory
from ..memory.errors import RobotMemoryError
from ..memory.intake_report import ACTIONS
from ..memory.models import ENDED, NewPerception, PerceptionType, Pose, Session
from ..memory.new_memory import new_perception
from ..memory.sessions.sessions import new_session
from ..memory.storage import session_rows
from ..memory.threads import Threads
from ..messages.requests import Clock
from ..perception import MessageClasses, Placed, PlacePerception, UnknownTypeError
from ..perception.counters import DropError
from ..perception.mcap import WrittenMessage, write_mcap
from ..perception.message_types import from_rclpy
from ..perception.values import json_converter, stamp_ns
from .subscriptions import MatchedSubscription, TopicState

STATUS_TYPE = "action_msgs/msg/GoalStatusArray"
_DEPTH = 10
_MOST_GOALS = 64
"""Goals of which the content is kept until it is known what came of them."""
_LARGEST = 16_384
"""Bytes of a goal or of feedback, as JSON, that a memory keeps."""
_PATIENCE = 5.0
"""Seconds in which a node that ends stores what came of goals."""
_TYPE_NAME = re.compile(r"(\w+)/action/(\w+?)_(?:FeedbackMessage|SendGoal_Event)")
_ORIGIN = Pose(0.0, 0.0, 0.0)


class Goal(NamedTuple):
    """A goal of an action server."""

    action: str
    key: bytes
    """Its id."""

    @property
    def session_id(self) -> str:
        """Return the id as a session has it."""
        return str(uuid.UUID(bytes=self.key))

    @property
    def words(self) -> str:
        """Return the name of the action as words."""
        return self.action.rpartition("/")[2].replace("_", " ")


class Outcome(NamedTuple):
    """What came of a goal."""

    word: str
    score: float | None
    """From 0 to 1; None if nobody can say."""


OUTCOMES = {
    GoalStatus.STATUS_SUCCEEDED: Outcome("succeeded", 1.0),
    GoalStatus.STATUS_ABORTED: Outcome("aborted", 0.0),
    GoalStatus.STATUS_CANCELED: Outcome("canceled", None),
}
Before = Callable[[int], Sequence[WrittenMessage]]
_GOES_ON = {GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING}


class WatchedActions:
    """Listen from creation to `close`; then `finish` stores what came of goals until then.

    `place` moves a perception into the memory frame, `before` tells what came in the seconds before a time.
    """

    def __init__(self, node: Node, memory: RobotMemory, place: PlacePerception, clock: Clock, before: Before) -> None:
        self._node = node
        self._threads = Threads(1, "memory-actions")
        episodes = _Episodes(memory, place, before, self._submit)
        self._actions = [_ActionTopics(node, name, episodes, clock) for name in memory.parameters.watch_actions]
        self._error = ""

    def poll(self) -> None:
        """Match the subscriptions to the servers."""
        for action in self._actions:
            action.poll()

    def states(self) -> list[TopicState]:
        """Return the states of the topics."""
        return [state for action in self._actions for state in action.states()]

    def problem(self) -> str:
        """Say which outcome could not be stored last, and why; empty if it could."""
        return self._error

    def close(self) -> None:
        """Stop listening; a goal that goes on is taken up again by the next start."""
        for action in self._actions:
            action.close()

    def finish(self) -> None:
        """Store what came of goals, for seconds at most; to be called once no transform is waited for."""
        last = self._threads.submit(lambda: None)
        self._threads.shutdown(wait=False)
        try:
            last.result(_PATIENCE)
        except NotInTimeError:
            self._fail(f"not all outcomes of actions were stored within {_PATIENCE:g} s")

    def _submit(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except RobotMemoryError as error:
                self._fail(f"what came of an action is not stored: {error}")
            else:
                self._error = ""

        self._threads.submit(run)

    def _fail(self, problem: str) -> None:
        if problem != self._error:
            self._node.get_logger().warning(problem)
        self._error = problem


class _ActionTopics:
    """The topics of one action server: its status and, where the type is installed, feedback and introspection."""

    def __init__(self, node: Node, name: str, episodes: _Episodes, clock: Clock) -> None:
        self._node = node
        self._name = name
        self._episodes = episodes
        self._clock = clock
        self._since = clock()
        self._going: set[bytes] = set()
        self._over: set[bytes] = set()
        self._kind: _Kind | None = None
        self._problem = ""
        self._subscriptions = [self._subscribe("status", GoalStatusArray, STATUS_TYPE, self._take_status)]

    def poll(self) -> None:
        """Match the subscriptions to the publishers, and find out the type of the action."""
        for subscription in self._subscriptions:
            subscription.poll()
        if self._kind is None:
            self._find_kind()

    def states(self) -> list[TopicState]:
        """Return the states of the topics."""
        status, *others = self._subscriptions
        problem = self._problem or ("" if status.publishers else "there is no such action server")
        return [status.state(ACTIONS, problem=problem), *(other.state(ACTIONS) for other in others)]

    def close(self) -> None:
        """Stop listening."""
        for subscription in self._subscriptions:
            subscription.close()

    def _subscribe(self, part: str, kind: Any, type_name: str, take: Callable[[Any], None]) -> MatchedSubscription:
        def receive(raw: bytes) -> None:
            try:
                take(deserialize_message(raw, kind))
            except Exception as error:  # bytes that are no such message
                self._problem = f"a message of {topic} cannot be read: {error!r}"

        topic = f"{self._name}/_action/{part}"
        return MatchedSubscription(self._node, kind, type_name, topic, receive, depth=_DEPTH)

    def _find_kind(self) -> None:
        offers = self._node.get_publishers_info_by_topic(f"{self._name}/_action/feedback")
        match = _TYPE_NAME.fullmatch(offers[0].topic_type) if offers else None
        if match is None:
            return
        try:
            self._kind = kind = _Kind(*match.groups())
        except (ImportError, AttributeError):
            self._problem = f"{match[1]} is not installed: neither feedback nor goals are kept"
            return
        self._problem = ""
        self._subscriptions += [
            self._subscribe("feedback", kind.feedback, f"{kind.name}_FeedbackMessage", self._take_feedback),
            self._subscribe("send_goal/_service_event", kind.event, f"{kind.name}_SendGoal_Event", self._take_event),
        ]

    def _take_status(self, message: GoalStatusArray) -> None:
        now, present = self._clock(), set[bytes]()
        for status in message.status_list:
            key = bytes(status.goal_info.goal_id.uuid)
            present.add(key)
            began_at = stamp_ns(status.goal_info.stamp) or now
            # One that begins and ends between two messages counts, one that was over before does not.
            if key not in self._going | self._over and (status.status in _GOES_ON or began_at >= self._since):
                self._going.add(key)
                self._episodes.begin(Goal(self._name, key), began_at)
            if status.status in OUTCOMES and key not in self._over:
                self._episodes.end(Goal(self._name, key), OUTCOMES[status.status], now, is_here=key in self._going)
                self._going.discard(key)
                self._over.add(key)
        self._over &= present

    def _take_feedback(self, message: Any) -> None:
        if (key := bytes(message.goal_id.uuid)) in self._going:
            self._episodes.feedback[key] = message.feedback

    def _take_event(self, message: Any) -> None:
        for request in message.request:
            self._episodes.keep_goal(bytes(request.goal_id.uuid), request.goal)


class _Kind:
    """A type of actions."""

    def __init__(self, package: str, name: str) -> None:
        kind = getattr(importlib.import_module(f"{package}.action"), name)
        self.name = f"{package}/action/{name}"
        self.feedback: Any = kind.Impl.FeedbackMessage
        self.event: Any = kind.Impl.SendGoalService.Event


class _End(NamedTuple):
    """The end of a goal."""

    outcome: Outcome
    at: int
    where: Future[Placed] | None
    messages: Mapping[str, Any]
    """Its feedback and what it asked for, as far as they are known."""
    before: Sequence[WrittenMessage]
    """What came in the seconds before; nothing unless it failed."""


class _Episodes:
    """What is stored of goals. `submit` makes calls one after the other, where they may wait."""

    def __init__(
        self,
        memory: RobotMemory,
        place: PlacePerception,
        before: Before,
        submit: Callable[[Callable[[], None]], None],
    ) -> None:
        self._memory = memory
        self._place = place
        self._before = before
        self._submit = submit
        self.feedback: dict[bytes, Any] = {}
        """The last feedback of each goal that goes on."""
        self._contents: dict[bytes, Any] = {}

    def keep_goal(self, key: bytes, content: Any) -> None:
        """Keep what a goal asks for."""
        self._contents[key] = content
        if len(self._contents) > _MOST_GOALS:
            del self._contents[next(iter(self._contents))]

    def begin(self, goal: Goal, began_at: int) -> None:
        """Start the session of a goal, unless it goes on already."""
        self._submit(partial(self._start, goal, began_at, self._where(began_at)))

    def end(self, goal: Goal, outcome: Outcome, now: int, *, is_here: bool) -> None:
        """Store what came of a goal, and end its session; unless the node `is_here`, nobody knows where and when."""
        kept = (("goal", self._contents), ("feedback", self.feedback))
        messages = {name: of_goals.pop(goal.key) for name, of_goals in kept if goal.key in of_goals}
        where = self._where(now) if is_here else None
        before = self._before(now) if is_here and outcome is OUTCOMES[GoalStatus.STATUS_ABORTED] else ()
        self._submit(partial(self._finish, goal, _End(outcome, now, where, messages, before)))

    def _start(self, goal: Goal, began_at: int, where: Future[Placed] | None) -> None:
        if self._session(goal.session_id) is None:
            context = {"action": goal.action, **_spatial("begin", _pose_of(where))}
            session = new_session(self._memory.parameters, began_at, context, None, None)
            self._memory.parts.sessions.start(replace(session, session_id=goal.session_id))

    def _finish(self, goal: Goal, end: _End) -> None:
        session = self._session(goal.session_id)
        if session is None or session.end_reason == ENDED:
            return  # it was over before the node was there, or is told once more after a restart
        seconds = (end.at - session.started_at) * 1e-9
        context = json.loads(session.context_json) | {"outcome": end.outcome.word, "duration": round(seconds, 3)}
        context |= {name: _json_of(message) for name, message in end.messages.items()}
        perception = NewPerception(
            f"{goal.words} {end.outcome.word} after {seconds:.0f} s", PerceptionType.PROCEDURAL, context=context,
            session_id=session.session_id, collection=session.collection, pose=_pose_of(end.where), observed_at=end.at,
            data=write_mcap(end.before) if end.before else None, metadata=_metadata_of(end.before),
        )  # fmt: skip
        new = new_perception(self._memory.parameters, perception, now=lambda: end.at, source="action")
        self._memory.store(new).result()
        self._memory.sessions.end(session.session_id, end.outcome.score)

    def _session(self, session_id: str) -> Session | None:
        with self._memory.parts.database.snapshot() as snapshot:
            return session_rows.find(snapshot, session_id)

    def _where(self, stamp: int) -> Future[Placed] | None:
        # The pose of the robot at a time, once its transform has come.
        frame, parameters = self._memory.parameters.robot_frame, self._memory.parameters
        if not frame:
            return None
        here = NewPerception("here", PerceptionType.PROCEDURAL, pose=_ORIGIN, frame_id=frame, observed_at=stamp)
        return self._place(new_perception(parameters, here, now=lambda: stamp))


def _pose_of(where: Future[Placed] | None) -> Pose | None:
    # No pose where no transform came: one in the frame of the robot itself says nothing.
    placed = where.result() if where is not None else None
    return placed.new.pose if placed and not placed.reason else None


def _metadata_of(before: Sequence[WrittenMessage]) -> dict[str, object] | None:
    if not before:
        return None
    seconds = (before[-1].received_at - before[0].received_at) * 1e-9
    return {"format": "mcap", "seconds": round(seconds, 3), "messages": Counter(m.channel.topic for m in before)}


def _spatial(name: str, pose: Pose | None) -> dict[str, object]:
    return {"spatial": {name: [round(number, 4) for number in pose[:3]]}} if pose else {}


def _json_of(message: Any) -> object:
    types = MessageClasses()
    try:
        value = {
            name: json_converter(from_rclpy(text), types)(getattr(message, name))
            for name, text in message.get_fields_and_field_types().items()
        }
    except (DropError, UnknownTypeError) as error:
        return {"omitted": str(error)}
    size = len(json.dumps(value))
    return value if size <= _LARGEST else {"omitted": f"{size:,} bytes are more than {_LARGEST:,}"}
