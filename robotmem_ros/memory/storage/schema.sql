-- The database, version 1. Later versions are steps in migrations.py.
--
-- Units: times of the robot's clock are whole nanoseconds (observed_at, first_seen, ...), times of the wall clock are
-- ISO 8601 texts in UTC (created_at, changed_at, ...), lengths are metres. Booleans are 0 and 1.
-- Positions and orientations are in the frame `frame_id` (see REP 105) of the map `map_id` ('' if unnamed).
--
-- rows.py writes memories, and what follows from their columns. Triggers refuse other programs: these lack the function
-- that is named in a trigger, which need not be called for that. SQLite copies each row for a trigger that fires before,
-- so these fire after.


-- Memories ------------------------------------------------------------------------------------------------------------

-- One row is one fact, one perception or one note. An object is a perception with a label, see "Objects".
-- A note is a part of a file, see "Notes".
CREATE TABLE memories (
    id INTEGER PRIMARY KEY,  -- never used again, so a deleted memory is never mistaken for a new one: see rows.py
    type TEXT NOT NULL CHECK (type IN ('fact', 'perception', 'note')),
    collection TEXT NOT NULL,  -- its namespace
    session_id TEXT NOT NULL DEFAULT '',  -- sessions.external_id; '' if stored outside of a session
    content TEXT NOT NULL,  -- what it says
    human_summary TEXT NOT NULL DEFAULT '',  -- for people, if the caller gave one
    context TEXT NOT NULL DEFAULT '{}',  -- a JSON object
    source TEXT NOT NULL DEFAULT '',  -- who said it, such as `topic` or `agent`; '' if a program did not tell
    tags TEXT NOT NULL DEFAULT '{}',  -- a JSON object: each tag to its source, `auto` (a rule) or `user` (the caller)
    label TEXT NOT NULL DEFAULT '',  -- of a detected object, as its detector wrote it
    perception_type TEXT,  -- NULL for facts and notes
    file_id INTEGER,  -- note_files.id of a note; that of a forgotten file goes soon after it
    -- Facts only
    category TEXT NOT NULL DEFAULT '',  -- as a rule or the caller has it
    scope_files TEXT NOT NULL DEFAULT '',  -- each on a line of its own
    scope_entities TEXT NOT NULL DEFAULT '',  -- each on a line of its own
    times_learned INTEGER NOT NULL DEFAULT 1,  -- how often it was learned
    content_hash TEXT,  -- of the normalized content, to find duplicates; NULL for perceptions and notes
    -- How sure it is: see decay.py
    confidence REAL NOT NULL DEFAULT 0.9,  -- 0 to 1, before decay
    decay_rate REAL,  -- share of the confidence that it loses per day, 0 to 1; NULL for that of the parameter
    evidence_day INTEGER NOT NULL DEFAULT 0,  -- lived_days.n of the day that evidence for it is from; 0 if before all
    -- Only active memories are recalled
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'superseded', 'invalidated')),
    status_reason TEXT NOT NULL DEFAULT '',  -- why it is not active
    -- NULL unless superseded by a memory that still exists
    superseded_by INTEGER REFERENCES memories (id) ON DELETE SET NULL,
    superseded_at TEXT,
    -- The fact that stands for it since they were consolidated, if a recall asks so; NULL if either has changed since
    represented_by INTEGER REFERENCES memories (id) ON DELETE SET NULL,
    -- Where and when
    observed_at INTEGER NOT NULL,  -- of an object when it was seen last
    received_at INTEGER NOT NULL DEFAULT 0,  -- came in with a stream, by the robot's clock; 0 if it never did
    frame_id TEXT NOT NULL,
    map_id TEXT NOT NULL,
    x REAL, y REAL, z REAL,  -- metres in frame_id; NULL without a pose
    qx REAL, qy REAL, qz REAL, qw REAL,  -- the orientation as a quaternion; NULL without a pose
    size_x REAL, size_y REAL, size_z REAL,  -- metres, the edges of a box around it in this orientation; NULL if unknown
    -- Usage
    access_count INTEGER NOT NULL DEFAULT 0,  -- how often it was recalled
    return_count INTEGER NOT NULL DEFAULT 0,
    last_accessed TEXT,  -- whole seconds; NULL if never recalled
    recalled_at INTEGER NOT NULL DEFAULT 0,  -- last recalled, by the robot's clock; 0 for never
    -- Identity and change: see "Feed"
    uuid BLOB NOT NULL,
    revision INTEGER NOT NULL,
    origin BLOB,
    adopted INTEGER NOT NULL DEFAULT 0,  -- whether another file made it: then its UUID does not have this id in it
    created_at TEXT NOT NULL,  -- when it was stored
    updated_at TEXT NOT NULL,  -- '' until the memory is changed
    -- What rules decided when a fact was learned or corrected, a JSON array of arrays: the field, the value, and the name
    -- of the rule or `caller`; NULL if there is none
    decisions TEXT,
    -- Last, so that the columns before them are read without the pages of a large value
    perception_metadata TEXT,  -- a JSON object; NULL if there is none
    perception_data BLOB  -- NULL if there is none
);
CREATE INDEX idx_mem_revision ON memories (revision);
CREATE INDEX idx_mem_session ON memories (session_id) WHERE session_id <> '';
CREATE INDEX idx_mem_hash ON memories (content_hash) WHERE content_hash IS NOT NULL;
-- Without this index, each delete would read the whole table for memories that the deleted one superseded.
CREATE INDEX idx_mem_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE UNIQUE INDEX idx_mem_uuid ON memories (uuid) WHERE adopted;
CREATE INDEX idx_mem_represented ON memories (represented_by) WHERE represented_by IS NOT NULL;
-- Those without it are active: they are counted without reading them.
CREATE INDEX idx_mem_note ON memories (type, file_id) WHERE type = 'note';
CREATE INDEX idx_mem_place ON memories (label) WHERE perception_type = 'place';
CREATE INDEX idx_mem_inactive ON memories (type, status) WHERE status <> 'active';

