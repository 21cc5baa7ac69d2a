"""Takes the leaves of a context out of their index one by one, each by its whole key.

`(path_id, value) IN (SELECT ...)` finds them by the path alone, so that one delete, or one sighting of an object, read
the leaves of all memories.
"""

from __future__ import annotations

from .schema import INSERT_LEAVES, LEAVES_OF

_DELETE_LEAVES = f"""
    INSERT INTO context_leaves_gone (path_id, value, memory_id) {LEAVES_OF}, old.id
    FROM json_each(context_leaves(old.context)) AS leaf JOIN context_paths AS p ON p.path = leaf.key;
"""

LEAF_TRIGGERS = f"""
CREATE VIEW context_leaves_gone (path_id, value, memory_id) AS SELECT path_id, value, memory_id FROM context_leaves;
CREATE TRIGGER context_leaves_gone_insert INSTEAD OF INSERT ON context_leaves_gone BEGIN
    DELETE FROM context_leaves WHERE path_id = new.path_id AND value = new.value AND memory_id = new.memory_id;
END;
DROP TRIGGER context_leaves_delete;
DROP TRIGGER context_leaves_update;
CREATE TRIGGER context_leaves_delete AFTER DELETE ON memories WHEN old.context <> '{{}}' BEGIN {_DELETE_LEAVES} END;
CREATE TRIGGER context_leaves_update AFTER UPDATE OF context ON memories WHEN old.context IS NOT new.context BEGIN
    {_DELETE_LEAVES} {INSERT_LEAVES}
END;
"""
"""The step that lets contexts be changed and deleted in a time that does not depend on how many there are."""
