"""List the tags of a memory, and change them: `robotmem tag`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ..memory.learning.vocabulary import Retagged
from ..memory.storage.tag_rows import Tag
from ..memory.verbs.requests import AddTagRequest, RemoveTagRequest, RenameTagRequest, TagsRequest
from .command import Shown, on_verb
from .listing import table


@on_verb(
    "tags.all", TagsRequest, "tag list", "list tags",
    "List all tags with the tag above each, and how many memories a filter by it finds.", lists="tags",
)  # fmt: skip
def _list(tags: Sequence[Tag], arguments: argparse.Namespace) -> Shown:
    text = table(("tag", "under", "shown as", "memories"), [(*tag[:1], tag.parent or "-", *tag[2:]) for tag in tags])
    return Shown({"tags": tags}, text or "no tags\n")


@on_verb(
    "tags.add", AddTagRequest, "tag add", "add or move a tag", "Add a tag under another one, or move it there.",
    writes=True, tag="TAG",
)  # fmt: skip
def _add(_: None, arguments: argparse.Namespace) -> Shown:
    under = f" under {arguments.parent}" if arguments.parent else ""
    return Shown({"tag": arguments.tag, "parent": arguments.parent}, f"added: {arguments.tag}{under}\n")


@on_verb(
    "tags.rename", RenameTagRequest, "tag rename", "rename a tag",
    "Rename a tag in all memories, or merge it into another one.", writes=True, tag="TAG", new_tag="NEW_TAG",
)  # fmt: skip
def _rename(result: Retagged, arguments: argparse.Namespace) -> Shown:
    done = f"merged into {arguments.new_tag}" if result.merged else f"renamed {arguments.new_tag}"
    return Shown(result, _outcome(arguments, done, result.memories))


@on_verb(
    "tags.remove", RemoveTagRequest, "tag remove", "remove a tag", "Take a tag away from all memories.",
    writes=True, tag="TAG",
)  # fmt: skip
def _remove(result: Retagged, arguments: argparse.Namespace) -> Shown:
    return Shown(result, _outcome(arguments, "removed", result.memories))


def _outcome(arguments: argparse.Namespace, done: str, memories: int) -> str:
    would = "would be " if arguments.dry_run else ""
    return f"{arguments.tag} {would}{done}, in {memories:,} memories\n"


COMMANDS = (_list, _add, _rename, _remove)
"""Commands, in the order in which help lists them."""
