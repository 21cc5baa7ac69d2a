"""When the robot's last visit to a place ended."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..conditions.spatial import NEVER, SinceLastVisit
from ..storage import visit_rows
from ..storage.snapshot import Snapshot


def last_visit(snapshot: Snapshot, visit: SinceLastVisit) -> int:
    """Return when it ended, in nanoseconds, or NEVER; a snapshot looks for it once."""
    return snapshot.read_once(partial(_last_visit, visit=visit), visit)


def _last_visit(snapshot: Snapshot, visit: SinceLastVisit) -> int:
    times = np.sort(visit_rows.times(snapshot, visit))[::-1]
    starts = np.concatenate(([visit.now], times[:-1])) if len(times) else times
    (gaps,) = np.nonzero(starts - times > visit.gap)
    return int(times[gaps[0]]) if len(gaps) else NEVER
