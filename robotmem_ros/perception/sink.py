"""Where perceptions go: a memory, or what stands for one in a rehearsal."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from ..memory import Stored, View
from ..memory.config.parameters import Parameters
from ..memory.models import NewMemory


class Sink(Protocol):
    """The seam: what of RobotMemory the intake uses."""

    @property
    def parameters(self) -> Parameters:
        """Limits, frames and policies."""
        ...

    @property
    def waiting(self) -> int:
        """How many writes wait, about."""
        ...

    def store_sightings(
        self, new: Sequence[NewMemory], covariances: Sequence[object] = (), *, view: View | None = None
    ) -> Future[tuple[Stored, ...]]:
        """Queues what is to be stored of one message, and what it looked at."""
        ...
