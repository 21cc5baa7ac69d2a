"""Report how the node is doing: ~/status, /diagnostics, and what it takes in, which the file keeps for other programs.

`IntakeRates` makes one report of each topic, and all three tell of that.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robotmem_ros.msg import MemoryStatus

from ..memory import Finding, RobotMemory, Severity, Status
from ..memory.doctor import worst
from ..memory.errors import RobotMemoryError, encodable
from ..memory.intake_report import FRESH, PERCEPTIONS, IntakeReport, TopicReport
from ..messages.fields import field_types, set_field, time_message
from ..messages.requests import Clock
from ..perception import DropReason, TopicCounts
from . import subscriptions as qos
from .perception_topic import NAME as OWN_TOPIC
from .subscriptions import TopicState

_WINDOW = 10.0
"""Seconds over which rates are the mean."""


class IntakeRates:
    """Turn states of topics into reports, with the rates over the last seconds. Call `reports` once a second."""

    def __init__(self, states: Sequence[TopicState] = ()) -> None:
        self._past = deque([(time.monotonic(), _by_name(states))])

    def reports(self, states: Sequence[TopicState]) -> tuple[TopicReport, ...]:
        """Return a report of each topic, in their order."""
        now = time.monotonic()
        while len(self._past) > 1 and now - self._past[0][0] > _WINDOW:
            self._past.popleft()
        then, before = self._past[0]
        self._past.append((now, _by_name(states)))
        seconds = max(now - then, 1e-3)
        return tuple(_report(state, before.get(state.name), seconds) for state in states)


def _by_name(states: Iterable[TopicState]) -> dict[str, TopicState]:
    return {state.name: state for state in states}


def _report(state: TopicState, before: TopicState | None, seconds: float) -> TopicReport:
    counts = state.counts
    received, counts_before = (before.received, before.counts) if before else (0, TopicCounts())
    return TopicReport(
        name=state.name,
        topic=state.topic,
        type=state.type,
        role=state.role,
        qos=state.quality,
        publishers=state.publishers,
        received=state.received,
        received_per_second=round((state.received - received) / seconds, 2),
        last_received_at=state.last_received_at,
        stored=counts.stored_count,
        stored_per_second=round((counts.stored_count - counts_before.stored_count) / seconds, 2),
        waiting=counts.waiting_count,
        drops={reason.value: number for reason, number in sorted(counts.drops.items())},
        problem="; ".join(filter(None, (state.problem, _dropped(counts, counts_before)))),
    )


def _dropped(counts: TopicCounts, before: TopicCounts) -> str:
    """Describe what was dropped since then although no configuration asks for it; what quotes a message is left out."""
    new = {reason: number - before.drops[reason] for reason, number in counts.drops.items() if not reason.is_expected}
    details = {reason: f" ({detail})" for reason, detail in counts.details.items() if not reason.quotes_content}
    words = [f"{number} {reason.value}{details.get(reason, '')}" for reason, number in new.items() if number > 0]
    return f"dropped: {', '.join(words)}" if words else ""


class IntakeFile:
    """Keep the latest report in the file of the memory: soon if it changed, and often enough to show that it is new."""

    _CHANGED_PERIOD, _PERIOD = 5.0, FRESH / 2

    def __init__(self) -> None:
        self._process = uuid.uuid4().hex
        self._last: IntakeReport | None = None
        self._then = 0.0

    def keep(self, memory: RobotMemory, report: IntakeReport, *, at_once: bool = False) -> None:
        """Let the writer store a report if it is time, or `at_once`, without waiting for it."""
        now, content = time.monotonic(), replace(report, reported_at=0)
        age = now - self._then
        is_due = age >= self._PERIOD or (age >= self._CHANGED_PERIOD and content != self._last)
        if at_once or self._last is None or is_due:
            self._last, self._then = content, now
            with suppress(RobotMemoryError):
                # A write that fails is told as `write_error`, and the age of the last report shows it.
                memory.store_intake(self._process, report, background=not at_once)


class StatusTopic:
    """Publish the state of the node and what its memory holds."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._publisher = node.create_publisher(MemoryStatus, "~/status", qos.latched())
        self._clock = clock
        self._last: MemoryStatus | None = None

    def publish(self, state: str, problem: str, status: Status | None, topics: Sequence[TopicState]) -> None:
        """Publish the status if more than its stamp changed; `problem` says what is wrong."""
        message = MemoryStatus(state=state)
        for name, kind in field_types(message):
            if hasattr(status, name):
                set_field(message, name, kind, getattr(status, name))
        message.reason = "; ".join(filter(None, (problem, message.reason)))
        counts = _own_counts(topics)
        topics = [topic for topic in topics if topic.role == PERCEPTIONS and topic.name != OWN_TOPIC]
        message.topic_names = [topic.name for topic in topics]
        message.topic_received = [topic.received for topic in topics]
        message.topic_stored = [topic.counts.stored_count for topic in topics]
        message.topic_dropped = [topic.counts.drops.total() for topic in topics]
        message.received, message.stored = counts.observations, counts.stored_count
        message.dropped = counts.drops.total()
        message.drop_reasons = sorted(reason.value for reason in counts.drops)
        message.drop_counts = [counts.drops[DropReason(reason)] for reason in message.drop_reasons]
        if message != self._last:
            self._last = message
            self._publisher.publish(_stamped(message, self._clock()))


