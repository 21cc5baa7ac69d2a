"""The tables of imported recordings: what came from where, so that nothing is ever imported twice."""

# `recording` is the digest of a recording's content, `configuration` that of all that decides what is read of a topic.
IMPORTS = """
CREATE TABLE imports (
    id INTEGER PRIMARY KEY,
    recording TEXT NOT NULL,
    topic TEXT NOT NULL,
    configuration TEXT NOT NULL,
    path TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    UNIQUE (recording, topic, configuration)
);
"""

# A message is named by when it was recorded, and which one of that time and topic it is; `element` is its place in the
# message. The row stays when the memory goes: what was forgotten is not imported again.
IMPORTED = """
CREATE TABLE imported (
    import_id INTEGER NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    recorded_at INTEGER NOT NULL,
    nth INTEGER NOT NULL,
    element INTEGER NOT NULL,
    PRIMARY KEY (import_id, recorded_at, nth, element)
) WITHOUT ROWID;
"""

IMPORT_TABLES = IMPORTS + IMPORTED
"""The step that adds imports to a database."""
