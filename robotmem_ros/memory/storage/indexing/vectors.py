"""The vectors of new memories whose text was embedded before."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence

from ...models import NewMemory
from .. import bulk

_KNOWN = "SELECT v.digest, v.id FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.digest = j.value"


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Give memories the vectors that are kept for their texts; the others get theirs later."""
    digests = {content: text_digest(content) for content in {new.content for _, new in added}}
    known = dict(connection.execute(_KNOWN, (json.dumps(list(digests.values())),)))
    rows = [(memory_id, known[digests[new.content]]) for memory_id, new in added if digests[new.content] in known]
    bulk.insert(connection, "memories_vec (memory_id, vector_id)", "(?, ?)", rows)


def text_digest(text: str) -> int:
    """Return 64 bits that stand for a text; among a million texts, two agree with a probability of 3 in 100 million."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
