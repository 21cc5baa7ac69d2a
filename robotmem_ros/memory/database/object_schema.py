"""The tables behind objects: what is known of each beside its memory, and the sightings it was made of.

An object is a row of `memories` with a label and a position; its position, confidence, label, context and time of the
last sighting are columns there, so that every index follows by the triggers of `memories`. Times are nanoseconds of the
robot's clock. Of any object: its rows of sightings + the sum of their `thinned` + `unkept` is `times_seen`.
"""

OBJECTS = """
CREATE TABLE objects (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    votes TEXT NOT NULL,
    vxx REAL NOT NULL, vxy REAL NOT NULL, vxz REAL NOT NULL, vyy REAL NOT NULL, vyz REAL NOT NULL, vzz REAL NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    times_seen INTEGER NOT NULL,
    best_confidence REAL NOT NULL,
    confirmed INTEGER NOT NULL,
    missed INTEGER NOT NULL DEFAULT 0,
    last_missed INTEGER NOT NULL DEFAULT 0,
    last_kept INTEGER NOT NULL,
    unkept INTEGER NOT NULL DEFAULT 0
);
"""

SIGHTINGS = """
CREATE TABLE sightings (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    observed_at INTEGER NOT NULL,
    x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,
    confidence REAL NOT NULL,
    label TEXT NOT NULL,
    thinned INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_sightings_memory ON sightings (memory_id, observed_at);
"""

# In how many messages two neighbours of one label were both seen, and in how many only one of them: those that are
# often seen together are two.
NEIGHBOURS = """
CREATE TABLE neighbours (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    together INTEGER NOT NULL,
    alone INTEGER NOT NULL,
    PRIMARY KEY (memory_id, other_id)
) WITHOUT ROWID;
CREATE INDEX idx_neighbours_other ON neighbours (other_id);
"""

OBJECT_TABLES = OBJECTS + SIGHTINGS + NEIGHBOURS
"""The step that adds objects to a database."""
