"""What a session says of its memories, by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from robotmem_ros.memory.embedding import Vector

from .reference_model import ReferenceMemory

_NEIGHBOR_WEIGHT, _SESSION_WEIGHT, _VECTOR_WEIGHT = 0.4, 0.4, 0.3


class SessionOracle:
    """The sessions of the memories that it is given."""

    def __init__(self, memories: Sequence[ReferenceMemory]) -> None:
        self._by_id = {memory.id: memory for memory in memories}
        self._sessions: dict[str, list[int]] = {}
        for memory in sorted(memories, key=lambda memory: memory.id):
            self._sessions.setdefault(memory.new.session_id, []).append(memory.id)

    def neighbors(self, memory_id: int) -> list[tuple[int, float]]:
        """List the two that were stored next before it and the two after it in its session, and what they count."""
        ids = self._session(memory_id)
        at = ids.index(memory_id)
        return [(one, 0.5 ** (abs(place - at) - 1)) for place, one in enumerate(ids) if 0 < abs(place - at) <= 2]

    def distances(self, query: Vector, ids: Iterable[int]) -> dict[int, float]:
        """Measure by the vector of each, or its sum with a part of those of the two memories before it, if nearer."""
        distances = {}
        for memory_id in ids:
            total = alone = self._by_id[memory_id].nearest(query)
            for beside, _ in self.neighbors(memory_id):
                other = self._by_id[beside]
                if beside < memory_id and other.active and other.vectors:
                    total = total + _VECTOR_WEIGHT * other.nearest(query)
            nearest = max(float(_unit(one) @ _unit(query)) for one in (alone, total))
            distances[memory_id] = round(1 - nearest, 9)
        return distances

    def gain(self, memory_id: int, scores: Mapping[int, float]) -> float:
        """Add shares of what its best neighbour and the three best of its session have above half of the best score."""
        floor = max(scores.values()) / 2
        above = {one: max(scores.get(one, 0.0) - floor, 0.0) for one in self._session(memory_id)}
        if not self._by_id[memory_id].new.session_id:
            return 0.0
        beside = max((above[one] * part for one, part in self.neighbors(memory_id)), default=0.0)
        return _NEIGHBOR_WEIGHT * beside + _SESSION_WEIGHT * sum(sorted(above.values())[-3:]) / 3

    def _session(self, memory_id: int) -> list[int]:
        session = self._by_id[memory_id].new.session_id
        return self._sessions[session] if session else [memory_id]


def _unit(vector: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    unit: npt.NDArray[np.float64] = vector.astype(np.float64) / np.linalg.norm(vector)
    return unit
