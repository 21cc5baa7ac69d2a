"""Lets who inserts memories index them too, many together: see indexing.

The insert triggers serve everyone else. A row says by `indexed` that they need not.
"""

from .schema import INSERT_LEAVES, INSERT_POSITIONS
from .session_schema import COUNT_IN_COLLECTION
from .text_schema import ADD_TEXT
from .vector_schema import KNOWN_VECTOR


def _trigger(name: str, body: str, when: str = "") -> str:
    condition = f" AND ({when})" if when else ""
    return f"""
DROP TRIGGER {name};
CREATE TRIGGER {name} AFTER INSERT ON memories WHEN NOT new.indexed{condition} BEGIN {body} END;
"""


_COUNT = "UPDATE tallies SET n = n + 1 WHERE name = new.type;"

APPENDING = (
    "ALTER TABLE memories ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;"
    + _trigger("memories_fts_insert", ADD_TEXT)
    + _trigger("memories_vec_insert", KNOWN_VECTOR)
    + _trigger("context_leaves_insert", INSERT_LEAVES, when="new.context <> '{}'")
    + _trigger("positions_insert", INSERT_POSITIONS, when="new.x IS NOT NULL OR instr(new.context, '\"spatial\"')")
    + _trigger("tallies_insert", _COUNT, when="new.status = 'active'")
    + _trigger("collection_tallies_insert", COUNT_IN_COLLECTION, when="new.status = 'active'")
)
"""The step that adds the column and makes the insert triggers look at it."""
