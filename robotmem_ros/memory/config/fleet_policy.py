"""Read the parameter `fleet_collections`: what goes to the fleet, by collection and kind.

ROS parameters have no maps, so it is a text: `*/fact, lab, !lab-private`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import InvalidFieldError
from ..fellow_robots import is_of_another
from ..models import Kind
from ..validation import collection as collection_name

FIELD = "fleet_collections"
_KINDS = {Kind.FACT.value, Kind.PERCEPTION.value}
_OF_PEOPLE = "people"
"""Beginning of the names of collections that `*` does not stand for."""


class Part(NamedTuple):
    """Memories that go to the fleet, or stay."""

    is_sent: bool
    collection: str
    """Empty for all, but those of people if they would be sent."""
    kind: str
    """Empty for all, and for the sessions and maps of the collection."""

    def contains(self, collection: str, kind: str) -> bool:
        """Return whether memories of a kind in a collection are of this part."""
        if self.kind not in ("", kind):
            return False
        if self.collection:
            return self.collection == collection
        return not (self.is_sent and collection.startswith(_OF_PEOPLE))


@lru_cache(maxsize=8)
def fleet_parts(text: str) -> tuple[Part, ...]:
    """Read the parts.

    Raises:
        InvalidFieldError: the text cannot be read.
    """
    return tuple(_parts(text))


def is_sent(text: str, row: Mapping[str, Any]) -> bool:
    """Return whether a unit of the feed goes to the fleet; tags that callers added and areas do if anything does."""
    if row.get("unit") in ("tag", "areas"):
        return bool(text.strip())
    parts, collection, kind = fleet_parts(text), str(row.get("collection", "")), str(row.get("type", ""))
    if is_of_another(collection):
        return False
    matching = {part.is_sent for part in parts if part.contains(collection, kind)}
    return matching == {True}


def _parts(text: str) -> Iterator[Part]:
    for entry in text.split(",") if text.strip() else ():
        part = entry.strip()
        name = part.removeprefix("!").strip()
        collection, slash, kind = name.rpartition("/")
        if not slash or kind not in _KINDS:
            collection, kind = name, ""
        if not collection:
            raise InvalidFieldError(FIELD, entry, "must be such as `*`, `lab`, `lab/fact` or `!private`")
        yield Part(not part.startswith("!"), collection_name(FIELD, collection, wildcard=""), kind)