CREATE TRIGGER memories_insert AFTER INSERT ON memories WHEN false AND only_robotmem_ros_writes_memories() BEGIN
    SELECT 1;
END;
-- The box of an object follows it, see "Objects".
CREATE TRIGGER memories_update AFTER UPDATE ON memories
WHEN (new.x, new.y, new.z, new.frame_id, new.map_id) IS NOT (old.x, old.y, old.z, old.frame_id, old.map_id)
AND (true OR only_robotmem_ros_writes_memories()) BEGIN
    UPDATE objects_rtree SET
        space0 = space_number(new.frame_id, new.map_id) - 0.25, space1 = space_number(new.frame_id, new.map_id) + 0.25,
        x0 = new.x - 0.05, x1 = new.x + 0.05, y0 = new.y - 0.05, y1 = new.y + 0.05, z0 = new.z - 0.05, z1 = new.z + 0.05
    WHERE id = new.id AND NOT (
        new.x BETWEEN x0 AND x1 AND new.y BETWEEN y0 AND y1 AND new.z BETWEEN z0 AND z1
        AND space_number(new.frame_id, new.map_id) BETWEEN space0 AND space1
    );
END;
CREATE TRIGGER memories_delete AFTER DELETE ON memories WHEN false AND only_robotmem_ros_writes_memories() BEGIN
    SELECT 1;
END;

-- The days on which something was written, numbered in the order in which they were lived: see decay.py.
CREATE TABLE lived_days (
    n INTEGER PRIMARY KEY,  -- from 1
    day INTEGER NOT NULL UNIQUE,  -- whole days since the epoch, by the robot's clock
    after_id INTEGER NOT NULL  -- memories with greater ids were saved on it or later, whatever their clock told then
);

