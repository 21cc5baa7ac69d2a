"""The index by which facts of like wording are found: the subjects of facts, and the words of each subject.

Facts that differ in a number, in an outcome or in a negation alone have one subject, whose words are indexed once. See
learning/subject.py for what the numbers stand for, and subject_rows.py for how they are searched.
"""

# `words` is a JSON array, the smallest number first; `first` marks the row of that one. By their sizes, subjects are
# passed over that cannot be like enough, by their signatures those that lack a word. What withdraws, restores or
# deletes a fact needs no function of ours.
SUBJECTS = """
CREATE TABLE subjects (
    id INTEGER PRIMARY KEY,
    size INTEGER NOT NULL,
    signature INTEGER NOT NULL,
    words TEXT NOT NULL
);
CREATE TABLE subject_words (
    word INTEGER NOT NULL,
    first INTEGER NOT NULL,
    size INTEGER NOT NULL,
    subject_id INTEGER NOT NULL,
    signature INTEGER NOT NULL,
    PRIMARY KEY (word, first, size, subject_id)
) WITHOUT ROWID;
CREATE TABLE subject_facts (
    memory_id INTEGER PRIMARY KEY,
    subject_id INTEGER NOT NULL,
    lesson INTEGER NOT NULL,
    stance TEXT NOT NULL,
    active INTEGER NOT NULL
);
CREATE INDEX idx_subject_facts_subject ON subject_facts (subject_id);
CREATE INDEX idx_subject_facts_active ON subject_facts (subject_id) WHERE active;
CREATE INDEX idx_subject_facts_lesson ON subject_facts (lesson) WHERE active;
CREATE TRIGGER subjects_insert AFTER INSERT ON subjects BEGIN
    INSERT INTO subject_words (word, first, size, subject_id, signature)
    SELECT value, key = 0, new.size, new.id, new.signature FROM json_each(new.words);
END;
CREATE TRIGGER subjects_delete AFTER DELETE ON subjects BEGIN
    DELETE FROM subject_words WHERE first IN (0, 1) AND size = old.size AND subject_id = old.id
    AND word IN (SELECT value FROM json_each(old.words));
END;
CREATE TRIGGER subject_facts_delete AFTER DELETE ON subject_facts BEGIN
    DELETE FROM subjects WHERE id = old.subject_id
    AND NOT EXISTS (SELECT 1 FROM subject_facts WHERE subject_id = old.subject_id);
END;
"""

_ADD = """
    INSERT INTO subjects (id, size, signature, words)
    SELECT subject_id(new.collection, new.content), json_array_length(subject_words(new.collection, new.content)),
        subject_signature(new.collection, new.content), subject_words(new.collection, new.content)
    WHERE new.type = 'fact'
    AND NOT EXISTS (SELECT 1 FROM subjects WHERE id = subject_id(new.collection, new.content));
    INSERT INTO subject_facts (memory_id, subject_id, lesson, stance, active)
    SELECT new.id, subject_id(new.collection, new.content), fact_lesson(new.collection, new.content),
        fact_stance(new.content), new.status = 'active'
    WHERE new.type = 'fact';
"""
_REMOVE = "DELETE FROM subject_facts WHERE memory_id = old.id;"
TRIGGERS = f"""
CREATE TRIGGER wording_insert AFTER INSERT ON memories WHEN new.type = 'fact' BEGIN
    {_ADD}
    UPDATE memories SET content_hash = content_digest(new.content) WHERE id = new.id;
END;
CREATE TRIGGER wording_delete AFTER DELETE ON memories WHEN old.type = 'fact' BEGIN
    {_REMOVE}
END;
CREATE TRIGGER wording_status AFTER UPDATE OF status ON memories WHEN new.type = 'fact' BEGIN
    UPDATE subject_facts SET active = (new.status = 'active') WHERE memory_id = new.id;
END;
CREATE TRIGGER wording_update AFTER UPDATE OF content, collection, type ON memories
WHEN old.type = 'fact' OR new.type = 'fact' BEGIN
    {_REMOVE}
    {_ADD}
    UPDATE memories SET content_hash = iif(new.type = 'fact', content_digest(new.content), NULL) WHERE id = new.id;
END;
"""

# Each pair stands twice, so that the one side leads to the other, and no index has to.
CONTRADICTIONS = """
CREATE TABLE contradicting (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (memory_id, other_id)
) WITHOUT ROWID;
INSERT INTO contradicting SELECT memory_id, other_id, reason FROM contradictions;
DROP TABLE contradictions;
ALTER TABLE contradicting RENAME TO contradictions;
CREATE TRIGGER contradictions_delete BEFORE DELETE ON memories WHEN old.type = 'fact' BEGIN
    DELETE FROM contradictions WHERE other_id = old.id
    AND memory_id IN (SELECT other_id FROM contradictions WHERE memory_id = old.id);
END;
"""

# In place of keys for each word of each fact. Without its setting, what is there is indexed when the file is opened.
SUBJECT_TABLES = f"""
DROP TRIGGER wording_insert;
DROP TRIGGER wording_delete;
DROP TRIGGER wording_update;
DROP TABLE wording_keys;
DELETE FROM settings WHERE name = 'wording';
{SUBJECTS}
{TRIGGERS}
{CONTRADICTIONS}
"""
"""The step that puts subjects in the place of keys, and takes an index from the contradictions."""

REBUILD_SUBJECTS = """
DELETE FROM subject_facts;
DELETE FROM subjects;
INSERT INTO subjects (id, size, signature, words)
SELECT id, json_array_length(words), signature, words FROM (
    SELECT subject_id(collection, content) AS id, subject_signature(collection, content) AS signature,
        subject_words(collection, content) AS words
    FROM memories WHERE type = 'fact'
) GROUP BY id;
INSERT INTO subject_facts (memory_id, subject_id, lesson, stance, active)
SELECT id, subject_id(collection, content), fact_lesson(collection, content), fact_stance(content), status = 'active'
FROM memories WHERE type = 'fact';
UPDATE memories SET content_hash = content_digest(content) WHERE type = 'fact'
"""
