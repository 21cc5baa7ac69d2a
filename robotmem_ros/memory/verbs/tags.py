"""Tags: the tree that a memory knows, and what becomes of a tag in all memories at once."""

from __future__ import annotations

from .. import validation
from ..learning import vocabulary
from ..learning.vocabulary import Retagged
from ..search.counts import read_tags
from ..storage.tag_rows import Tag
from .access import Access
from .requests import AddTagRequest, RemoveTagRequest, RenameTagRequest, TagsRequest
from .written import TagVerbs


class Tags(TagVerbs):
    """The tags of a memory, `memory.tags`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def _all(self, request: TagsRequest) -> tuple[Tag, ...]:
        """Return all tags in alphabetical order, with the tag above each and the number of memories under it.

        That is how many active memories a filter by it finds, in a collection or in all.

        Raises:
            InvalidFieldError: the name of the collection cannot be used.
        """
        return self._access.ask(read_tags, validation.collection("collection", request.collection, wildcard=""))

    def _add(self, request: AddTagRequest) -> None:
        """Add a tag to the tree under another one, at the top without `parent`; a tag that is there is moved.

        A filter by a tag also finds what has a tag under it. Tags are the same in whatever case and width they are
        written; `display_name` is what people read.

        Raises:
            InvalidFieldError: a name cannot be used, the parent is unknown or stands under the tag, or rules give the
                tag.
        """
        self._access.write(vocabulary.add, request.tag, request.parent, request.display_name).result()

    def _rename(self, request: RenameTagRequest) -> Retagged:
        """Rename a tag in the tree and in all memories; if the new one is there, the two become one.

        `history` of a memory keeps the tags that it had. With `dry_run` nothing is changed.

        Raises:
            InvalidFieldError: a name cannot be used, the tag is unknown or given by rules, or the new one stands under
                it.
        """
        return self._exchange(request.tag, request.new_tag, dry_run=request.dry_run)

    def _remove(self, request: RemoveTagRequest) -> Retagged:
        """Take a tag away from all memories and out of the tree; those under it move up. With `dry_run` it stays.

        Raises:
            InvalidFieldError: the name cannot be used, the tag is unknown, or rules give it.
        """
        return self._exchange(request.tag, None, dry_run=request.dry_run)

    def _exchange(self, tag: str, new_tag: str | None, *, dry_run: bool) -> Retagged:
        if validation.flag("dry_run", dry_run):
            return self._access.read(vocabulary.preview, tag, new_tag)
        return self._access.write(vocabulary.exchange, tag, new_tag).result()
