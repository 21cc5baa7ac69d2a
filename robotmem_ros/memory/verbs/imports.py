"""Imports: what keeps a recording that is replayed twice from being stored twice."""

from __future__ import annotations

from ..models import Recording
from ..storage import imports
from .access import Access


class Imports:
    """The recordings that a memory took in, `memory.imports`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def begin(self, recording: Recording) -> int:
        """Return the id for the import keys of one topic of a recording; an import that was begun before goes on."""
        return self._access.write(imports.begin, recording).result()

    def finish(self, import_id: int) -> None:
        """Note that an import is complete."""
        self._access.write(imports.finish, import_id).result()
