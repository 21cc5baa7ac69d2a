"""Answer for other robots: verbs that read look in the file of the robot that is named, the others refuse to.

`RobotMemory` knows nothing of it. `open_memory` opens a router where the parameter `other_memories` names files.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from . import validation
from .config.parameters import Parameters
from .errors import DatabaseUnusableError
from .other_memories import Arguments, OtherMemories, OtherMemory
from .robot_memory import RobotMemory
from .search.details import MemoriesInFull, parse_ids

P = ParamSpec("P")
T = TypeVar("T")
Find = Callable[[OtherMemories, Arguments], tuple[OtherMemory | None, Arguments]]
"""Finds the memory that arguments ask, None for the own one, and the arguments to ask it with."""


def _routed(verb: Callable[Concatenate[RobotMemory, P], T], find: Find) -> Callable[Concatenate[MemoryRouter, P], T]:
    signature, anywhere = inspect.signature(verb), cast(Callable[..., T], verb)

    @wraps(verb)
    def ask(self: MemoryRouter, /, *arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            bound = signature.bind(self, *arguments, **keywords).arguments
        except TypeError:
            return verb(self, *arguments, **keywords)  # its error says more
        _, *by_name = bound.items()
        other, inner = find(self.others, dict(by_name))
        if other is None:
            return anywhere(self, **inner)
        return other.ask(lambda memory: anywhere(memory, **inner))

    return ask


class MemoryRouter(RobotMemory):
    """A memory that also answers for those of the robots that the parameter `other_memories` names."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._others = OtherMemories(lambda: self.parameters, self._open)
        self.attach(self._others)

    recall = _routed(RobotMemory.recall, OtherMemories.of_request)
    timeline = _routed(RobotMemory.timeline, OtherMemories.of_request)
    counts = _routed(RobotMemory.counts, OtherMemories.of_collection)
    tags = _routed(RobotMemory.tags, OtherMemories.of_collection)
    density = _routed(RobotMemory.density, OtherMemories.of_collection)
    sessions = _routed(RobotMemory.sessions, OtherMemories.of_collection)
    data = _routed(RobotMemory.data, OtherMemories.of_memory)
    history = _routed(RobotMemory.history, OtherMemories.of_memory)
    object_history = _routed(RobotMemory.object_history, OtherMemories.of_memory)
    explain = _routed(RobotMemory.explain, OtherMemories.own)
    forget = _routed(RobotMemory.forget, OtherMemories.own)
    restore = _routed(RobotMemory.restore, OtherMemories.own)
    update = _routed(RobotMemory.update, OtherMemories.own)
    purge = _routed(RobotMemory.purge, OtherMemories.own)
    start_session = _routed(RobotMemory.start_session, OtherMemories.own)
    consolidate = _routed(RobotMemory.consolidate, OtherMemories.own)

    def get_memories(self, ids: Iterable[int] | int, *, include_forgotten: bool = False) -> MemoriesInFull:
        """Return memories of any of the files in full, as `RobotMemory.get_memories` does."""
        order, everything = parse_ids(ids), validation.flag("include_forgotten", include_forgotten)
        own_ids = [memory_id for memory_id in order if self.others.of(memory_id) is None]
        parts = [
            *self.others.details(order, include_forgotten=everything),
            super().get_memories(own_ids, include_forgotten=everything),
        ]
        memories = [details for part in parts for details in part]
        left_out = [entry for part in parts for entry in part.left_out]
        return MemoriesInFull(
            tuple(sorted(memories, key=lambda details: order.index(details.memory.id))),
            tuple(sorted(left_out, key=lambda entry: order.index(entry.memory_id))),
        )

    @property
    def others(self) -> OtherMemories:
        """Return the memories of the other robots."""
        _ = self.parts  # raises in a forked process
        return self._others

    def _open(self, path: Path, parameters: Parameters) -> RobotMemory:
        if path.exists() and self.path.exists() and path.samefile(self.path):
            raise DatabaseUnusableError(path, "is the file of this memory", "name that of another robot")
        options = {entry.name: getattr(parameters, entry.name) for entry in fields(Parameters)}
        return RobotMemory(
            embedder=self.parts.embedders, clock=self._access.clock, read_only=True, has_companions=True, **options
        )
