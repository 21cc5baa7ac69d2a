"""The tables of the database, and the triggers that keep every index in step with `memories`, whoever writes.

Only who says so in the column `indexed` of a new row puts it into the indexes itself, see indexing.

Times of observation are nanoseconds of the robot's clock, times of storing ISO 8601 of the wall clock in UTC. To save
room, `updated_at` is empty until a memory is changed (files of earlier programs have the time of storing there), and
`last_accessed` tells no parts of a second.
"""

APPLICATION_ID = 0x726D656D  # "rmem", so that a database of another program is not mistaken for ours

MEMORIES = """
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL DEFAULT '',
    collection TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('fact', 'perception')),
    content TEXT NOT NULL,
    human_summary TEXT NOT NULL DEFAULT '',
    context TEXT NOT NULL DEFAULT '{}',
    perception_type TEXT,
    perception_data BLOB,
    perception_metadata TEXT,
    label TEXT NOT NULL DEFAULT '',
    category TEXT NOT NULL DEFAULT '',
    scope_files TEXT NOT NULL DEFAULT '',
    scope_entities TEXT NOT NULL DEFAULT '',
    confidence REAL NOT NULL DEFAULT 0.9,
    decay_rate REAL NOT NULL DEFAULT 0.01,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'superseded', 'invalidated')),
    status_reason TEXT NOT NULL DEFAULT '',
    superseded_by INTEGER REFERENCES memories (id),
    content_hash TEXT,
    observed_at INTEGER NOT NULL,
    frame_id TEXT NOT NULL,
    map_id TEXT NOT NULL,
    x REAL, y REAL, z REAL, qx REAL, qy REAL, qz REAL, qw REAL,
    access_count INTEGER NOT NULL DEFAULT 0,
    return_count INTEGER NOT NULL DEFAULT 0,
    last_accessed TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_mem_observed ON memories (observed_at);
CREATE INDEX idx_mem_collection ON memories (collection);
CREATE INDEX idx_mem_session ON memories (session_id) WHERE session_id <> '';
CREATE INDEX idx_mem_label ON memories (label) WHERE label <> '';
CREATE INDEX idx_mem_hash ON memories (content_hash) WHERE content_hash IS NOT NULL;
CREATE TRIGGER memories_id_stays BEFORE UPDATE OF id ON memories WHEN old.id IS NOT new.id BEGIN
    SELECT raise(ABORT, 'the id of a memory never changes');
END;

CREATE TABLE memory_tags (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT 'user' CHECK (source IN ('auto', 'user')),
    PRIMARY KEY (memory_id, tag)
) WITHOUT ROWID;
CREATE INDEX idx_memory_tags_tag ON memory_tags (tag);
CREATE TABLE tag_meta (
    tag TEXT PRIMARY KEY,
    parent TEXT,
    display_name TEXT NOT NULL
) WITHOUT ROWID;
"""

