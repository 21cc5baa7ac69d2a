"""Talk to the published robotmem from here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.internals.stages import describe_model
from bench.peers.channel import LoadReport, Peer
from bench.peers.robotmem import REQUIREMENT
from bench.timing import Result
from bench.worlds.house import HouseMemory
from bench.worlds.house_queries import Query


class Robotmem(Peer):
    """The published robotmem."""

    name = REQUIREMENT
    block = 500

    def __init__(self, python: Path, work: Path, model: str) -> None:
        # Its home is not to be the user's.
        super().__init__("robotmem", python, work / "robotmem.log", ROBOTMEM_HOME=str(work / "home"))
        self._model = describe_model(model)

    def open(self, database: Path) -> None:
        """Open a database; the model is loaded with the first one.

        Raises:
            RuntimeError: it cannot search vectors.
        """
        if not self.call("open", db_path=str(database), model=self._model):
            raise RuntimeError("the peer's interpreter cannot load sqlite-vec; use the distribution's own python3")

    def learn(self, memories: Sequence[HouseMemory], *, similar: bool) -> LoadReport:
        """Learn memories, the model included; `similar` is whether it looks for similar ones first, as published."""
        return LoadReport(**self.call("learn", memories=[as_json(memory) for memory in memories], similar=similar))

    def save(self, memories: Sequence[HouseMemory]) -> float:
        """Save perceptions, the model included; return the seconds that took."""
        return float(self.call("save", memories=[as_json(memory) for memory in memories]))

    def recall(self, query: Query) -> Result:
        """Run one query; the time is that within the peer's process."""
        reply = self.call("recall", arguments=query.arguments())
        return Result(reply["seconds"], tuple(reply["contents"]))


def as_json(memory: HouseMemory) -> dict[str, Any]:
    """Return a memory as robotmem is given it."""
    return {"content": memory.content, "context": memory.context}
