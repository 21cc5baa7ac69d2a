"""When the robot's last visit to a place ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..conditions.places import POSITION, Place
from ..conditions.spatial import NEVER, Circle, SinceLastVisit
from ..storage import sighting_rows
from ..table.column import Mask
from ..table.view import View

Times = npt.NDArray[np.int64]


def last_visit(view: View, visit: SinceLastVisit) -> int:
    """Return when it ended, in nanoseconds, or NEVER; it is looked for once in each snapshot."""
    return view.snapshot.read_once(lambda _: _last_visit(view, visit), visit)


def _last_visit(view: View, visit: SinceLastVisit) -> int:
    collections = replace(visit.collections, of_notes=())
    here = view.is_active & Circle(visit.place).mask(view) & collections.mask(view)
    times = np.concatenate((view.observed_at[here], _sighted(view, here, visit.place)))
    times = np.sort(times[times <= visit.now])[::-1]
    starts = np.concatenate(([visit.now], times[:-1])) if len(times) else times
    (gaps,) = np.nonzero(starts - times > visit.gap)
    return int(times[gaps[0]]) if len(gaps) else NEVER


def _sighted(view: View, here: Mask, place: Place) -> Times:
    # When objects that are at the place were sighted there.
    objects = view.ids[here & (view.confirmed >= 0)]
    if place.field.name != POSITION or not len(objects):
        return np.empty(0, np.int64)
    sightings = sighting_rows.places(view.snapshot, objects)
    steps = np.array([row[1:] for row in sightings]).reshape(-1, 3)[:, : len(place.target)] - place.target
    is_near = np.sqrt((steps * steps).sum(axis=1)) <= place.max_distance
    times: Times = np.array([row[0] for row in sightings], np.int64)[is_near]
    return times
