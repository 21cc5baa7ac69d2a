"""The paths of tags: list them with the tree, add, rename and remove them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import Field

from ..memory import RobotMemory
from ..memory.learning.vocabulary import Retagged
from ..memory.storage.tag_rows import Tag
from .requests import MAX_ENTRIES, AddTagIn, Limit, Name, OfCollection, RenameTagIn, given
from .schemas import Value, filled_from


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


def tag_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["tags"])

    @router.get("/tags")
    def tags(collection: OfCollection = None, n: Limit = MAX_ENTRIES) -> Tags:
        """List the tags with the tag above each, and how many memories a filter by it finds."""
        largest = sorted(memory.tags.all(collection), key=lambda tag: -tag.memories)[:n]
        return Tags.model_validate({"tags": largest})

    @router.post("/tags", status_code=201)
    def add(body: AddTagIn) -> TagAdded:
        """Add a tag under another one, or move it there."""
        asked = given(body)
        memory.tags.add(**asked)
        return TagAdded(added=asked["tag"])

    @router.put("/tags/{tag:path}")
    def rename(tag: Annotated[Name, InPath()], body: RenameTagIn) -> RetaggedOut:
        """Rename a tag in all memories, or merge it into another one."""
        return RetaggedOut.model_validate(memory.tags.rename(tag, **given(body)))

    @router.delete("/tags/{tag:path}")
    def remove(tag: Annotated[Name, InPath()]) -> RetaggedOut:
        """Take a tag away from all memories."""
        return RetaggedOut.model_validate(memory.tags.remove(tag))

    return router
