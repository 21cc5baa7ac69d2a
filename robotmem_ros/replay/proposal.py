"""Propose a configuration for a recording: the topics that have a preset."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..frames import TF_TYPE
from ..memory.config.parameters import Parameters
from ..memory.errors import RobotMemoryError
from ..perception import load_presets
from ..perception.occupancy import MAP_TYPE
from .bag import READ_ENCODINGS, Bag, RecordedTopic
from .config import config_of
from .replay import DryRun, Replay

_READ_ALWAYS = {TF_TYPE: "transforms", MAP_TYPE: "map, if map_topic names it"}
_NO_PRESET = "no preset: configure it with a description"


class Proposal(NamedTuple):
    """A topic of a recording, and whether it can be taken as it is."""

    topic: str
    type_name: str
    messages: int
    name: str
    """Name for its configuration; empty if it cannot be taken."""
    note: str
    """Reason, or what it is read for."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """Parameters that take this topic."""
        return {"perception_topics": [self.name], self.name: {"topic": self.topic, "type": self.type_name}}


def proposals(bag: Bag) -> list[Proposal]:
    """Return a proposal for each topic of a recording and each type that it has there."""
    presets = load_presets()
    taken = set(Parameters.__dataclass_fields__)
    found = []
    for topic, recorded in bag.topics.items():
        for type_name, messages in recorded.types.items():
            note = _READ_ALWAYS.get(type_name) or _obstacle(recorded, type_name, presets)
            proposal = Proposal(topic, type_name, messages, "" if note else _name(topic, taken), note)
            if not note and (problem := _problem(bag, proposal)):
                proposal = proposal._replace(name="", note=problem)
            found.append(proposal)
            taken.add(proposal.name)
    return found


def proposed_parameters(taken: Sequence[Proposal]) -> dict[str, object]:
    """Return the parameters that take some topics."""
    parameters: dict[str, object] = {"perception_topics": [proposal.name for proposal in taken]}
    return {**parameters, **{one.name: one.parameters[one.name] for one in taken}}


def _obstacle(recorded: RecordedTopic, type_name: str, presets: Collection[str]) -> str:
    if recorded.encoding not in READ_ENCODINGS:
        return f"recorded as {recorded.encoding!r}, which is not read"
    if "/msg/" not in type_name:
        return "no message: cannot be configured"
    return "" if type_name in presets else _NO_PRESET


def _problem(bag: Bag, proposal: Proposal) -> str:
    """Return why a topic cannot be read by the preset of its type; empty if it can."""
    try:
        config = config_of(proposal.parameters)
        Replay(bag, config, DryRun(config.parameters), only=[proposal.name])
    except RobotMemoryError as error:
        return str(error)
    return ""


def _name(topic: str, taken: Collection[str]) -> str:
    """Return a name for the configuration of a topic: detections of /detections."""
    name = re.sub(r"\W+", "_", topic, flags=re.ASCII).strip("_") or "topic"
    numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)
