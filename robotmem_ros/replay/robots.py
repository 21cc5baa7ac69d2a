"""Share out the configured topics of a recording to the robots whose transforms they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..frames import TF_TYPE, FrameOwners, TimeJumps, TransformBuffer, TransformTopics, transform_topics
from ..perception import Intake, TopicConfig
from .bag import Bag

TF_TYPES = frozenset({TF_TYPE, "tf/msg/tfMessage"})
"""The second is of the first years of ROS 1, and the same."""


@dataclass
class Robot:
    """Topics that share transforms."""

    tf_topics: frozenset[str]
    configs: Sequence[TopicConfig]
    buffer: TransformBuffer
    intake: Intake
    owners: FrameOwners
    times: TimeJumps


def recorded_tf_topics(bag: Bag) -> frozenset[str]:
    """Return the topics of a recording that have transforms."""
    return frozenset(name for name, topic in bag.topics.items() if not TF_TYPES.isdisjoint(topic.types))


def shared_out(
    configs: Sequence[TopicConfig], recorded: frozenset[str], named: Iterable[str]
) -> dict[TransformTopics, list[TopicConfig]]:
    """Return the topics that go with the same transforms, those of `named` topics if there are any; one at least."""
    if chosen := frozenset(f"/{name.lstrip('/')}" for name in named):
        return {TransformTopics((), chosen & recorded): [*configs]}
    shared: dict[TransformTopics, list[TopicConfig]] = {}
    for config in configs:
        shared.setdefault(transform_topics(recorded, config.topic), []).append(config)
    return shared or {transform_topics(recorded, "/"): []}
