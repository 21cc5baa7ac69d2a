"""The subjects of new facts, by which facts of like wording are found."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ...models import Kind, NewMemory
from ...text.subject import lesson, subject

_SUBJECT = "INSERT INTO subjects (id, size, signature, words) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_FACT = """
    INSERT INTO subject_facts (memory_id, subject_id, lesson, stance, active) VALUES (?, ?, ?, fact_stance(?), 1)
"""


def add(connection: sqlite3.Connection, added: Sequence[tuple[int, NewMemory]]) -> None:
    """Index the facts among these memories by their subjects."""
    for memory_id, new in added:
        if new.kind is Kind.FACT:
            mine = subject(new.collection, new.content)
            connection.execute(_SUBJECT, (mine.id, len(mine.words), mine.signature, mine.words_json))
            connection.execute(_FACT, (memory_id, mine.id, lesson(mine.id, mine.claim), new.content))
