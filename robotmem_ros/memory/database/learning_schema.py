"""The table of what was decided about memories."""

# A decision is written when a fact is learned, and anew when it is corrected; `rule` says what decided.
LEARNING_TABLES = """
CREATE TABLE decisions (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    field TEXT NOT NULL,
    value TEXT NOT NULL,
    rule TEXT NOT NULL,
    PRIMARY KEY (memory_id, place)
) WITHOUT ROWID;
"""
"""The step that adds decisions to a database."""
