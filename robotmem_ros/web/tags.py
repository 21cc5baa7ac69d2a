"""The paths of tags: list them with the tree, add, rename and remove them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi import Path as InPath
from pydantic import Field

from ..memory import RobotMemory
from ..memory.argument import MAX_NAME
from ..memory.learning.vocabulary import Retagged
from ..memory.storage.tag_rows import Tag
from .memories import writable
from .requests import MAX_ENTRIES, Limit, Name, OfCollection, Strict
from .responses import responses
from .schemas import Value, filled_from


class TagIn(Strict):
    """A tag, and where it stands."""

    tag: str = Field(min_length=1, max_length=MAX_NAME)
    parent: str = Field(default="", max_length=MAX_NAME, description="The tag above it; empty for the top.")
    display_name: str = Field(default="", max_length=MAX_NAME, description="What people read; empty for the tag.")


class TagNameIn(Strict):
    """The new name of a tag."""

    tag: str = Field(min_length=1, max_length=MAX_NAME)


@filled_from(Tag, without={"tag"})
class TagOut(Value):
    """A tag, with the number of active memories that a filter by it finds."""

    value: str = Field(validation_alias="tag", description="The tag.")


class Tags(Value):
    """Tags, largest first."""

    tags: list[TagOut]


@filled_from(Retagged)
class RetaggedOut(Value):
    """What a tag that was renamed or removed was on."""


class TagAdded(Value):
    """A tag that stands in the tree."""

    added: str


def tag_routes(memory: RobotMemory, *, read_only: bool) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["tags"])
    changes = [Depends(writable(read_only))]

    @router.get("/tags", responses=responses())
    def tags(collection: OfCollection = None, n: Limit = MAX_ENTRIES) -> Tags:
        """List the tags with the tag above each, and how many memories a filter by it finds."""
        largest = sorted(memory.tags.all(collection), key=lambda tag: -tag.memories)[:n]
        return Tags.model_validate({"tags": largest})

    @router.post("/tags", responses=responses(), dependencies=changes, status_code=201)
    def add(body: TagIn) -> TagAdded:
        """Add a tag under another one, or move it there."""
        memory.tags.add(body.tag, body.parent, body.display_name)
        return TagAdded(added=body.tag)

    @router.put("/tags/{tag:path}", responses=responses(), dependencies=changes)
    def rename(tag: Annotated[Name, InPath()], body: TagNameIn) -> RetaggedOut:
        """Rename a tag in all memories, or merge it into another one."""
        return RetaggedOut.model_validate(memory.tags.rename(tag, body.tag))

    @router.delete("/tags/{tag:path}", responses=responses(), dependencies=changes)
    def remove(tag: Annotated[Name, InPath()]) -> RetaggedOut:
        """Take a tag away from all memories."""
        return RetaggedOut.model_validate(memory.tags.remove(tag))

    return router