SESSIONS = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    external_id TEXT NOT NULL UNIQUE,
    collection TEXT NOT NULL,
    context TEXT NOT NULL DEFAULT '{}',
    session_count INTEGER NOT NULL DEFAULT 1,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'ended')),
    client_type TEXT NOT NULL DEFAULT 'ros'
);
CREATE TABLE session_outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    score REAL NOT NULL
);
"""

SETTINGS = """
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
"""

TEXT_INDEX = """
CREATE VIRTUAL TABLE memories_fts USING fts5(
    content, human_summary, scope_files, scope_entities, tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN
    INSERT INTO memories_fts (rowid, content, human_summary, scope_files, scope_entities) VALUES (
        new.id, indexed_text(new.content), indexed_text(new.human_summary), new.scope_files,
        indexed_text(new.scope_entities || ' ' || new.label)
    );
END;
CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN
    DELETE FROM memories_fts WHERE rowid = old.id;
END;
CREATE TRIGGER memories_fts_update
AFTER UPDATE OF content, human_summary, scope_files, scope_entities, label ON memories BEGIN
    DELETE FROM memories_fts WHERE rowid = old.id;
    INSERT INTO memories_fts (rowid, content, human_summary, scope_files, scope_entities) VALUES (
        new.id, indexed_text(new.content), indexed_text(new.human_summary), new.scope_files,
        indexed_text(new.scope_entities || ' ' || new.label)
    );
END;
"""

# As it was first: a vector for each memory. vector_schema.py has what became of it.
VECTORS = """
CREATE TABLE memories_vec (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id INTEGER NOT NULL UNIQUE REFERENCES memories (id) ON DELETE CASCADE,
    embedding BLOB NOT NULL
);
CREATE TRIGGER memories_vec_delete AFTER DELETE ON memories BEGIN
    DELETE FROM memories_vec WHERE memory_id = old.id;
END;
CREATE TRIGGER memories_vec_update AFTER UPDATE OF content, status ON memories
WHEN old.content IS NOT new.content OR new.status <> 'active' BEGIN
    DELETE FROM memories_vec WHERE memory_id = old.id;
END;
"""

# Not INSERT OR IGNORE below: inside of a trigger, an INSERT OR REPLACE of memories would turn that into a replacement.
# Values keep their JSON type: numbers and texts as such, false/true as x'00'/x'01', null as x'', a list as x'5b' and an
# object as x'7b' ('[' and '{'). SQLite orders numbers before texts before blobs, so types never mix in a comparison.
LEAVES_OF = """
    SELECT p.id, CASE leaf.type
        WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' WHEN 'null' THEN x''
        WHEN 'array' THEN x'5b' WHEN 'object' THEN x'7b' ELSE leaf.value END
    """
INSERT_LEAVES = f"""
    INSERT INTO context_paths (path) SELECT key FROM json_each(context_leaves(new.context)) WHERE true
    ON CONFLICT DO NOTHING;
    INSERT INTO context_leaves (path_id, value, memory_id) {LEAVES_OF}, new.id
    FROM json_each(context_leaves(new.context)) AS leaf JOIN context_paths AS p ON p.path = leaf.key;
"""
_DELETE_LEAVES = f"""
    DELETE FROM context_leaves WHERE memory_id = old.id AND (path_id, value) IN (
        {LEAVES_OF} FROM json_each(context_leaves(old.context)) AS leaf JOIN context_paths AS p ON p.path = leaf.key
    );
"""
CONTEXT_INDEX = f"""
CREATE TABLE context_paths (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE context_leaves (
    path_id INTEGER NOT NULL,
    value NOT NULL,
    memory_id INTEGER NOT NULL,
    PRIMARY KEY (path_id, value, memory_id)
) WITHOUT ROWID;
CREATE TRIGGER context_leaves_insert AFTER INSERT ON memories WHEN new.context <> '{{}}' BEGIN {INSERT_LEAVES} END;
CREATE TRIGGER context_leaves_delete AFTER DELETE ON memories WHEN old.context <> '{{}}' BEGIN {_DELETE_LEAVES} END;
CREATE TRIGGER context_leaves_update AFTER UPDATE OF context ON memories WHEN old.context IS NOT new.context BEGIN
    {_DELETE_LEAVES} {INSERT_LEAVES}
END;
"""

# A space is a field in a frame of a map: only positions of one space can be compared. It is a dimension of the R*Tree,
# so that a box never meets the positions of another space.
_FIELDS_OF_NEW = """
    SELECT 'position' AS field, new.x AS x, new.y AS y, new.z AS z WHERE new.x IS NOT NULL
    UNION ALL
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
    FROM json_each(context_positions(new.context))
    """
INSERT_POSITIONS = f"""
    INSERT INTO spaces (field, frame_id, map_id)
    SELECT field, new.frame_id, new.map_id FROM ({_FIELDS_OF_NEW}) WHERE true
    ON CONFLICT DO NOTHING;
    INSERT INTO positions (memory_id, space_id, x, y, z)
    SELECT new.id, s.id, f.x, f.y, f.z FROM ({_FIELDS_OF_NEW}) AS f
    JOIN spaces AS s ON s.field = f.field AND s.frame_id = new.frame_id AND s.map_id = new.map_id;
"""
_HAS_POSITION = "{0}.x IS NOT NULL OR instr({0}.context, '\"spatial\"')"
SPATIAL_INDEX = f"""
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    field TEXT NOT NULL,
    frame_id TEXT NOT NULL,
    map_id TEXT NOT NULL,
    UNIQUE (field, frame_id, map_id)
);
CREATE TABLE positions (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    space_id INTEGER NOT NULL REFERENCES spaces (id),
    x REAL NOT NULL, y REAL NOT NULL, z REAL
);
CREATE INDEX idx_positions_memory ON positions (memory_id);
CREATE VIRTUAL TABLE positions_rtree USING rtree(id, space0, space1, x0, x1, y0, y1);
CREATE TRIGGER positions_rtree_insert AFTER INSERT ON positions BEGIN
    INSERT INTO positions_rtree VALUES (new.id, new.space_id, new.space_id, new.x, new.x, new.y, new.y);
END;
CREATE TRIGGER positions_rtree_delete AFTER DELETE ON positions BEGIN
    DELETE FROM positions_rtree WHERE id = old.id;
END;
CREATE TRIGGER positions_insert AFTER INSERT ON memories WHEN {_HAS_POSITION.format("new")} BEGIN
    {INSERT_POSITIONS}
END;
CREATE TRIGGER positions_delete AFTER DELETE ON memories WHEN {_HAS_POSITION.format("old")} BEGIN
    DELETE FROM positions WHERE memory_id = old.id;
END;
CREATE TRIGGER positions_update AFTER UPDATE OF context, x, y, z, frame_id, map_id ON memories BEGIN
    DELETE FROM positions WHERE memory_id = old.id; {INSERT_POSITIONS}
END;
"""

# How many active memories there are of each type, and how many have a vector: counting a million rows takes too long.
TALLIES = """
CREATE TABLE tallies (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO tallies VALUES ('fact', 0), ('perception', 0), ('vector', 0);
CREATE TRIGGER tallies_insert AFTER INSERT ON memories WHEN new.status = 'active' BEGIN
    UPDATE tallies SET n = n + 1 WHERE name = new.type;
END;
CREATE TRIGGER tallies_delete AFTER DELETE ON memories WHEN old.status = 'active' BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = old.type;
END;
CREATE TRIGGER tallies_update AFTER UPDATE OF status, type ON memories BEGIN
    UPDATE tallies SET n = n - (old.status = 'active') WHERE name = old.type;
    UPDATE tallies SET n = n + (new.status = 'active') WHERE name = new.type;
END;
CREATE TRIGGER tallies_vector_insert AFTER INSERT ON memories_vec BEGIN
    UPDATE tallies SET n = n + 1 WHERE name = 'vector';
END;
CREATE TRIGGER tallies_vector_delete AFTER DELETE ON memories_vec BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'vector';
END;
"""

VERSION_1 = MEMORIES + SESSIONS + SETTINGS + TEXT_INDEX + VECTORS + CONTEXT_INDEX + SPATIAL_INDEX + TALLIES
