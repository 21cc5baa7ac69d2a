"""Keeps the key of each label beside it, by which labels are compared and found: see labels.py."""

LABEL_KEYS = """
ALTER TABLE memories ADD COLUMN label_key TEXT NOT NULL DEFAULT '';
UPDATE memories SET label_key = label_key(label) WHERE label <> '';
DROP INDEX idx_mem_label;
CREATE INDEX idx_mem_label_key ON memories (label_key) WHERE label_key <> '';
CREATE TRIGGER label_key_insert AFTER INSERT ON memories WHEN new.label <> '' AND new.label_key = '' BEGIN
    UPDATE memories SET label_key = label_key(new.label) WHERE id = new.id;
END;
CREATE TRIGGER label_key_update AFTER UPDATE OF label ON memories BEGIN
    UPDATE memories SET label_key = label_key(new.label) WHERE id = new.id;
END;
"""
"""The step that adds the keys."""