-- Rows whose times were written while the wall clock was wrong: see doubtful_times.py.
CREATE TABLE doubtful_times (
    of_table TEXT NOT NULL,
    key NOT NULL,  -- of the row: see doubtful_times.py
    booted_at INTEGER NOT NULL,  -- when the machine was started, by the wrong clock
    boot TEXT NOT NULL,  -- which start of the machine that was; '' where the system does not tell
    until INTEGER NOT NULL,  -- what the wrong clock showed when they were last written
    memory_id INTEGER NOT NULL,  -- to which the row belongs; 0 for none
    PRIMARY KEY (of_table, key, booted_at)  -- first, else SQLite 3.40 finds a NULL that is none
) WITHOUT ROWID;

-- The tags of memories, in the form by which tags are compared, see normal_form.py.
CREATE VIEW memory_tags (memory_id, tag, source) AS
SELECT m.id, t.key, t.value FROM memories AS m, json_each(m.tags) AS t WHERE m.tags <> '{}';

-- The tree of tags: those of the taxonomy, and those that callers added. A tag without a row stands at the top.
CREATE TABLE tag_meta (
    id INTEGER PRIMARY KEY,
    tag TEXT NOT NULL UNIQUE,
    parent TEXT,  -- NULL for a tag at the top
    display_name TEXT NOT NULL,
    updated_at TEXT NOT NULL DEFAULT '',
    -- Identity and change: see "Feed"
    uuid BLOB UNIQUE,  -- NULL for a tag of the taxonomy, which each file has from its own program
    revision INTEGER NOT NULL DEFAULT 0,
    origin BLOB
);

-- The last recalls: see recall_rows.py.
CREATE TABLE recalls (
    id INTEGER PRIMARY KEY,
    recalled_at INTEGER NOT NULL,
    caller TEXT NOT NULL,  -- the door by which it came, or what a program calls itself
    digest TEXT NOT NULL,  -- of its text; '' without a text
    query TEXT NOT NULL,  -- the text; '' unless the parameter `recall_log_texts` is true
    mode TEXT NOT NULL,
    hits INTEGER NOT NULL,
    relevance REAL,  -- of the most relevant hit; NULL without a text or hits
    relevant INTEGER NOT NULL,
    milliseconds REAL NOT NULL
);


-- Text index, for other programs ---------------------------------------------------------------------------------------

-- Nothing in the package asks it: rows.py says when a text comes in, which is up to `indexed_texts` of the settings.
CREATE VIRTUAL TABLE memories_fts USING fts5(
    content, human_summary, scope_files, scope_entities, label,
    content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61'
);


-- Table in RAM ---------------------------------------------------------------------------------------------------------

-- What the table in RAM says of the memories in ranges of ids, so that a start need not read them all: see kept.py. It
-- may be lost at any time; a block that is damaged is read anew. A purge drops those that are out of step.
CREATE TABLE table_blocks (
    number INTEGER PRIMARY KEY,  -- the first range begins with the id 1
    revision INTEGER NOT NULL,  -- the last one that it knows
    memories INTEGER NOT NULL,
    columns BLOB NOT NULL  -- packed by kept.py
);


-- Vectors -------------------------------------------------------------------------------------------------------------

-- The vector of each different text (see embedded_text() in vector_rows.py), of the model that `settings` names: one for
-- each part of a text that is longer than the model reads. An id is never used again, so a vector in RAM whose id is
-- still here is the right one.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest INTEGER NOT NULL UNIQUE,  -- text_digest() of the text
    parts INTEGER NOT NULL,  -- of the text; 0 of one that the model does not read
    embedding BLOB NOT NULL  -- the vectors of the parts in order, each encoded by codec.py
);
-- Active memories that have a vector.
CREATE TABLE memories_vec (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    vector_id INTEGER NOT NULL REFERENCES vectors (id)
);
CREATE INDEX idx_memories_vec_vector ON memories_vec (vector_id);


