"""Store the last map of a recording."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from typing import Protocol

from ..memory.config.parameters import Parameters
from ..memory.errors import RobotMemoryError
from ..memory.maps import OccupancyGrid
from ..memory.models import ImportKey
from ..perception.occupancy import MAP_TYPE, check_message_size, occupancy_grid
from .bag import Bag, Recorded


class MapStore(Protocol):
    """Where a map is stored: what is used of RobotMemory, and a dry run replaces."""

    @property
    def parameters(self) -> Parameters:
        """Return frame and map."""
        ...

    def store_map(self, grid: OccupancyGrid, *, keeps_newer: bool, key: ImportKey | None) -> Future[bool]:
        """Queue an occupancy grid."""
        ...


class RecordedMap:
    """The map topic of a recording: each map replaces the one before it, so that only the last one is read."""

    def __init__(self, bag: Bag, memory: MapStore, topic: str) -> None:
        self._bag = bag
        self._memory = memory
        self.topic = topic
        recorded = bag.topics.get(topic)
        self.is_there = recorded is not None and recorded.type_name == MAP_TYPE
        self.import_id: int | None = None
        self.latest: Recorded | None = None
        """The last message that was read."""
        self.outcome = ""
        """What became of it, in words."""

    @property
    def digest(self) -> str:
        """Return the digest of everything that decides what a message of the topic becomes."""
        parameters = self._memory.parameters
        deciding = (parameters.collection, parameters.memory_frame, parameters.map_id)
        return hashlib.sha256(repr(deciding).encode()).hexdigest()

    def store(self) -> None:
        """Store the last map, unless that was done before or a later one is known."""
        if self.latest is None:
            return
        receipt_ns = self.latest.receipt_ns
        key = None if self.import_id is None else ImportKey(self.import_id, receipt_ns, 0, 0)
        try:
            check_message_size(self.latest.raw)
            message = self._bag.deserialised(self.latest)
            if message is None:
                self.outcome = "the last map cannot be read"
                return
            grid = occupancy_grid(message, self._memory.parameters, received_at=receipt_ns)
            is_new = self._memory.store_map(grid, keeps_newer=True, key=key).result()
        except RobotMemoryError as error:
            self.outcome = f"the last map is not stored: {error}"
        else:
            size = f"{grid.width} x {grid.height} cells"
            self.outcome = f"the last map is stored: {size}" if is_new else "the last map, or a later one, is known"
