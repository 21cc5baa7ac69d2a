"""The arguments of those tools whose verbs take no request of the core."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass

from ..memory.argument import Json, argument
from ..memory.bounds import MAX_IDS, MAX_NAME, MAX_NAMES, MAX_QUERY
from ..memory.search.request import MAX_N
from ..memory.sessions.sessions import LONGEST as LONGEST_SESSION

MOST_READ = 20
"""Memories that an agent reads in full at once."""


@dataclass(slots=True)
class ForgetRequest:
    """The memories to withdraw."""

    memory_id: Iterable[int] | int = argument(MISSING, "id of the memory, or ids of many", entries=MAX_IDS)
    reason: str = argument(
        MISSING, "why it is wrong or of no use any more; it is kept with the memory", limit="content_limit"
    )


@dataclass(slots=True)
class RestoreRequest:
    """The arguments of the tool `restore`."""

    memory_id: Iterable[int] | int = argument(
        MISSING, "id of a memory that was forgotten or superseded, or ids of many", entries=MAX_IDS
    )


@dataclass(slots=True)
class StartSessionRequest:
    """The episode that begins."""

    context: Json = argument(
        None, 'what the episode is about, such as {"task": "clear the table", "place": "kitchen"}, or plain text'
    )
    collection: str | None = argument(None, "namespace of the episode and of what is recalled in it")
    max_duration: float | None = argument(
        None, "seconds after which it ends by itself; 0 for the parameter", within=(0.0, LONGEST_SESSION)
    )


@dataclass(slots=True)
class EndSessionRequest:
    """The episode that ends."""

    session_id: str = argument(MISSING, "id that start_session returned")
    outcome_score: float | None = argument(
        None,
        "how well it went, from 0 (failed) to 1 (full success); leave it out if nobody can say",
        within=(0.0, 1.0),
    )


@dataclass(slots=True)
class GetMemoriesRequest:
    """Which memories to read in full."""

    ids: Iterable[int] = argument(MISSING, "ids of the memories", entries=MOST_READ)
    include_forgotten: bool = argument(False, "also those that were forgotten or superseded")


@dataclass(slots=True)
class ObjectsRequest:
    """Which objects to list."""

    query: str = argument("", "words that describe the object, such as `red mug`", limit=MAX_QUERY)
    n: int = argument(10, "largest number of objects", within=(1, MAX_N))
    labels: Iterable[str] = argument((), "objects with these labels", entries=MAX_NAMES)
    nearest_to: Json = argument(None, "place; the nearest object comes first")
    include_unconfirmed: bool = argument(False, "also objects that were seen too seldom to be sure of")


@dataclass(slots=True)
class ObjectHistoryRequest:
    """Whose sightings to list."""

    memory_id: int = argument(MISSING, "id of the object")
    n: int = argument(20, "largest number of sightings, the newest first", within=(1, 1000))


@dataclass(slots=True)
class ReadNoteRequest:
    """Which lines of a note to read."""

    path: str = argument(MISSING, "the note, as in the source of a recalled one: handbook/battery.md")
    first_line: int = argument(1, "first line to read", within=(1, 10**9))
    lines: int = argument(50, "largest number of lines", within=(1, 1000))


@dataclass(slots=True)
class TagsRequest:
    """Whose use of the tags to count."""

    collection: str | None = argument(None, "count only memories of this collection")


@dataclass(slots=True)
class AddTagRequest:
    """The tag to add, and where it stands."""

    tag: str = argument(MISSING, "the tag, such as fridge; one that is there is moved", limit=MAX_NAME)
    parent: str = argument("", "tag above it, such as kitchen; empty for the top", limit=MAX_NAME)


@dataclass(slots=True)
class RenameTagRequest:
    """The tag to rename."""

    tag: str = argument(MISSING, "the tag", limit=MAX_NAME)
    new_tag: str = argument(MISSING, "its new name; if that is there, the two become one", limit=MAX_NAME)
    dry_run: bool = argument(False, "only tell how many memories have it")


@dataclass(slots=True)
class RemoveTagRequest:
    """The tag to remove."""

    tag: str = argument(MISSING, "the tag", limit=MAX_NAME)
    dry_run: bool = argument(False, "only tell how many memories have it")


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
        None, "where you are: x, y (and z) in metres in the memory frame, or the name of an area"
    )
    radius: float = argument(5.0, "metres around the place within which objects count", within=(0.01, 1e6))
    tokens: int = argument(800, "largest length of the digest in tokens, 100 to 8000", within=(100, 8000))
