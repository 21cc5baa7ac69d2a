"""Gives the spaces in the R*Tree an extent.

A box that is flat in one dimension has no volume, and the tree chooses where to put a box by volumes: with flat spaces
it reads most of itself for every question. The margin around the number of a space is a quarter, so spaces never meet.
"""

THICK_SPACES = """
DROP TRIGGER positions_rtree_insert;
DROP TRIGGER positions_rtree_delete;
DROP TABLE positions_rtree;
CREATE VIRTUAL TABLE positions_rtree USING rtree(id, space0, space1, x0, x1, y0, y1);
INSERT INTO positions_rtree SELECT id, space_id - 0.25, space_id + 0.25, x, x, y, y FROM positions;
CREATE TRIGGER positions_rtree_insert AFTER INSERT ON positions BEGIN
    INSERT INTO positions_rtree VALUES (
        new.id, new.space_id - 0.25, new.space_id + 0.25, new.x, new.x, new.y, new.y
    );
END;
CREATE TRIGGER positions_rtree_delete AFTER DELETE ON positions BEGIN
    DELETE FROM positions_rtree WHERE id = old.id;
END;
"""
"""The step that makes the tree anew."""
