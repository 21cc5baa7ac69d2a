"""What the parameters say about labels: how near is the same thing, and which labels are mistaken for each other.

ROS parameters have no maps, so both are texts: `chair: 0.5, mug: 0.2` and `mug = cup, chair = stool = seat`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..errors import InvalidFieldError
from ..text.labels import label_key

_GREATEST_RADIUS = 100.0


class LabelRules(NamedTuple):
    """Radius and confusions by the keys of labels."""

    default_radius: float
    radii: dict[str, float]
    """Metres."""
    confusions: dict[str, frozenset[str]]

    def radius(self, label: str) -> float:
        """Up to how many metres apart two sightings of a label are of the same thing."""
        return self.radii.get(label_key(label), self.default_radius)

    def labels(self, label: str) -> frozenset[str]:
        """The keys of a label and of all that it may be mistaken for."""
        key = label_key(label)
        return self.confusions.get(key) or frozenset((key,))


def label_rules(default_radius: float, radii: str, confusions: str) -> LabelRules:
    """The rules that the parameters `object_radius`, `object_radii` and `object_confusions` hold.

    Raises:
        InvalidFieldError: one of the texts cannot be read.
    """
    return LabelRules(default_radius, _radii(radii), _confusions(confusions))


@lru_cache(maxsize=8)
def _radii(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for entry in _entries(text):
        label, colon, number = (part.strip() for part in entry.rpartition(":"))
        try:
            radius = float(number)
        except ValueError:
            radius = 0.0
        if not (colon and label and 0.0 < radius <= _GREATEST_RADIUS):
            raise InvalidFieldError(
                "object_radii", entry, f"must be `label: metres`, above 0 and at most {_GREATEST_RADIUS:g}"
            )
        if label_key(label) in found:
            raise InvalidFieldError("object_radii", label, "is given twice")
        found[label_key(label)] = radius
    return found


@lru_cache(maxsize=8)
def _confusions(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for entry in _entries(text):
        labels = [label.strip() for label in entry.split("=")]
        if len(labels) < 2 or not all(labels):
            raise InvalidFieldError("object_confusions", entry, "must be labels with `=` between them")
        keys = frozenset(map(label_key, labels))
        for label in labels:
            if label_key(label) in found:
                raise InvalidFieldError("object_confusions", label, "is given twice; put all its names in one entry")
        found.update(dict.fromkeys(keys, keys))
    return found


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",")] if text.strip() else []
