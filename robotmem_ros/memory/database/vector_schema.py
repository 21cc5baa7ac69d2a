"""The tables of vectors: one vector for each different text, and which memory has which.

A robot says the same things again and again: the vector of a text is computed once, kept once and compared once,
however many memories say it. The vectors in a database are all of the model that `settings` names.
"""

# AUTOINCREMENT: an id is never used again, so a vector in RAM or in an index whose id still stands here is the right
# one. `digest` is text_digest() of the text. `embedding` is as in embedding/codec.py.
VECTORS = """
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest INTEGER NOT NULL UNIQUE,
    embedding BLOB NOT NULL
);
"""

KNOWN_VECTOR = """
    INSERT INTO memories_vec (memory_id, vector_id) SELECT new.id, id FROM vectors
    WHERE digest = text_digest(new.content) AND new.status = 'active';
"""
MEMORIES_VEC = """
CREATE TABLE memories_vec (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    vector_id INTEGER NOT NULL REFERENCES vectors (id)
);
CREATE INDEX idx_memories_vec_vector ON memories_vec (vector_id);
"""

# Whoever writes: a text whose vector is known has it at once, and a vector that no memory has is gone.
VECTOR_TRIGGERS = f"""
CREATE TRIGGER memories_vec_insert AFTER INSERT ON memories BEGIN {KNOWN_VECTOR} END;
CREATE TRIGGER memories_vec_delete AFTER DELETE ON memories BEGIN
    DELETE FROM memories_vec WHERE memory_id = old.id;
END;
CREATE TRIGGER memories_vec_withdraw AFTER UPDATE OF status ON memories WHEN new.status <> 'active' BEGIN
    DELETE FROM memories_vec WHERE memory_id = old.id;
END;
CREATE TRIGGER memories_vec_update AFTER UPDATE OF content ON memories WHEN old.content IS NOT new.content BEGIN
    DELETE FROM memories_vec WHERE memory_id = old.id; {KNOWN_VECTOR}
END;
CREATE TRIGGER vectors_unused AFTER DELETE ON memories_vec BEGIN
    DELETE FROM vectors WHERE id = old.vector_id AND NOT EXISTS (
        SELECT 1 FROM memories_vec WHERE vector_id = old.vector_id
    );
END;
CREATE TRIGGER tallies_vector_insert AFTER INSERT ON memories_vec BEGIN
    UPDATE tallies SET n = n + 1 WHERE name = 'vector';
END;
CREATE TRIGGER tallies_vector_delete AFTER DELETE ON memories_vec BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'vector';
END;
"""

# The files of the index, each over the ids behind `low` up to `high`. A file that no row describes, to the checksum, is
# none of ours.
SEGMENTS = """
CREATE TABLE vector_segments (
    low INTEGER PRIMARY KEY,
    high INTEGER NOT NULL,
    count INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    file TEXT NOT NULL
);
"""

_OLD_VECTORS = """
DROP TRIGGER memories_vec_delete;
DROP TRIGGER memories_vec_update;
DROP TRIGGER tallies_vector_insert;
DROP TRIGGER tallies_vector_delete;
ALTER TABLE memories_vec RENAME TO old_memories_vec;
"""
_TAKE_OVER = """
INSERT INTO vectors (digest, embedding) SELECT text_digest(m.content), kept_vector(v.embedding)
FROM old_memories_vec AS v JOIN memories AS m ON m.id = v.memory_id WHERE true ON CONFLICT DO NOTHING;
INSERT INTO memories_vec (memory_id, vector_id) SELECT m.id, v.id
FROM old_memories_vec AS o JOIN memories AS m ON m.id = o.memory_id
JOIN vectors AS v ON v.digest = text_digest(m.content);
DROP TABLE old_memories_vec;
"""

VECTOR_TABLES = _OLD_VECTORS + VECTORS + MEMORIES_VEC + _TAKE_OVER + VECTOR_TRIGGERS + SEGMENTS
"""The step that keeps one vector for each text instead of one for each memory."""
