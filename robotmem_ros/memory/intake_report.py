"""What a node took in, as it reports from time to time into the file, for whoever sees only that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .times import ago

FRESH = 60.0
"""Seconds after which a report says nothing of the present; a node that runs reports twice as often at least."""
ACTIVE, FINALIZED = "active", "finalized"
"""Lifecycle states of a node that takes in, and of one that has ended."""
PERCEPTIONS, TRANSFORMS, LOCALISATION = "perceptions", "transforms", "localisation"
MAP, ACTIONS, RING = "map", "actions", "ring"
"""What topics are for."""


@dataclass(frozen=True)
class TopicReport:
    """What came on one topic since the node was activated."""

    name: str
    """Name of its configuration, or the topic."""
    topic: str
    type: str
    role: str
    """What it is for: perceptions, transforms, localisation, map, actions or ring."""
    qos: str
    """Reliability and durability in use; empty before there is a subscription."""
    publishers: int
    received: int
    """Messages, also those that could not be read."""
    received_per_second: float
    """Over the last ten seconds."""
    last_received_at: int | None
    """Time of the last message in nanoseconds, by the wall clock; None if none came."""
    stored: int = 0
    stored_per_second: float = 0.0
    waiting: int = 0
    """Observations that wait for a transform, or to be written."""
    drops: Mapping[str, int] = field(default_factory=dict)
    """Numbers of dropped observations by reason."""
    problem: str = ""
    """What is wrong now: what was dropped in the last ten seconds, and why, or that nobody publishes."""


@dataclass(frozen=True)
class IntakeReport:
    """What one node told of its intake last."""

    node: str
    """Its full name, such as `/memory`."""
    state: str
    """Its lifecycle state then: unconfigured, inactive, active or finalized."""
    reported_at: int
    """Time in nanoseconds, by the wall clock."""
    problem: str = ""
    """What its intake lacks as a whole; empty if nothing."""
    topics: tuple[TopicReport, ...] = ()
    age: float = 0.0
    """Seconds since then when it was read; negative if the clock was set back since."""

    @property
    def ago(self) -> str:
        """Tell in words how old it is."""
        return ago(0, round(self.age * 1e9))

    @property
    def is_current(self) -> bool:
        """Return whether it tells of the present."""
        return abs(self.age) <= FRESH

    @property
    def trouble(self) -> str:
        """Describe what is wrong with the intake now, or why that cannot be known; empty if all is well, or ended."""
        if self.state == FINALIZED:
            return ""
        if not self.is_current:
            return f"{self.node} was {self.state}, and reported {self.ago}: what comes in now cannot be seen"
        topics = (
            topic.problem if topic.topic in topic.problem else f"{topic.topic}: {topic.problem}"
            for topic in self.topics
            if topic.problem
        )
        state = "" if self.state == ACTIVE else f"{self.node} is {self.state}: it takes nothing in"
        return "; ".join(filter(None, (state, self.problem, *topics)))


@dataclass(frozen=True)
class Intake:
    """What the nodes that write to a file told of their intake."""

    reports: tuple[IntakeReport, ...] = ()
    """Of each node the last one, the newest first."""
    is_seen: bool = False
    """Whether a node that takes in now tells of it."""
    trouble: str = ""
    """What is wrong with it, or why that cannot be known; empty if nothing is, and if no node has reported."""

    @staticmethod
    def of(reports: Iterable[IntakeReport]) -> Intake:
        """Return what reports, each with its age, tell together."""
        newest_first = tuple(sorted(reports, key=lambda report: -report.reported_at))
        is_seen = any(report.state == ACTIVE and report.is_current for report in newest_first)
        troubles = [(report.node, report.trouble) for report in newest_first if report.trouble]
        is_one = len(newest_first) == 1
        texts = (words if is_one or words.startswith(node) else f"{node}: {words}" for node, words in troubles)
        return Intake(newest_first, is_seen, "; ".join(texts))

    @property
    def words(self) -> str:
        """Tell who reported when, and of how many messages."""
        return "; ".join(map(_words, self.reports)) or "no node has reported what it takes in"


def _words(report: IntakeReport) -> str:
    perceptions = [topic for topic in report.topics if topic.role == PERCEPTIONS]
    received, stored = (sum(getattr(topic, name) for topic in perceptions) for name in ("received", "stored"))
    dropped = sum(sum(topic.drops.values()) for topic in perceptions)
    numbers = f"{received:,} messages received, {stored:,} observations stored, {dropped:,} dropped"
    return f"{report.node} reported {report.ago}: {report.state}, {numbers}"
