"""The arguments of the verbs that search and store nothing: each field with what is told and checked about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, MISSING, dataclass

from ..argument import ID, IDS, MAX_DETAILS, MAX_IDS, MAX_NAME, Json, argument
from ..sessions.sessions import LONGEST
from ..times import Time


@dataclass(slots=True)
class GetMemoriesRequest:
    """Which memories to read in full."""

    ids: Iterable[int] | int = argument(MISSING, "ids of the memories", "[3, 7]", entries=MAX_DETAILS, shape=IDS)
    _: KW_ONLY
    include_forgotten: bool = argument(False, "also those that were forgotten or superseded", "True")


@dataclass(slots=True)
class ForgetRequest:
    """The memories to withdraw."""

    memory_id: Iterable[int] | int = argument(MISSING, "id of the memory, or ids of many", "7", entries=MAX_IDS)
    reason: str = argument(
        MISSING, "why it is wrong or of no use any more; it is kept with the memory", '"the mug was thrown away"',
        limit="content_limit",
    )  # fmt: skip


@dataclass(slots=True)
class RestoreRequest:
    """The memories to bring back."""

    memory_id: Iterable[int] | int = argument(
        MISSING, "id of a memory that was forgotten or superseded, or ids of many", "[3, 7]", entries=MAX_IDS
    )


@dataclass(slots=True, kw_only=True)
class PurgeRequest:
    """The memories to delete for good; all conditions that are given must hold."""

    ids: Iterable[int] | int | None = argument(None, "these memories", "[3, 7]", entries=MAX_IDS)
    session_id: str | None = argument(None, "memories of this session, and the session", '"4e1f02c2"')
    collection: str | None = argument(None, "memories of this collection, and its sessions", '"kitchen"')
    before: Time | None = argument(None, "memories observed before", '"30 days ago"')
    dry_run: bool = argument(False, "only tell what would be deleted", "True")


@dataclass(slots=True)
class ObjectHistoryRequest:
    """Whose sightings to list."""

    memory_id: int = argument(MISSING, "id of the object", "7", shape=ID)
    n: int = argument(100, "largest number of sightings, the newest first", "20", within=(1, 10_000))


@dataclass(slots=True)
class StartSessionRequest:
    """The episode that begins."""

    context: Json = argument(
        None,
        'what the episode is about, such as {"task": "clear the table", "place": "kitchen"}, or plain text',
        '{"task": "clear the table"}',
    )
    collection: str | None = argument(None, "namespace of the episode and of what is recalled in it", '"kitchen"')
    _: KW_ONLY
    max_duration: float | None = argument(
        None, "seconds after which it ends by itself; 0 for the parameter", "600.0", within=(0.0, LONGEST)
    )


@dataclass(slots=True)
class EndSessionRequest:
    """The episode that ends."""

    session_id: str = argument(MISSING, "id that start_session returned", "session.session_id")
    outcome_score: float | None = argument(
        None, "how well it went, from 0 (failed) to 1 (full success); leave it out if nobody can say", "0.8",
        within=(0.0, 1.0),
    )  # fmt: skip


@dataclass(slots=True)
class SessionsRequest:
    """Which sessions to list."""

    collection: str | None = argument(None, "only those of this collection", '"kitchen"')
    n: int = argument(20, "largest number of sessions", "100", within=(1, 1_000_000))
    _: KW_ONLY
    cursor: str | None = argument(None, "id of the last session of the page before", '"4e1f02c2"')


@dataclass(slots=True)
class ConsolidateRequest:
    """The session whose facts to group."""

    session_id: str = argument(MISSING, "id of the session", '"4e1f02c2"')
    collection: str | None = argument(None, "its collection; by default that of the session", '"kitchen"')
    _: KW_ONLY
    dry_run: bool = argument(False, "only tell what the groups would be", "True")


@dataclass(slots=True)
class TagsRequest:
    """Whose use of the tags to count."""

    collection: str | None = argument(None, "count only memories of this collection", '"kitchen"')


@dataclass(slots=True)
class AddTagRequest:
    """The tag to add, and where it stands."""

    tag: str = argument(MISSING, "the tag, such as fridge; one that is there is moved", '"fridge"', limit=MAX_NAME)
    parent: str = argument("", "tag above it, such as kitchen; empty for the top", '"kitchen"', limit=MAX_NAME)
    display_name: str = argument("", "what people read; empty for the tag as it is written", '"Fridge"', limit=MAX_NAME)


@dataclass(slots=True)
class RenameTagRequest:
    """The tag to rename."""

    tag: str = argument(MISSING, "the tag", '"fridge"', limit=MAX_NAME)
    new_tag: str = argument(MISSING, "its new name; if that is there, the two become one", '"icebox"', limit=MAX_NAME)
    _: KW_ONLY
    dry_run: bool = argument(False, "only tell how many memories have it", "True")


@dataclass(slots=True)
class RemoveTagRequest:
    """The tag to remove."""

    tag: str = argument(MISSING, "the tag", '"icebox"', limit=MAX_NAME)
    _: KW_ONLY
    dry_run: bool = argument(False, "only tell how many memories have it", "True")
