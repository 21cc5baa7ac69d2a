"""Estimate the probability that an object exists, from the looks of detectors at its place.

Each look multiplies the odds of existence, p / (1 - p), by how much likelier it is if the object exists than if not:

    detected with confidence c     1 - d + d * c / f
    not detected                   (1 - d) ** w

`d` is the probability that a look detects the object. It is estimated for each object from the looks that did and did
not, (hits + 1) / (hits + misses + 2), Laplace's rule of succession: an object that is often hidden loses little when it
is missed, one that was always seen loses much. Misses count there once the object is detected again, since only then
were they misses of something that was there. A detection under a wrong label detects the object all the same.

`f` is the probability of a detection at this place if no object is there, estimated from the same looks: the parameter
`object_false_alarms` before any, and `object_false_alarms` / (1 + 2 misses) after misses. A place that showed nothing
in several looks gives few false alarms, so what is detected there again exists.

Between two looks a thing may leave: from one to the next the probability of what was there falls as `persistence.py`
says. So one miss disproves what leaves often, and several are needed for what never does.

What a robot sees changes slowly, so looks that follow each other are correlated: what hides an object hides it for some
time, and a false alarm lasts. So a look counts by its independence w of the one before it, 0 right after it and 1
`ABSENCE_INTERVAL` later. It adds w to the hits or misses, and `f` rises to 0.4 for w = 0, evenly in its logarithm.

A detection at the place of an object by another label shows that object under a wrong label, or another thing that
stood there before it came or after it left. The likelier is believed: how likely it was away follows from the time
between the detection and its stay, at its rate of leaving, and how likely the label is wrong from the votes on its own.
So within a visit a label is a vote, and what stands there hours later is another thing.

A new place is as likely to hold an object as to give a false alarm, so the odds before the first look are
`object_false_alarms`: after it they are about c / 2, less than even, and after the second look mostly above.

A caller of `save_perception` is no detector that fires at random: its confidence is the probability.

Sources: the recursion of Musicki, Evans and Stankovic, "Integrated probabilistic data association", IEEE Trans.
Automatic Control 39(6), 1994, with a single measurement in the gate; in logarithms it is the track score of Blackman,
"Multiple-Target Tracking with Radar Applications", 1986. The limits keep an object able to come and go: the clamping of
Hornung et al., "OctoMap", Autonomous Robots 34(3), 2013.
"""

from __future__ import annotations

import math

from ..config.parameters import Parameters
from ..models import NewMemory
from ..persistence import RETURN_RATE, after_time
from ..text.normal_form import label_key
from ..tracks import Track

ABSENCE_INTERVAL = 10.0
"""Seconds after which a look does not depend on the one before it: an obstacle has mostly moved by then."""
_MIN_PROBABILITY, _MAX_PROBABILITY = 0.02, 0.995
"""Limits of a probability before it is updated, so that no number of looks makes it final."""
_MAX_DETECTION = 0.8
"""Limit of `d` for a miss: something may stand in the way of any look."""
_LASTS = 0.4
"""Probability that a false alarm is still there right after it."""
_HOUR = 3600e9
_WRONG_LABEL = 0.05
"""Least probability that a detection of an object has a certain wrong label."""
_PRIOR_LOOKS = 0.5
"""Looks at a place that `object_false_alarms` counts for."""


def independence(since: float) -> float:
    """Return the independence of a look from the one `since` seconds before it, in [0, 1]."""
    return min(since / ABSENCE_INTERVAL, 1.0)


def predict(track: Track, at: int, leave_rate: float) -> None:
    """Let the probability of an object fall from the last look at it to a time, in nanoseconds."""
    hours = (at - max(track.last_seen, track.last_missed)) / _HOUR
    track.existence = after_time(track.existence, hours, leave_rate=leave_rate)


def count_detection(track: Track, new: NewMemory, parameters: Parameters) -> None:
    """Count a sighting of an object as evidence, unless it belongs to a look that is counted already.

    A sighting by another name is a look that detected the object, and a vote against its label.
    """
    track.misses, track.missed = track.misses + track.missed, 0.0
    since = abs(new.observed_at - track.last_hit) / 1e9
    if since >= parameters.look_interval:
        fresh = independence(since)
        f = parameters.object_false_alarms
        track.existence = after_detection(
            track.existence, track.hits, track.misses, new.confidence, false_alarms=f, fresh=fresh
        )
        track.hits += fresh
        track.last_hit = new.observed_at


def count_miss(track: Track, observed_at: int) -> None:
    """Count a look at a time that did not detect an object."""
    since = min(abs(observed_at - track.last_seen), abs(observed_at - track.last_missed)) / 1e9
    fresh = independence(since)
    track.existence = after_miss(track.existence, track.hits, track.misses, fresh=fresh)
    track.missed += fresh
    track.last_missed = observed_at


def was_hidden(track: Track, seen_at: int, leave_rate: float) -> bool:
    """Tell whether an object that is detected again was there all the time, and missed, rather than gone and back.

    What was not detected before it was confirmed has not been there.
    """
    hours = max(seen_at - track.last_seen, 0) / _HOUR
    has_left, is_back = (-math.expm1(-hours * rate) for rate in (leave_rate, RETURN_RATE))
    missed: float = (1.0 - min(_detection(track.hits, track.misses), _MAX_DETECTION)) ** track.missed
    return missed > has_left * is_back


def explains(track: Track, label: str, seen_at: int, leave_rate: float) -> bool:
    """Tell whether a detection by another label, at a time at the place of an object, rather showed this one."""
    hours = max(seen_at - track.last_seen, track.appeared - seen_at, 0) / _HOUR
    key, votes = label_key(label), sum(track.votes.values())
    named = sum(count for other, count in track.votes.items() if label_key(other) == key)
    was_away = -math.expm1(-hours * leave_rate)
    return was_away <= _WRONG_LABEL or was_away * votes <= named


def after_first(confidence: float, *, false_alarms: float) -> float:
    """Return the probability that an object exists which a detector has just seen for the first time."""
    return _probability(false_alarms * _likelihood_ratio(_detection(0.0, 0.0), confidence, false_alarms))


def after_detection(
    existence: float, hits: float, misses: float, confidence: float, *, false_alarms: float, fresh: float
) -> float:
    """Return the probability after one more detection.

    `hits` and `misses` are the looks before it, and `fresh` is its independence of the last of them.
    """
    later = false_alarms * _PRIOR_LOOKS / (_PRIOR_LOOKS + misses)
    again = _LASTS ** (1.0 - fresh) * later**fresh
    return _probability(_odds(existence) * _likelihood_ratio(_detection(hits, misses), confidence, again))


def after_miss(existence: float, hits: float, misses: float, *, fresh: float) -> float:
    """Return the probability after one more look that did not detect the object."""
    return _probability(_odds(existence) * (1.0 - min(_detection(hits, misses), _MAX_DETECTION)) ** fresh)


def either_exists(first: float, second: float) -> float:
    """Return the probability of an object that two others turned out to be: it exists if one of them did."""
    return 1.0 - (1.0 - first) * (1.0 - second)


def _likelihood_ratio(detection: float, confidence: float, false_alarms: float) -> float:
    return 1.0 - detection + detection * confidence / false_alarms


def _detection(hits: float, misses: float) -> float:
    return (hits + 1) / (hits + misses + 2)


def _odds(existence: float) -> float:
    limited = min(max(existence, _MIN_PROBABILITY), _MAX_PROBABILITY)
    return limited / (1.0 - limited)


def _probability(odds: float) -> float:
    return min(max(odds / (1.0 + odds), _MIN_PROBABILITY), _MAX_PROBABILITY)
