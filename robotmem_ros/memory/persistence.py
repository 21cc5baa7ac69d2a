"""How long things stay where they are: a Markov chain in continuous time over there and not there.

Its rates are learned for each label from the stays that have ended. When a thing left is only known to lie between the
last look that saw it and the one that found it gone; the likeliest rate is found by expectation and maximisation.

Sources: Rosen, Mason and Leonard, "Towards lifelong feature-based mapping in semi-static environments", ICRA 2016;
Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", J. R. Stat. Soc. B 39(1),
1977. The weight of the prior is that of Jeffreys for a rate: half an event.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

_PRIOR_DEPARTURES, _PRIOR_HOURS = 0.5, 12.0
"""What is assumed of a label before anything is known of it."""
RETURN_RATE = 1 / 24
"""Returns an hour of what left."""
_STEPS = 20


class Departures(NamedTuple):
    """How often things of a label left, and how many hours in all they were there until then."""

    ended: int = 0
    hours: float = 0.0

    def leave_rate(self, hours: float = 0.0) -> float:
        """Return how often an hour such a thing leaves, if one has stayed for some more hours and goes on.

        It is the mean of a Gamma distribution.
        """
        return (_PRIOR_DEPARTURES + self.ended) / (_PRIOR_HOURS + self.hours + max(hours, 0.0))


LEAVE_RATE = Departures().leave_rate()
"""Departures an hour of things of which nothing is known yet."""


@lru_cache(maxsize=1024)
def departures(stays: tuple[tuple[float, float], ...]) -> Departures:
    """Return what stays tell that have ended, which most messages and recalls ask again.

    Of each: hours from the first look that saw it to the last one, and from then to the look that found it gone.
    """
    if not stays:
        return Departures()
    seen, unseen = np.array(stays, np.float64).T
    estimate = Departures(len(stays), float((seen + unseen / 2).sum()))
    for _ in range(_STEPS):
        # In the mean a thing leaves so long after it was seen last, if it does before it is found gone.
        at_rate = np.clip(unseen * estimate.leave_rate(), 1e-6, 500.0)
        left_after = unseen * (1 / at_rate - 1 / np.expm1(at_rate))
        estimate = Departures(len(stays), float((seen + left_after).sum()))
    return estimate


def after_time(existence: float, hours: float, *, leave_rate: float) -> float:
    """Return the probability after hours without a look, at so many departures an hour.

    It falls towards the share of time that such a thing is there, since things also return. Without a look it never
    rises.
    """
    share = RETURN_RATE / (leave_rate + RETURN_RATE)
    return min(existence, share + (existence - share) * math.exp(-(leave_rate + RETURN_RATE) * max(hours, 0.0)))
