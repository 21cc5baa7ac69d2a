"""Which texts have changed, in the order of their last changes: for those who keep what they have read of them."""

from .text_schema import TEXT_CHANGED

TEXT_CHANGES = f"""
CREATE TABLE text_changes (memory_id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE INDEX idx_text_changes ON text_changes (number);
CREATE TRIGGER text_changes_update
AFTER UPDATE OF content, human_summary, scope_files, scope_entities, label ON memories
WHEN {TEXT_CHANGED} BEGIN
    INSERT OR REPLACE INTO text_changes
    VALUES (new.id, (SELECT coalesce(max(number), 0) + 1 FROM text_changes));
END;
"""
"""The step that adds the table. Rows stay when memories go, so that numbers never come again."""