def _own_counts(topics: Sequence[TopicState]) -> TopicCounts:
    return next((topic.counts for topic in topics if topic.name == OWN_TOPIC), TopicCounts())


def _stamped(message: MemoryStatus, now: int) -> MemoryStatus:
    fields = {name: getattr(message, name) for name in message.get_fields_and_field_types()}
    return MemoryStatus(**{**fields, "stamp": time_message(now)})


_OK, _WARN, _ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Diagnostics:
    """Publish what `aggregator` and `rqt_robot_monitor` show: one status for the memory, one for each topic."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._node = node
        self._clock = clock
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)

    def publish(
        self,
        state: str,
        problem: str,
        status: Status | None,
        *,
        topics: Sequence[TopicState],
        reports: Sequence[TopicReport],
        queues: dict[str, int],
        findings: Sequence[Finding],
    ) -> None:
        """Publish the state of the node, its database, its topics and its queues; `problem` says what went wrong."""
        drops = _own_counts(topics).drops
        message = DiagnosticArray(status=[self._memory(state, problem, status, queues, drops, findings=findings)])
        message.header.stamp = time_message(max(self._clock(), 0))
        message.status += map(self._topic, reports, (topic.counts for topic in topics))
        self._publisher.publish(message)

    def _memory(
        self,
        state: str,
        problem: str,
        status: Status | None,
        queues: dict[str, int],
        drops: dict[DropReason, int],
        *,
        findings: Sequence[Finding],
    ) -> DiagnosticStatus:
        values: list[tuple[str, object]] = [("state", state), ("last_error", problem)]
        level, words = (_OK, state) if state == "active" else (_WARN, state)
        if problem and status is None:
            level, words = _ERROR, problem
        if status is not None:
            if trouble := "; ".join(filter(None, (problem, status.reason))):
                level, words = _ERROR if status.write_error else _WARN, trouble
            values += [
                ("mode", status.mode.value),
                ("database", status.db_path),
                ("database_bytes", status.db_bytes),
                ("memories", status.memories),
                ("pending_vectors", status.pending_vectors),
                ("removed_by_retention", status.removed),
                ("fleet_backlog", status.fleet_backlog),
            ]
        values.append(("doctor", _verdict(findings)))
        if worst(findings) is Severity.ERROR:
            trouble = "" if words == state else words
            level, words = _ERROR, "; ".join(filter(None, (trouble, f"doctor: {_verdict(findings)}")))
        values += queues.items()
        values += ((f"dropped.{reason.value}", number) for reason, number in sorted(drops.items()))
        return self._status("memory", level, words, values)

    def _topic(self, report: TopicReport, counts: TopicCounts) -> DiagnosticStatus:
        values: list[tuple[str, object]] = [
            ("topic", report.topic),
            ("type", report.type),
            ("qos", report.qos),
            ("publishers", report.publishers),
            ("received", report.received),
            ("received_per_second", f"{report.received_per_second:.1f}"),
            ("stored", report.stored),
            ("stored_per_second", f"{report.stored_per_second:.1f}"),
            ("waiting", report.waiting),
            ("last_error", counts.last_drop),
        ]
        if counts.fields_of_view or counts.fields_of_view_dropped:
            values += [
                ("fields_of_view", counts.fields_of_view),
                ("fields_of_view_dropped", counts.fields_of_view_dropped),
            ]
        values += ((f"dropped.{reason}", number) for reason, number in report.drops.items())
        return self._status(report.name, _WARN if report.problem else _OK, report.problem or "ok", values)

    def _status(self, name: str, level: bytes, words: str, values: Iterable[tuple[str, object]]) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=level,
            name=f"{self._node.get_fully_qualified_name().lstrip('/')}: {name}",
            message=encodable(words),
            hardware_id="",
            values=[KeyValue(key=key, value=encodable(str(value))) for key, value in values],
        )


def _verdict(findings: Sequence[Finding]) -> str:
    if not findings:
        return "not examined yet"
    trouble = [f"{finding.name}: {finding.seen}" for finding in findings if finding.severity is not Severity.OK]
    return "; ".join(trouble) or "ok"