-- Objects -------------------------------------------------------------------------------------------------------------

-- What is known of a tracked object beside its memory, which has its label, position, confidence and context.
-- times_seen = its rows of sightings + the sum of their `subsampled` + its own `subsampled`.
CREATE TABLE objects (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    votes TEXT NOT NULL,  -- a JSON object: how many sightings gave each label
    -- The covariance of the position, in square metres
    vxx REAL NOT NULL, vxy REAL NOT NULL, vxz REAL NOT NULL, vyy REAL NOT NULL, vyz REAL NOT NULL, vzz REAL NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    times_seen INTEGER NOT NULL,  -- how many sightings it has
    sizes TEXT NOT NULL DEFAULT '[]',  -- a JSON array: a sample of the sizes that sightings gave, see sizes.py
    -- Looks at its place that did and did not detect it: existence.py makes the confidence of the memory of them
    -- Each look counts by how little it depends on the one before.
    hits REAL NOT NULL,
    misses REAL NOT NULL DEFAULT 0,  -- those before the last detection
    missed REAL NOT NULL DEFAULT 0,  -- those after it
    last_hit INTEGER NOT NULL,  -- when the last hit was counted
    last_missed INTEGER NOT NULL DEFAULT 0,  -- 0 if it never was
    appeared INTEGER NOT NULL,  -- first look of its stay, or of what becomes one if it is confirmed
    sure REAL NOT NULL,  -- its confidence after the last detection
    confirmed INTEGER NOT NULL,  -- whether its confidence, before decay, is at least `object_min_existence`
    told INTEGER NOT NULL DEFAULT 0,  -- whether a caller saved it, and not only a stream
    last_kept INTEGER NOT NULL,  -- when the last sighting that has a row was made
    subsampled INTEGER NOT NULL DEFAULT 0,  -- sightings since then, which have no row
    sources TEXT NOT NULL DEFAULT '{}',  -- a JSON object: each source, such as a topic, to its last tracking id, or ''
    -- Content, data and metadata of the memory are those of the sighting of this time in this session
    described_at INTEGER NOT NULL DEFAULT 0,
    described_in TEXT NOT NULL DEFAULT ''
);

-- Each object has a box that reaches 5 cm from its position to all sides, and a new one only when its position has left
-- the box, because moving a box costs a tenth of a sighting. Ids are those of memories. Only objects of one space, a
-- frame of a map, are compared: its number is a dimension (space_number() in connection.py), so that hardly any object of
-- another space is met. A box reaches a quarter to both sides of the number: a flat box has no volume, by which the tree
-- chooses, and most of the tree would be read.
CREATE VIRTUAL TABLE objects_rtree USING rtree(id, space0, space1, x0, x1, y0, y1, z0, z1);

CREATE TRIGGER objects_insert AFTER INSERT ON objects WHEN true OR only_robotmem_ros_writes_memories() BEGIN
    INSERT INTO objects_rtree
    SELECT id, space_number(frame_id, map_id) - 0.25, space_number(frame_id, map_id) + 0.25,
        x - 0.05, x + 0.05, y - 0.05, y + 0.05, z - 0.05, z + 0.05
    FROM memories WHERE id = new.memory_id;
END;
CREATE TRIGGER objects_update AFTER UPDATE ON objects WHEN false AND only_robotmem_ros_writes_memories() BEGIN
    SELECT 1;
END;
CREATE TRIGGER objects_delete AFTER DELETE ON objects WHEN true OR only_robotmem_ros_writes_memories() BEGIN
    DELETE FROM objects_rtree WHERE id = old.memory_id;
END;

