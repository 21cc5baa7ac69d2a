"""List the tags of a memory, and change them: `robotmem tag`."""

from __future__ import annotations

import argparse

from ..memory import RobotMemory
from ..memory.verbs.requests import AddTagRequest, RemoveTagRequest, RenameTagRequest, TagsRequest
from .command import Shown, on_memory, options_of, values_of
from .listing import table


@on_memory(
    "tag list", "list tags", "List all tags with the tag above each, and how many memories a filter by it finds.",
    *options_of(TagsRequest), lists="tags",
)  # fmt: skip
def _list(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    tags = memory.tags.all(**values_of(arguments, TagsRequest))
    text = table(("tag", "under", "shown as", "memories"), [(*tag[:1], tag.parent or "-", *tag[2:]) for tag in tags])
    return Shown({"tags": tags}, text or "no tags\n")


@on_memory(
    "tag add", "add or move a tag", "Add a tag under another one, or move it there.",
    *options_of(AddTagRequest, tag="TAG"), writes=True,
)  # fmt: skip
def _add(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    memory.tags.add(**values_of(arguments, AddTagRequest))
    under = f" under {arguments.parent}" if arguments.parent else ""
    return Shown({"tag": arguments.tag, "parent": arguments.parent}, f"added: {arguments.tag}{under}\n")


@on_memory(
    "tag rename", "rename a tag", "Rename a tag in all memories, or merge it into another one.",
    *options_of(RenameTagRequest, tag="TAG", new_tag="NEW_TAG"), writes=True,
)  # fmt: skip
def _rename(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    result = memory.tags.rename(**values_of(arguments, RenameTagRequest))
    done = f"merged into {arguments.new_tag}" if result.merged else f"renamed {arguments.new_tag}"
    return Shown(result, _outcome(arguments, done, result.memories))


@on_memory(
    "tag remove", "remove a tag", "Take a tag away from all memories.",
    *options_of(RemoveTagRequest, tag="TAG"), writes=True,
)  # fmt: skip
def _remove(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    result = memory.tags.remove(**values_of(arguments, RemoveTagRequest))
    return Shown(result, _outcome(arguments, "removed", result.memories))


def _outcome(arguments: argparse.Namespace, done: str, memories: int) -> str:
    would = "would be " if arguments.dry_run else ""
    return f"{arguments.tag} {would}{done}, in {memories:,} memories\n"


COMMANDS = (_list, _add, _rename, _remove)
"""Commands, in the order in which help lists them."""
