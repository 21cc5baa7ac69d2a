"""The tables of what was decided about memories, and of what they were before they were corrected."""

# A decision is written when a fact is learned, and anew when it is corrected; `rule` says what decided.
DECISIONS = """
CREATE TABLE decisions (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    rule TEXT NOT NULL,
    PRIMARY KEY (memory_id, place)
) WITHOUT ROWID;
"""

# What a memory was until `revised_at`; its tags as a JSON array.
REVISIONS = """
CREATE TABLE revisions (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    revised_at TEXT NOT NULL,
    content TEXT NOT NULL,
    human_summary TEXT NOT NULL,
    context TEXT NOT NULL,
    category TEXT NOT NULL,
    tags TEXT NOT NULL,
    confidence REAL NOT NULL,
    scope_files TEXT NOT NULL,
    scope_entities TEXT NOT NULL
);
CREATE INDEX idx_revisions_memory ON revisions (memory_id);
"""

LEARNING_TABLES = DECISIONS + REVISIONS
"""The step that adds decisions and revisions to a database."""
