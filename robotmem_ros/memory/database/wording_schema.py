"""The tables behind duplicates and contradictions: an index of wordings, repetitions, and which facts contradict."""

# By the keys, facts of like wording are found; `wording_keys()` gives none for what is no fact.
WORDING_KEYS = """
CREATE TABLE wording_keys (
    key INTEGER NOT NULL,
    memory_id INTEGER NOT NULL,
    PRIMARY KEY (key, memory_id)
) WITHOUT ROWID;
-- Without this, what is there is indexed when the file is opened.
DELETE FROM settings WHERE name = 'wording';
CREATE TRIGGER wording_insert AFTER INSERT ON memories WHEN new.type = 'fact' BEGIN
    INSERT INTO wording_keys (key, memory_id)
    SELECT value, new.id FROM json_each(wording_keys(new.type, new.collection, new.content));
    UPDATE memories SET content_hash = content_digest(new.content) WHERE id = new.id;
END;
CREATE TRIGGER wording_delete AFTER DELETE ON memories WHEN old.type = 'fact' BEGIN
    DELETE FROM wording_keys WHERE memory_id = old.id AND key IN (
        SELECT value FROM json_each(wording_keys(old.type, old.collection, old.content))
    );
END;
CREATE TRIGGER wording_update AFTER UPDATE OF content, collection, type ON memories
WHEN old.type = 'fact' OR new.type = 'fact' BEGIN
    DELETE FROM wording_keys WHERE memory_id = old.id AND key IN (
        SELECT value FROM json_each(wording_keys(old.type, old.collection, old.content))
    );
    INSERT INTO wording_keys (key, memory_id)
    SELECT value, new.id FROM json_each(wording_keys(new.type, new.collection, new.content));
    UPDATE memories SET content_hash = iif(new.type = 'fact', content_digest(new.content), NULL) WHERE id = new.id;
END;
"""

# A fact that was learned again, in which words, and what it was before that made it surer. Of many the last are kept.
REPETITIONS = """
ALTER TABLE memories ADD COLUMN times_learned INTEGER NOT NULL DEFAULT 1;
CREATE TABLE repetitions (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    repeated_at TEXT NOT NULL,
    session_id TEXT NOT NULL,
    content TEXT NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('exact', 'jaccard', 'cosine')),
    similarity REAL NOT NULL,
    confidence_before REAL NOT NULL,
    observed_before INTEGER NOT NULL
);
CREATE INDEX idx_repetitions_memory ON repetitions (memory_id);
"""

# Each pair stands twice, once from each side. Which of the two is the older is asked when it is read.
CONTRADICTIONS = """
CREATE TABLE contradictions (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    PRIMARY KEY (memory_id, other_id)
) WITHOUT ROWID;
CREATE INDEX idx_contradictions_other ON contradictions (other_id);
"""

WORDING_TABLES = WORDING_KEYS + REPETITIONS + CONTRADICTIONS
"""The step that adds duplicates and contradictions to a database."""
