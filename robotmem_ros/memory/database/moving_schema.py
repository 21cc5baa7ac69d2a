"""Moves a position in its index when nothing else of its memory has changed, as every sighting of an object does.

To take out all positions of the memory and put them in again would cost as much as the rest of a sighting.
"""

from .schema import INSERT_POSITIONS

_OTHERS_CHANGED = """
    old.context IS NOT new.context OR old.frame_id IS NOT new.frame_id OR old.map_id IS NOT new.map_id
    OR (old.x IS NULL) <> (new.x IS NULL)
"""

MOVING = f"""
DROP TRIGGER positions_update;
CREATE TRIGGER positions_update AFTER UPDATE OF context, x, y, z, frame_id, map_id ON memories
WHEN {_OTHERS_CHANGED} BEGIN
    DELETE FROM positions WHERE memory_id = old.id; {INSERT_POSITIONS}
END;
CREATE TRIGGER positions_move AFTER UPDATE OF x, y, z ON memories
WHEN new.x IS NOT NULL AND NOT ({_OTHERS_CHANGED}) BEGIN
    UPDATE positions SET (x, y, z) = (new.x, new.y, new.z) WHERE memory_id = new.id AND space_id = (
        SELECT id FROM spaces WHERE field = 'position' AND frame_id = new.frame_id AND map_id = new.map_id
    );
END;
CREATE TRIGGER positions_rtree_update AFTER UPDATE OF x, y ON positions BEGIN
    UPDATE positions_rtree SET (x0, x1, y0, y1) = (new.x, new.x, new.y, new.y) WHERE id = new.id;
END;
"""
"""The step that adds the triggers."""
