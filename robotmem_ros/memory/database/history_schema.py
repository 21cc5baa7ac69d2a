"""The table of what memories were before they were changed, and what lets a memory go without leaving a loose end."""

# `before` is a JSON object of the fields that were changed, with the values they had; `tags` is a list.
HISTORY = """
CREATE TABLE memory_history (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    changed_at TEXT NOT NULL,
    change TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    before TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX idx_history_memory ON memory_history (memory_id);
"""

# Without the index, each delete would look through the whole table for memories that this one superseded.
SUPERSEDED = """
CREATE INDEX IF NOT EXISTS idx_mem_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TRIGGER superseded_by_goes BEFORE DELETE ON memories BEGIN
    UPDATE memories SET superseded_by = NULL WHERE superseded_by = old.id;
END;
"""

HISTORY_TABLES = HISTORY + SUPERSEDED
"""The step that adds histories to a database."""
