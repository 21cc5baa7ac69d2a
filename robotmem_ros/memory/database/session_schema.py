"""What time decay, sessions and consolidation need in the database."""

# When a memory came in with a stream or was recalled last, whichever is later, in nanoseconds of the robot's clock; see
# decay.py. What is older than this column counts from when it was stored.
FRESHNESS = """
ALTER TABLE memories ADD COLUMN refreshed_at INTEGER NOT NULL DEFAULT 0;
UPDATE memories SET refreshed_at = coalesce(CAST(strftime('%s', created_at) AS INTEGER), 0) * 1000000000;
"""

# Times are nanoseconds of the robot's clock.
EPISODES = """
ALTER TABLE sessions ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN ended_at INTEGER;
ALTER TABLE sessions ADD COLUMN end_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX idx_sessions_active ON sessions (collection) WHERE status = 'active';
CREATE INDEX idx_sessions_ended ON sessions (collection, ended_at) WHERE status = 'ended';
CREATE UNIQUE INDEX idx_session_outcomes ON session_outcomes (session_id);
"""

# What was recalled while a session was open, and what came of it. A share is 1 / rank of the best rank at which the
# memory was returned: the first answer is what a robot acts on. `total` is the sum of the outcomes of the sessions in
# which a memory was recalled, each times its share, `weight` the sum of the shares.
OUTCOMES = """
CREATE TABLE session_recalls (
    session_id TEXT NOT NULL,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    share REAL NOT NULL,
    PRIMARY KEY (session_id, memory_id)
) WITHOUT ROWID;
CREATE INDEX idx_session_recalls_memory ON session_recalls (memory_id);
CREATE TABLE memory_outcomes (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    total REAL NOT NULL,
    weight REAL NOT NULL
);
"""

# A memory stands for those that were merged into it only as long as it says what it said then.
CONSOLIDATION = """
ALTER TABLE memories ADD COLUMN superseded_at TEXT;
CREATE INDEX IF NOT EXISTS idx_mem_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE TRIGGER consolidation_undone AFTER UPDATE OF status, content ON memories
WHEN old.status = 'active' AND (new.status = 'invalidated' OR new.content IS NOT old.content) BEGIN
    UPDATE memories SET status = 'active', status_reason = '', superseded_by = NULL, superseded_at = NULL
    WHERE superseded_by = old.id AND status = 'superseded' AND status_reason = 'consolidated';
END;
"""

COUNT_IN_COLLECTION = """
    INSERT INTO collection_tallies VALUES (new.collection, new.type, 0) ON CONFLICT DO NOTHING;
    UPDATE collection_tallies SET n = n + 1 WHERE collection = new.collection AND type = new.type;
"""
# How many active memories of each type a collection has. An index to count by would tempt SQLite's planner away from
# the better ones that questions have.
KNOWN = f"""
CREATE TABLE collection_tallies (
    collection TEXT NOT NULL,
    type TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (collection, type)
) WITHOUT ROWID;
INSERT INTO collection_tallies
SELECT collection, type, count(*) FROM memories WHERE status = 'active' GROUP BY collection, type;
CREATE TRIGGER collection_tallies_insert AFTER INSERT ON memories WHEN new.status = 'active' BEGIN
{COUNT_IN_COLLECTION}END;
CREATE TRIGGER collection_tallies_delete AFTER DELETE ON memories WHEN old.status = 'active' BEGIN
    UPDATE collection_tallies SET n = n - 1 WHERE collection = old.collection AND type = old.type;
END;
CREATE TRIGGER collection_tallies_update AFTER UPDATE OF status, type, collection ON memories BEGIN
    INSERT INTO collection_tallies VALUES (new.collection, new.type, 0) ON CONFLICT DO NOTHING;
    UPDATE collection_tallies SET n = n - (old.status = 'active') WHERE collection = old.collection AND type = old.type;
    UPDATE collection_tallies SET n = n + (new.status = 'active') WHERE collection = new.collection AND type = new.type;
END;
"""

SESSION_TABLES = FRESHNESS + EPISODES + OUTCOMES + CONSOLIDATION + KNOWN
"""The step that adds sessions to a database."""

# How many lessons were superseded when a session was consolidated; NULL until it is, which a crash can put off.
CONSOLIDATED = """
ALTER TABLE sessions ADD COLUMN superseded INTEGER;
CREATE INDEX idx_sessions_unconsolidated ON sessions (id) WHERE status = 'ended' AND superseded IS NULL;
UPDATE sessions SET superseded = (
    SELECT count(*) FROM memories WHERE session_id = external_id AND session_id <> '' AND status_reason = 'consolidated'
) WHERE status = 'ended' AND end_reason <> 'crashed';
"""
"""The step that tells which sessions are consolidated."""

# A session belongs to the robot and outlives its processes, so no row says which process started it. `expires_at` is
# when a session that nobody ended is closed, in nanoseconds of the robot's clock; NULL for never.
EXPIRY = """
ALTER TABLE sessions DROP COLUMN owner;
ALTER TABLE sessions DROP COLUMN session_count;
ALTER TABLE sessions ADD COLUMN expires_at INTEGER;
"""
"""The step that gives sessions a longest duration."""