CREATE TABLE sightings (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    observed_at INTEGER NOT NULL,
    x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,  -- in the frame and map of the memory
    confidence REAL NOT NULL,
    label TEXT NOT NULL,
    subsampled INTEGER NOT NULL DEFAULT 0,  -- sightings that this row stands for besides its own
    session_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX idx_sightings_memory ON sightings (memory_id, observed_at);

-- From when until when an object was at a place, as far as looks tell: while it was confirmed. They outlast sightings.
-- The stay that goes on has no row: it is that of a confirmed object, since it `appeared`.
CREATE TABLE stays (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    first_absent INTEGER NOT NULL,  -- the look that ended it
    label TEXT NOT NULL,
    area TEXT NOT NULL,  -- `spatial.area` of its context; empty without one
    confidence REAL NOT NULL,  -- after the last detection
    x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,  -- in the frame and map of the memory
    UNIQUE (memory_id, first_seen)
);
CREATE INDEX idx_stays_label ON stays (label, first_absent, first_seen, last_seen);  -- has all that departures tell

-- In how many messages two neighbours were both seen, and in how many only one of two at the same place: those that are
-- often seen together are two objects. What was seen together once is expected together again: see absence.py.
CREATE TABLE neighbours (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    together INTEGER NOT NULL,
    alone INTEGER NOT NULL,
    PRIMARY KEY (memory_id, other_id)
) WITHOUT ROWID;
CREATE INDEX idx_neighbours_other ON neighbours (other_id);


-- Sessions ------------------------------------------------------------------------------------------------------------

-- A session belongs to the robot and outlives its processes.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    external_id TEXT NOT NULL UNIQUE,
    collection TEXT NOT NULL,
    context TEXT NOT NULL DEFAULT '{}',  -- a JSON object
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'ended')),
    client_type TEXT NOT NULL DEFAULT 'ros',
    started_at INTEGER NOT NULL DEFAULT 0,
    ended_at INTEGER,  -- NULL while it is active
    end_reason TEXT NOT NULL DEFAULT '',
    outcome REAL,  -- 0 to 1; NULL if nobody told it
    superseded INTEGER,  -- facts that its consolidation superseded; NULL until it is consolidated
    expires_at INTEGER,  -- when it is closed if nobody ends it; NULL for never
    -- Identity and change: see "Feed"
    uuid BLOB NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    origin BLOB
);
CREATE INDEX idx_sessions_revision ON sessions (revision);
-- Contexts are long: sessions are found and counted without reading rows.
CREATE INDEX idx_sessions_status ON sessions (status, collection, ended_at, superseded);

-- What was recalled in a session. The share is 1 / the best rank at which the memory was returned: a robot acts on the
-- first result.
CREATE TABLE session_recalls (
    session_id TEXT NOT NULL,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    share REAL NOT NULL,
    PRIMARY KEY (session_id, memory_id)
) WITHOUT ROWID;
CREATE INDEX idx_session_recalls_memory ON session_recalls (memory_id);

-- What came of the sessions in which a memory was recalled.
CREATE TABLE memory_outcomes (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    total REAL NOT NULL,  -- the sum of the outcomes of these sessions, each times its share
    weight REAL NOT NULL  -- the sum of the shares
);


-- Notes ---------------------------------------------------------------------------------------------------------------

-- Files in the folders of notes, which the settings list. What was read of one is replaced as a whole, in one transaction.
CREATE TABLE note_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,  -- the name of the folder, then the path in it, with '/' between the parts
    collection TEXT NOT NULL,  -- of its notes
    stamp TEXT NOT NULL,  -- size and times of the file when it was read, and how it was split; '' to read it again
    digest TEXT NOT NULL,  -- of its content and of how that was split; '' if it could not be read
    error TEXT NOT NULL DEFAULT '',  -- why it could not be read; '' if it could
    -- What `note` gives lines of, compressed by zlib. Last, so that the files are found without the pages of their texts.
    text BLOB NOT NULL DEFAULT x''
);


-- Learning ------------------------------------------------------------------------------------------------------------

