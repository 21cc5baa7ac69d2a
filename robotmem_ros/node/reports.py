"""Report how the node is doing: ~/status, latched, when something changed; /diagnostics, once a second."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robotmem_ros.msg import MemoryStatus

from ..memory import Finding, Severity, Status
from ..memory.doctor import worst
from ..memory.errors import encodable
from ..perception import DropReason, TopicCounts
from . import subscriptions as qos
from .conversions import Clock, fill_status
from .fields import time_message
from .topics import TopicState


class StatusTopic:
    """Publish the state of the node and what its memory holds."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._publisher = node.create_publisher(MemoryStatus, "~/status", qos.latched())
        self._clock = clock
        self._last: MemoryStatus | None = None

    def publish(
        self, state: str, problem: str, status: Status | None, counts: TopicCounts, topics: Sequence[TopicState]
    ) -> None:
        """Publish the status if more than its stamp changed; `problem` says what is wrong."""
        message = MemoryStatus(state=state)
        if status is not None:
            fill_status(message, status)
        message.reason = "; ".join(filter(None, (problem, message.reason)))
        message.topic_names = [topic.config.name for topic in topics]
        message.topic_received = [topic.arrival_count for topic in topics]
        message.topic_stored = [topic.counts.stored_count for topic in topics]
        message.topic_dropped = [topic.counts.drops.total() for topic in topics]
        message.received, message.stored = counts.observations, counts.stored_count
        message.dropped = counts.drops.total()
        message.drop_reasons = sorted(reason.value for reason in counts.drops)
        message.drop_counts = [counts.drops[DropReason(reason)] for reason in message.drop_reasons]
        if message != self._last:
            self._last = message
            self._publisher.publish(_stamped(message, self._clock()))


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
        self._before: dict[str, TopicState] = {}
        self._then = time.monotonic()

    def publish(
        self,
        state: str,
        problem: str,
        status: Status | None,
        *,
        topics: Sequence[TopicState],
        queues: dict[str, int],
        drops: dict[DropReason, int],
        findings: Sequence[Finding],
    ) -> None:
        """Publish the state of the node, its database, its topics and its queues; `problem` says what went wrong."""
        now = time.monotonic()
        elapsed, self._then = max(now - self._then, 1e-3), now
        message = DiagnosticArray(status=[self._memory(state, problem, status, queues, drops, findings=findings)])
        message.header.stamp = time_message(max(self._clock(), 0))
        for topic in topics:
            message.status.append(self._topic(topic, self._before.get(topic.config.name), elapsed))
        self._before = {topic.config.name: topic for topic in topics}
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

    def _topic(self, now: TopicState, before: TopicState | None, elapsed: float) -> DiagnosticStatus:
        level, words = _OK, "ok"
        new_drops = {
            reason: number - (before.counts.drops[reason] if before else 0)
            for reason, number in now.counts.drops.items()
            if not reason.is_expected
        }
        if any(new_drops.values()):
            level = _WARN
            words = ", ".join(f"{number} {reason.value}" for reason, number in new_drops.items() if number)
            words = f"dropped: {words}"
        if now.problem:
            level, words = _WARN, now.problem
        stored_count = now.counts.stored_count
        values: list[tuple[str, object]] = [
            ("topic", now.config.topic),
            ("type", now.config.type),
            ("qos", now.quality),
            ("publishers", now.publishers),
            ("received", now.arrival_count),
            ("received_per_second", f"{(now.arrival_count - (before.arrival_count if before else 0)) / elapsed:.1f}"),
            ("stored", stored_count),
            ("stored_per_second", f"{(stored_count - (before.counts.stored_count if before else 0)) / elapsed:.1f}"),
            ("waiting", now.counts.waiting_count),
            ("last_error", now.counts.last_drop),
        ]
        if now.config.field_of_view_range:
            values += [
                ("fields_of_view", now.counts.fields_of_view),
                ("fields_of_view_dropped", now.counts.fields_of_view_dropped),
            ]
        values += ((f"dropped.{reason.value}", number) for reason, number in sorted(now.counts.drops.items()))
        return self._status(now.config.name, level, words, values)

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
