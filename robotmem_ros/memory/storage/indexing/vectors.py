"""The vectors of new memories whose text was embedded before."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence

from ...models import Kind, NewMemory
from .. import bulk

_KNOWN = "SELECT v.digest, v.id FROM json_each(?) AS j CROSS JOIN vectors AS v ON v.digest = j.value"


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Give memories the vectors that are kept for their texts; the others get theirs later."""
    texts = [(memory_id, embedded_text(new.kind.value, new.human_summary, new.content)) for memory_id, new in added]
    digests = {text: text_digest(text) for text in {text for _, text in texts}}
    known = dict(connection.execute(_KNOWN, (json.dumps(list(digests.values())),)))
    rows = [(memory_id, known[digests[text]]) for memory_id, text in texts if digests[text] in known]
    bulk.insert(connection, "memories_vec (memory_id, vector_id)", "(?, ?)", rows)


def embedded_text(kind: str, summary: str, content: str) -> str:
    """Return the text whose vector a memory has: its content, of a note with the headings above it.

    Those are its summary; a paragraph may be about what only they name.
    """
    return f"{summary}\n{content}" if kind == Kind.NOTE.value and summary else content


def text_digest(text: str) -> int:
    """Return 64 bits that stand for a text; among a million texts, two agree with a probability of 3 in 100 million."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
