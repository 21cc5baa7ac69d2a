"""Open a memory for agents: beside a running node, with the model that its vectors are of and the collection in use."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from .clock import RobotClock
from .collection import CollectionInUse
from .toolbox import Toolbox

_LOG = logging.getLogger(__name__)
_PATIENCE = 20.0
"""Seconds that a recall waits for the model: less than a tool may take."""


@contextmanager
def opened(path: Path, given: Mapping[str, object], *, read_only: bool) -> Iterator[Toolbox]:
    """Open a memory with these parameters, and yield its tools.

    What `given` does not name is taken from the file: the model of its vectors, since another one would compute all of
    them again, and the collection, see `CollectionInUse`.

    Raises:
        DatabaseUnusableError: the file cannot be opened.
        InvalidFieldError: a parameter cannot be used.
        StorageError: the file cannot be read.
    """
    found = _model_of(path) if path.exists() and "embedding_model" not in given else {}
    # Sessions that expire and budgets are the node's to look after.
    options: dict[str, object] = {"session_maintenance": False, **found, **given}
    clock = RobotClock()
    with RobotMemory(path, clock=clock, patience=_PATIENCE, read_only=read_only, **options) as memory:  # type: ignore[arg-type]
        in_use = CollectionInUse(is_given="collection" in given)
        yield Toolbox(memory, clock, in_use, read_only=read_only)


def _model_of(path: Path) -> dict[str, object]:
    with RobotMemory(path, read_only=True, embedding_model="", session_maintenance=False) as memory:
        model = memory.status().model_of_vectors
    if model in {"", Parameters().embedding_model}:
        return {}
    _LOG.info("the vectors in the file are of the model %r, so that one is used", model)
    return {"embedding_model": model}
