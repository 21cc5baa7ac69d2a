"""Rules of labels: the distance within which sightings are of one object, and the labels that detectors confuse.

ROS parameters have no maps, so both are texts: `chair: 0.5, mug: 0.2` and `mug = cup, chair = stool = seat`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..errors import InvalidFieldError
from ..text.normal_form import label_key

_MAX_RADIUS = 100.0


class LabelRules(NamedTuple):
    """Radii and confusions by label key."""

    default_radius: float
    radii: dict[str, float]
    """Metres."""
    confusions: dict[str, frozenset[str]]

    def radius(self, label: str) -> float:
        """Return the largest distance between two sightings of the same object, in metres."""
        return self.radii.get(label_key(label), self.default_radius)

    def labels(self, label: str) -> frozenset[str]:
        """Return the keys of a label and of all labels that it may be confused with."""
        key = label_key(label)
        return self.confusions.get(key) or frozenset((key,))


@lru_cache(maxsize=8)
def label_rules(default_radius: float, radii: str, confusions: str) -> LabelRules:
    """Parse the parameters `object_radius`, `object_radii` and `object_confusions`.

    Raises:
        InvalidFieldError: a text cannot be parsed.
    """
    return LabelRules(default_radius, _radii(radii), _confusions(confusions))


def _radii(text: str) -> dict[str, float]:
    radii: dict[str, float] = {}
    for entry in _entries(text):
        label, colon, number = (part.strip() for part in entry.rpartition(":"))
        try:
            radius = float(number)
        except ValueError:
            radius = 0.0
        if not (colon and label and 0.0 < radius <= _MAX_RADIUS):
            raise InvalidFieldError(
                "object_radii", entry, f"must be `label: metres`, above 0 and at most {_MAX_RADIUS:g}"
            )
        if label_key(label) in radii:
            raise InvalidFieldError("object_radii", label, "is given twice")
        radii[label_key(label)] = radius
    return radii


def _confusions(text: str) -> dict[str, frozenset[str]]:
    confusions: dict[str, frozenset[str]] = {}
    for entry in _entries(text):
        labels = [label.strip() for label in entry.split("=")]
        if len(labels) < 2 or not all(labels):
            raise InvalidFieldError("object_confusions", entry, "must be labels with `=` between them")
        keys = frozenset(map(label_key, labels))
        for label in labels:
            if label_key(label) in confusions:
                raise InvalidFieldError("object_confusions", label, "is given twice; put all its names in one entry")
        confusions.update(dict.fromkeys(keys, keys))
    return confusions


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",")] if text.strip() else []
