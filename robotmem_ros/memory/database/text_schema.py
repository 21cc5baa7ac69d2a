"""The text index: the words of each memory, and in how many memories each word stands.

Words are cut, folded and stemmed before FTS5 gets them. So a search can count them in the text that FTS5 keeps, and
rank without FTS5's bm25(), which walks through all memories that hold a word of the question.
"""

_COLUMNS = "content, human_summary, scope_files, scope_entities"
_TEXTS_OF_NEW = (
    "indexed_text(new.content), indexed_text(new.human_summary), indexed_text(new.scope_files), "
    "indexed_text(new.scope_entities || ' ' || new.label)"
)
_WORDS_OF_OLD = (
    f"SELECT value FROM memories_fts CROSS JOIN json_each(distinct_words({_COLUMNS})) WHERE memories_fts.rowid = old.id"
)
ADD_TEXT = f"""
    INSERT INTO memories_fts (rowid, {_COLUMNS}) VALUES (new.id, {_TEXTS_OF_NEW});
    INSERT INTO words (word, memories) SELECT value, 1 FROM json_each(distinct_words({_TEXTS_OF_NEW})) WHERE true
    ON CONFLICT (word) DO UPDATE SET memories = memories + 1;
    UPDATE text_totals SET memories = memories + 1, words = words + word_count({_TEXTS_OF_NEW});
"""
_REMOVE = f"""
    UPDATE words SET memories = memories - 1 WHERE word IN ({_WORDS_OF_OLD});
    DELETE FROM words WHERE memories = 0 AND word IN ({_WORDS_OF_OLD});
    UPDATE text_totals SET memories = memories - 1,
    words = words - (SELECT word_count({_COLUMNS}) FROM memories_fts WHERE rowid = old.id);
    DELETE FROM memories_fts WHERE rowid = old.id;
"""
TEXT_CHANGED = " OR ".join(
    f"old.{column} IS NOT new.{column}"
    for column in ("content", "human_summary", "scope_files", "scope_entities", "label")
)

TEXT_TABLES = f"""
DROP TRIGGER memories_fts_insert;
DROP TRIGGER memories_fts_delete;
DROP TRIGGER memories_fts_update;
DROP TABLE memories_fts;
CREATE VIRTUAL TABLE memories_fts USING fts5({_COLUMNS}, tokenize = 'unicode61 remove_diacritics 2', columnsize = 0);
CREATE TABLE words (word TEXT PRIMARY KEY, memories INTEGER NOT NULL) WITHOUT ROWID;
-- Without this, what is there is indexed when the file is opened.
DELETE FROM settings WHERE name = 'tokens';
CREATE TABLE text_totals (memories INTEGER NOT NULL, words INTEGER NOT NULL);
INSERT INTO text_totals VALUES (0, 0);
CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN {ADD_TEXT} END;
CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN {_REMOVE} END;
CREATE TRIGGER memories_fts_update
AFTER UPDATE OF content, human_summary, scope_files, scope_entities, label ON memories
WHEN {TEXT_CHANGED} BEGIN {_REMOVE} {ADD_TEXT} END;
"""
"""The step that gives a database this index. What was stored before is indexed when the database is opened."""

REBUILD_TEXT_INDEX = f"""
DELETE FROM memories_fts;
DELETE FROM words;
INSERT INTO memories_fts (rowid, {_COLUMNS})
SELECT new.id, {_TEXTS_OF_NEW} FROM memories AS new;
INSERT INTO words (word, memories)
SELECT value, count(*) FROM memories_fts CROSS JOIN json_each(distinct_words({_COLUMNS})) GROUP BY value;
UPDATE text_totals SET memories = (SELECT count(*) FROM memories),
words = (SELECT coalesce(sum(word_count({_COLUMNS})), 0) FROM memories_fts);
"""
