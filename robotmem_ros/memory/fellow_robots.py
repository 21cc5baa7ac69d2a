"""Keep what other robots remember in a file of one's own: in collections of their names, which are only read.

The memories of `lab` that the robot kitchen1 made are in the collection `@kitchen1/lab`. So nothing that the own robot
learns, sees or consolidates touches them, and a recall in `lab` finds them as well.

Their UUIDs follow from the name of the robot and the UUIDs that it gives. So whatever a robot sends names no memory of
the own robot or of a third one, and can change, delete or link none, whoever let it through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from .errors import InvalidFieldError

SIGN = "@"
"""Beginning of the names of these collections; no own collection begins with it."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_PRIVATE: Mapping[str, Any] = {
    "session_id": "", "perception_data": None, "history": (), "contributions": (), "outcomes": (), "neighbours": (),
    "access_count": 0, "return_count": 0, "last_accessed": None, "recalled_at": 0,
}  # fmt: skip
"""Parts of a memory that concern its robot alone."""


def robot_name(field: str, name: str) -> str:
    """Return the name of a robot.

    Raises:
        InvalidFieldError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise InvalidFieldError(field, name, "must be up to 40 small letters, digits, '-' and '_'")
    return name


def is_of_another(collection: str) -> bool:
    """Return whether a collection holds memories of another robot."""
    return collection.startswith(SIGN)


def with_others(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return collections with those of other robots that a recall of them searches as well.

    `@NAME` alone stands for all collections of a robot.
    """
    parts = [(other, *other.partition("/")[::2]) for other in others]
    return tuple(
        dict.fromkeys(
            name
            for own in names
            for name in (own, *(other for other, robot, collection in parts if own in (robot, collection)))
        )
    )


def uuid_of_another(robot: str, uuid: str) -> str:
    """Return the UUID, in hexadecimal digits, by which the own file has what another robot calls `uuid`.

    Raises:
        TypeError: `uuid` is no UUID; or ValueError.
    """
    name = bytes.fromhex(uuid)
    if len(name) != 16:
        raise ValueError("a UUID has 16 bytes")
    return blake2b(name, digest_size=16, key=robot.encode()).hexdigest()


def as_of_another(robot: str, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a unit of another robot's feed as the own file has it; None if it is no business of this one.

    Facts are, and objects: not what happened in between, and nothing that the robot itself has from others.
    """
    is_shared = row["type"] == "fact" or bool(row["object"]) if row["unit"] == "memory" else False
    if not is_shared or is_of_another(row["collection"]):
        return None
    names = {name: uuid_of_another(robot, row[name]) for name in ("uuid", "replacement", "group") if row[name]}
    links = {
        name: [{**link, "uuid": uuid_of_another(robot, link["uuid"])} for link in row[name]]
        for name in ("contradictions", "similar")
    }
    lineage = blake2b(robot.encode(), digest_size=16).hexdigest()
    collection = f"{SIGN}{robot}/{row['collection']}"
    return {**row, **_PRIVATE, **names, **links, "collection": collection, "robot": lineage}
