"""The shape of a tool, and what it works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..memory import RobotMemory
from . import times
from .collection import collections
from .views import Shown, View


@dataclass(frozen=True)
class Desk:
    """What a tool works on."""

    memory: RobotMemory
    view: View
    is_simulated: bool = False
    """Whether the robot's clock is that of a simulation, and now the newest time in the file."""
    read_only: bool = False

    def about(self) -> Shown:
        """Say what holds for all tools."""
        clock = "of a simulation: now is the time of the newest memory" if self.is_simulated else "of this machine"
        return {
            "now": times.iso(self.view.now, self.view.zone), "clock": clock, "read_only": self.read_only,
            "collection": self.memory.parameters.collection, "collections": dict(collections(self.memory)),
            "memory_frame": self.view.memory_frame,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool; its arguments are the fields of its request, but for those that are left out."""

    name: str
    title: str
    description: str
    request: type
    run: Callable[[Desk, Mapping[str, Any]], object]
    """Takes the arguments, checked, with times in nanoseconds; returns text, or what JSON can hold."""
    examples: tuple[Mapping[str, Any], ...]
    """Arguments as an agent may give them."""
    left_out: frozenset[str] = frozenset()
    """Fields of the request that are too rare for an agent to read about each time."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Of arguments, instead of those of the request."""
    writes: bool = False
    destructive: bool = False
    """Whether it changes or withdraws what is there."""
    idempotent: bool = True
    """Whether a second call with the same arguments changes nothing more."""
    time_limit: float = 30.0
    """Seconds."""
