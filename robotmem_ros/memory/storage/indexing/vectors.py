"""The vectors of new memories whose text was embedded before."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from ...models import NewMemory
from .. import bulk
from ..functions import text_digest

_KNOWN = "SELECT v.digest, v.id FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.digest = j.value"


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Gives memories the vectors that are kept for their texts; the others get theirs later."""
    digests = {content: text_digest(content) for content in {new.content for _, new in added}}
    known = dict(connection.execute(_KNOWN, (json.dumps(list(digests.values())),)))
    rows = [(memory_id, known[digests[new.content]]) for memory_id, new in added if digests[new.content] in known]
    bulk.insert(connection, "memories_vec (memory_id, vector_id)", "(?, ?)", rows)
