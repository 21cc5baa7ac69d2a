"""The tables that tell who gave what: each learning of a fact, and who saw and described an object."""

# Each learning of a fact that was learned more than once, the first one with the method `first`: what stands in
# `memories` is what they come to together. `fact` is a JSON object of what it said and gave, `adds` whether that was
# more than was known, `gain` how much of the way to 1 its confidence goes.
CONTRIBUTIONS = """
CREATE TABLE contributions (
    id INTEGER PRIMARY KEY,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    learned_at TEXT NOT NULL,
    session_id TEXT NOT NULL,
    observed_at INTEGER NOT NULL,
    method TEXT NOT NULL CHECK (method IN ('first', 'exact', 'jaccard', 'cosine')),
    similarity REAL NOT NULL,
    gain REAL NOT NULL,
    adds INTEGER NOT NULL,
    fact TEXT NOT NULL
);
INSERT INTO contributions (memory_id, learned_at, session_id, observed_at, method, similarity, gain, adds, fact)
SELECT m.id, m.created_at, m.session_id, r.first, 'first', 1.0, 0.0, 1, json_object(
    'content', m.content, 'human_summary', m.human_summary, 'context', m.context, 'confidence', m.confidence,
    'category', m.category, 'tags', (SELECT json_group_array(tag) FROM memory_tags WHERE memory_id = m.id),
    'scope_files', m.scope_files, 'scope_entities', m.scope_entities, 'given', json('[]'), 'decisions', (
        SELECT json_group_array(json_array(field, value, rule)) FROM decisions WHERE memory_id = m.id
    )
)
FROM memories AS m JOIN (
    SELECT memory_id, min(observed_before) AS first FROM repetitions GROUP BY memory_id
) AS r ON r.memory_id = m.id;
INSERT INTO contributions (memory_id, learned_at, session_id, observed_at, method, similarity, gain, adds, fact)
SELECT memory_id, repeated_at, session_id, observed_before, method, similarity, 0.0, 0, json_object('content', content)
FROM repetitions ORDER BY id;
DROP TABLE repetitions;
CREATE INDEX idx_contributions_memory ON contributions (memory_id);
"""

# The content, the data and the metadata of an object are those of the sighting at `described_at` in `described_in`.
DESCRIBED = """
ALTER TABLE sightings ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
ALTER TABLE objects ADD COLUMN described_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE objects ADD COLUMN described_in TEXT NOT NULL DEFAULT '';
UPDATE objects SET described_at = first_seen;
"""

CONTRIBUTION_TABLES = CONTRIBUTIONS + DESCRIBED
"""The step that keeps what each learning and each sighting gave apart, so that one can be taken out again."""
