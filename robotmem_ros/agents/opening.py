"""Open a memory for agents: beside a running node, with the model that its vectors are of and the collection in use."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from .clock import RobotClock
from .toolbox import Toolbox

_LOG = logging.getLogger(__name__)
_PATIENCE = 20.0
"""Seconds that a recall waits for the model: less than a tool may take."""


@contextmanager
def opened(path: Path, given: Mapping[str, object], *, read_only: bool) -> Iterator[Toolbox]:
    """Open a memory with these parameters, and yield its tools.

    What `given` does not name is taken from the file: the model of its vectors, since another one would compute all of
    them again, and the collection, if the default one is empty.

    Raises:
        DatabaseUnusableError: the file cannot be opened.
        InvalidFieldError: a parameter cannot be used.
        StorageError: the file cannot be read.
    """
    found = {**({} if not path.exists() else _in_file(path, given)), **given}
    # Sessions that expire and budgets are the node's to look after.
    options: dict[str, object] = {"session_maintenance": False, **found}
    clock = RobotClock()
    with RobotMemory(path, clock=clock, patience=_PATIENCE, read_only=read_only, **options) as memory:  # type: ignore[arg-type]
        yield Toolbox(memory, clock, read_only=read_only)


def _in_file(path: Path, given: Mapping[str, object]) -> Mapping[str, object]:
    chosen: dict[str, object] = {}
    with RobotMemory(path, read_only=True, embedding_model="", session_maintenance=False) as memory:
        model = memory.status().model_of_vectors
        of_notes = {one.collection for one in memory.notes().folders}
        sizes = {one.value: one.memories for one in memory.counts("collections") if one.value not in of_notes}
    default = Parameters()
    if "embedding_model" not in given and model and model != default.embedding_model:
        chosen["embedding_model"] = model
        _LOG.info("the vectors in the file are of the model %r, so that one is used", model)
    if "collection" not in given and sizes and default.collection not in sizes:
        chosen["collection"] = next(iter(sizes))
        _LOG.info("the collection is %r, the largest in the file; --collection names another", chosen["collection"])
    return chosen
