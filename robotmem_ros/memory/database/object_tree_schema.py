"""Gives the places of objects an R*Tree of their own, in three dimensions.

The tree of all positions knows no height: on shelves, its boxes hold the objects of every level.

Each object has a box around its place, and a new one only when its place has left the box: every sighting moves its
object a little, and to move a box costs as much as a tenth of a sighting. As in the other tree, a space reaches a
quarter to both sides of its number.
"""

_SLACK = 0.05
"""Metres from the place of an object to the sides of its box."""


def _box(of: str) -> str:
    return ", ".join(f"{of}.{axis} - {_SLACK}, {of}.{axis} + {_SLACK}" for axis in "xyz")


_HAS_LEFT = " OR ".join(f"new.{axis} NOT BETWEEN {axis}0 AND {axis}1" for axis in "xyz")
_ADD = f"""
    INSERT INTO objects_rtree SELECT m.id, s.id - 0.25, s.id + 0.25, {_box("m")} FROM objects AS o
    CROSS JOIN memories AS m ON m.id = o.memory_id
    CROSS JOIN spaces AS s ON s.field = 'position' AND s.frame_id = m.frame_id AND s.map_id = m.map_id
"""

OBJECT_TREE = f"""
CREATE VIRTUAL TABLE objects_rtree USING rtree(id, space0, space1, x0, x1, y0, y1, z0, z1);
{_ADD};
CREATE TRIGGER objects_rtree_insert AFTER INSERT ON objects BEGIN {_ADD} WHERE o.memory_id = new.memory_id; END;
CREATE TRIGGER objects_rtree_update AFTER UPDATE OF x, y, z ON memories BEGIN
    UPDATE objects_rtree SET (x0, x1, y0, y1, z0, z1) = ({_box("new")}) WHERE id = new.id AND ({_HAS_LEFT});
END;
CREATE TRIGGER objects_rtree_delete AFTER DELETE ON objects BEGIN
    DELETE FROM objects_rtree WHERE id = old.memory_id;
END;
"""
"""The step that adds the tree; its ids are those of memories."""
