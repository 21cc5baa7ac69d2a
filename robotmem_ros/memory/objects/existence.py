"""Estimate the probability that an object exists, from the looks of detectors at its place.

Each look multiplies the odds of existence, p / (1 - p), by how much likelier it is if the object exists than if not:

    detected with confidence c     1 - d + d * c / f
    not detected                   1 - d

`d` is the probability that a look detects the object. It is estimated for each object from the looks that did and did
not, (hits + 1) / (hits + misses + 2), Laplace's rule of succession: an object that is often hidden loses little when it
is missed, one that was always seen loses much. A miss counts in `misses` by the probability that the object existed, so
that what is gone for long can come back. `f` is the parameter `object_false_alarms`, the probability of a
detection where no object is. A new place is as likely to hold an object as to give a false alarm, so the odds before
the first look are `f`: after it they are about c / 2, less than even, and after the second look mostly above.

A caller of `save_perception` is no detector that fires at random: its confidence is the probability.

Sources: the recursion of Musicki, Evans and Stankovic, "Integrated probabilistic data association", IEEE Trans.
Automatic Control 39(6), 1994, with a single measurement in the gate; in logarithms it is the track score of Blackman,
"Multiple-Target Tracking with Radar Applications", 1986. The limits keep an object able to come and go: the clamping of
Hornung et al., "OctoMap", Autonomous Robots 34(3), 2013.
"""

from __future__ import annotations

_LEAST, _MOST = 0.02, 0.99
"""Limits of a probability before it is updated, so that no number of looks makes it final."""
_MAX_DETECTION = 0.6
"""Limit of `d` for a miss: something may stand in the way of any look, and of the next ones."""


def after_first(confidence: float, *, false_alarms: float) -> float:
    """Return the probability that an object exists which a detector has just seen for the first time."""
    return _probability(false_alarms * _detected(0, 0, confidence, false_alarms))


def after_detection(existence: float, hits: int, misses: float, confidence: float, *, false_alarms: float) -> float:
    """Return the probability after one more detection; `hits` and `misses` are the looks before it."""
    return _probability(_odds(existence) * _detected(hits, misses, confidence, false_alarms))


def after_miss(existence: float, hits: int, misses: float) -> float:
    """Return the probability after one more look that did not detect the object."""
    return _probability(_odds(existence) * (1.0 - min(_detection(hits, misses), _MAX_DETECTION)))


def either(one: float, other: float) -> float:
    """Return the probability of an object that two others turned out to be: it exists if one of them did."""
    return 1.0 - (1.0 - one) * (1.0 - other)


def _detected(hits: int, misses: float, confidence: float, false_alarms: float) -> float:
    detection = _detection(hits, misses)
    return 1.0 - detection + detection * confidence / false_alarms


def _detection(hits: int, misses: float) -> float:
    return (hits + 1) / (hits + misses + 2)


def _odds(existence: float) -> float:
    limited = min(max(existence, _LEAST), _MOST)
    return limited / (1.0 - limited)


def _probability(odds: float) -> float:
    return min(max(odds / (1.0 + odds), _LEAST), _MOST)
