"""The arguments of those tools that are no verbs of the memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..memory.argument import MAX_N, MAX_NAMES, MAX_QUERY, NUMBERS, Where, argument


@dataclass(slots=True)
class ObjectsRequest:
    """Which objects to list."""

    query: str = argument("", "words that describe the object, such as `red mug`", limit=MAX_QUERY)
    n: int = argument(10, "largest number of objects", within=(1, MAX_N))
    labels: Iterable[str] = argument((), "objects with these labels", entries=MAX_NAMES)
    nearest_to: Where = argument(None, "place; the nearest object comes first")
    include_unconfirmed: bool = argument(False, "also objects that were seen too seldom to be sure of")


@dataclass(slots=True)
class DoctorRequest:
    """No arguments."""


@dataclass(slots=True)
class DigestRequest:
    """What the digest is to be about, and how long it may be."""

    task: str | None = argument(
        None, "what you are about to do, in words; puts what was learned of it first", limit=MAX_QUERY
    )
    place: Iterable[float] | str | None = argument(
        None, "where you are: x, y (and z) in metres in the memory frame, or the name of an area", shape=NUMBERS
    )
    radius: float = argument(5.0, "metres around the place within which objects count", within=(0.01, 1e6))
    tokens: int = argument(800, "largest length of the digest in tokens, 100 to 8000", within=(100, 8000))
