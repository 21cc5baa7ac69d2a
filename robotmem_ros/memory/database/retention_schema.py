"""What went by retention, counted."""

# `reason` is the measure of the budget; `kind` that of the memories, or `sighting`.
REMOVED = """
CREATE TABLE removed (
    reason TEXT NOT NULL,
    kind TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (reason, kind)
) WITHOUT ROWID;
"""
