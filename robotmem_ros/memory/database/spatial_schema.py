"""The R*Tree once more, with spaces that have a thickness.

SQLite's R*Tree weighs boxes by their volume. While all boxes were flat in the dimension of the space, every volume was
0 and the tree no better than a list: the ten nearest of 100,000 positions took 3.2 ms, and of more in step with their
number. Now they take 0.17 ms.
"""

THICK_SPACES = """
DROP TRIGGER positions_rtree_insert;
DELETE FROM positions_rtree;
CREATE TRIGGER positions_rtree_insert AFTER INSERT ON positions BEGIN
    INSERT INTO positions_rtree VALUES (new.id, new.space_id, new.space_id + 0.5, new.x, new.x, new.y, new.y);
END;
INSERT INTO positions_rtree SELECT id, space_id, space_id + 0.5, x, x, y, y FROM positions;
"""
"""The step that gives spaces a thickness of a half in the R*Tree."""