-- Each learning of a fact that was learned more than once: `memories` has what they come to together.
CREATE TABLE contributions (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    learned_at TEXT NOT NULL,
    session_id TEXT NOT NULL,
    observed_at INTEGER NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('first', 'exact', 'jaccard', 'cosine')),  -- how it was recognized
    similarity REAL NOT NULL,
    gain REAL NOT NULL,  -- the share of the way to 1 by which confidence grows
    adds INTEGER NOT NULL,  -- whether it said or gave more than was known
    fact TEXT NOT NULL  -- a JSON object: what it said and gave
);
CREATE INDEX idx_contributions_memory ON contributions (memory_id);
CREATE INDEX idx_contributions_observed ON contributions (observed_at);

-- Links between facts. Each pair has two rows, one from each side, so that no index is needed.
CREATE TABLE fact_links (
    kind TEXT NOT NULL CHECK (kind IN ('contradiction', 'similar')),
    memory_id INTEGER NOT NULL,
    other_id INTEGER NOT NULL,
    reason TEXT NOT NULL,  -- how similar facts were compared: `exact`, `jaccard` or `cosine`
    similarity REAL,  -- NULL of a contradiction
    PRIMARY KEY (kind, memory_id, other_id)
) WITHOUT ROWID;


-- Maps and the path of the robot --------------------------------------------------------------------------------------

-- The latest occupancy grid of each map.
CREATE TABLE occupancy_grids (
    map_id TEXT PRIMARY KEY,
    collection TEXT NOT NULL,  -- that of the robot that saved it
    frame_id TEXT NOT NULL,
    resolution REAL NOT NULL,  -- metres per cell
    origin_x REAL NOT NULL, origin_y REAL NOT NULL, origin_yaw REAL NOT NULL,  -- the corner of the first cell
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    digest BLOB NOT NULL,  -- of all but the time and the collection
    -- Identity and change: see "Feed"
    uuid BLOB NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    origin BLOB,
    cells BLOB NOT NULL  -- an int8 for each cell, row by row from the origin; compressed by zlib
);

-- The areas of each map as `areas_file` had them last, for copies, exports and the fleet: queries read that file.
CREATE TABLE areas (
    map_id TEXT PRIMARY KEY,
    frame_id TEXT NOT NULL,
    polygons TEXT NOT NULL,  -- JSON: the corners of each area by its name
    updated_at TEXT NOT NULL,
    -- Identity and change: see "Feed"
    uuid BLOB NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    origin BLOB
);

-- Where the robot was: a row when it had moved or turned. A robot is in one place at a time.
CREATE TABLE path_points (
    observed_at INTEGER NOT NULL,
    collection TEXT NOT NULL,  -- that of the robot
    session_id TEXT NOT NULL DEFAULT '',  -- the session of the collection that was open then; '' for none
    frame_id TEXT NOT NULL,
    map_id TEXT NOT NULL,
    x REAL NOT NULL, y REAL NOT NULL,
    yaw REAL NOT NULL,  -- radians
    segment INTEGER NOT NULL,  -- the time of its first row: between two rows of one segment the robot did not jump
    PRIMARY KEY (observed_at, collection)
) WITHOUT ROWID;


-- Feed ----------------------------------------------------------------------------------------------------------------

-- Memories, sessions, maps and tags are its units: see revisions.py. Each has
--   uuid      16 bytes of version 7, the same in every file that has the unit,
--   revision  the number of the transaction of this file that changed it last, or what hangs on it,
--   origin    robot and revision that the version is from, if another file made it: 16 bytes, and 8, highest first.

-- What was deleted: its name, and nothing of what it said. It never comes back.
CREATE TABLE deleted (
    uuid BLOB PRIMARY KEY,
    revision INTEGER NOT NULL,
    memory_id INTEGER  -- which it was here; NULL if it was no memory, or never here
) WITHOUT ROWID;
CREATE INDEX idx_deleted_revision ON deleted (revision);

