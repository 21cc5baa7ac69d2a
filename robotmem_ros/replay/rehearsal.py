"""A memory that stores nothing: for a dry run."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from ..memory import Stored, View
from ..memory.config.parameters import Parameters
from ..memory.models import NewMemory


class Rehearsal:
    """Takes what a memory takes, and forgets it at once."""

    waiting = 0

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def store_sightings(
        self, new: Sequence[NewMemory], covariances: Sequence[object] = (), *, view: View | None = None
    ) -> Future[tuple[Stored, ...]]:
        """As if it had been stored."""
        del covariances, view
        done: Future[tuple[Stored, ...]] = Future()
        done.set_result(tuple(Stored(0) for _ in new))
        return done