-- The processes that wrote revisions, each from its first one on.
CREATE TABLE epochs (
    after INTEGER PRIMARY KEY,  -- the revision before its first one
    epoch BLOB NOT NULL UNIQUE  -- 5 bytes of a time in 2^24 ns and 3 random ones; greater than all before
);

-- What became of objects and facts: the events of `~/events`, written with the change itself. Those of a memory that is
-- purged go, but for the last one, which is left without text.
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY,  -- grows with each event; the last one of all is never deleted
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,  -- see EventKind in models.py
    memory_id INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('unconfirmed', 'there', 'gone', 'known', 'forgotten')),  -- since this event
    observed_at INTEGER NOT NULL,  -- of the memory; 0 if it is deleted
    presence REAL,  -- NULL for what is no object
    label TEXT NOT NULL,
    label_before TEXT NOT NULL,  -- empty unless it was relabelled
    pose_before TEXT,  -- a JSON array; NULL unless it moved
    x REAL, y REAL, z REAL, qx REAL, qy REAL, qz REAL, qw REAL  -- NULL without a pose
);
CREATE INDEX idx_events_memory ON events (memory_id);


-- History, imports, retention, settings -------------------------------------------------------------------------------

CREATE TABLE memory_history (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    changed_at TEXT NOT NULL,
    change TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    before TEXT NOT NULL DEFAULT '{}'  -- a JSON object: the fields that were changed, with their values before
);
CREATE INDEX idx_history_memory ON memory_history (memory_id);

-- Imported recordings, so that nothing is ever imported twice.
CREATE TABLE imports (
    id INTEGER PRIMARY KEY,
    recording TEXT NOT NULL,  -- digest of the content of the recording
    topic TEXT NOT NULL,
    configuration TEXT NOT NULL,  -- digest of all that decides what is read of the topic
    path TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,  -- NULL until the import is complete
    UNIQUE (recording, topic, configuration)
);
-- A row stays when its memory is deleted: what was forgotten is not imported again.
CREATE TABLE imported (
    import_id INTEGER NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
    recorded_at INTEGER NOT NULL,  -- nanoseconds, as the recording has it
    nth INTEGER NOT NULL,  -- the number of the message among those of one time and topic
    element INTEGER NOT NULL,  -- the number of the element in the message
    PRIMARY KEY (import_id, recorded_at, nth, element)
) WITHOUT ROWID;

-- What holds for the whole file: `robot` (its lineage, in hexadecimal digits), `schema` (a digest of the steps of
-- migrations.py that made it), `embedding_model` (its name, and a digest of all that makes vectors), `log` (see log_mark),
-- `indexed_texts` (see memories_fts), `last_memory` (the greatest id of a memory that was deleted as the last one),
-- `last_purge` (the last transaction that purged something, as a JSON array: see revisions.py),
-- `lost_vectors` (up to where vectors of an earlier model were deleted),
-- `late_links` (how often a memory got a vector that was there already, after it was stored: see vector_rows.py),
-- `removed MEASURE KIND` (how many memories, or sightings, retention has deleted for this measure of a budget),
-- `note_folders` (the folders of notes, as the process that keeps them saw them last, as JSON arrays: see note_rows.py),
-- `subscribed ROBOT` (what was subscribed to, and up to where the file has it, as a JSON array: see feed.py),
-- `intake ...` (what a node reported of its intake, see imports.py).
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO settings VALUES ('robot', lower(hex(randomblob(16)))), ('indexed_texts', '0'), ('last_memory', '0'),
    ('lost_vectors', '0'), ('late_links', '0');

-- A number that is `log` of the settings, unless the file was parted from its write-ahead log: see file_guard.py. It has a
-- page of its own.
CREATE TABLE log_mark (n INTEGER NOT NULL, writes INTEGER NOT NULL);
INSERT INTO log_mark VALUES (0, 0);
