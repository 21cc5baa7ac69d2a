"""List the tags of a memory, and change them: `robotmem tag`."""

from __future__ import annotations

import argparse

from ..memory.learning.vocabulary import Retagged
from .command import DATABASE, DRY_RUN, Command, CommandError, open_memory, option, show, table
from .listing import LISTING, show_list

_NEEDS = {"list": (), "add": ("tag",), "rename": ("tag", "new_tag"), "remove": ("tag",)}


def _tag(arguments: argparse.Namespace) -> None:
    missing = [name for name in _NEEDS[arguments.what] if getattr(arguments, name) is None]
    if missing:
        raise CommandError(f"name the tag: robotmem tag {arguments.what} {' '.join(map(str.upper, missing))}")
    {"list": _list, "add": _add, "rename": _exchange, "remove": _exchange}[arguments.what](arguments)


def _list(arguments: argparse.Namespace) -> None:
    with open_memory(arguments.db, read_only=True) as memory:
        tags = memory.tags.all(arguments.collection)
    text = table(("tag", "under", "shown as", "memories"), [(*tag[:1], tag.parent or "-", *tag[2:]) for tag in tags])
    show_list(arguments, {"tags": tags}, "tags", text or "no tags\n")


def _add(arguments: argparse.Namespace) -> None:
    parent = arguments.parent or ""
    with open_memory(arguments.db) as memory:
        memory.tags.add(arguments.tag, parent, arguments.display_name or "")
    under = f" under {parent}" if parent else ""
    show(arguments, {"tag": arguments.tag, "parent": parent}, f"added: {arguments.tag}{under}\n")


def _exchange(arguments: argparse.Namespace) -> None:
    dry_run, tag, new_tag = arguments.dry_run, arguments.tag, arguments.new_tag
    with open_memory(arguments.db, read_only=dry_run) as memory:
        if arguments.what == "remove":
            result = memory.tags.remove(tag, dry_run=dry_run)
        else:
            result = memory.tags.rename(tag, new_tag, dry_run=dry_run)
    show(arguments, result, _outcome(arguments, result))


def _outcome(arguments: argparse.Namespace, result: Retagged) -> str:
    done = {"rename": f"renamed {arguments.new_tag}", "remove": "removed"}[arguments.what]
    if result.merged:
        done = f"merged into {arguments.new_tag}"
    would = "would be " if arguments.dry_run else ""
    return f"{arguments.tag} {would}{done}, in {result.memories:,} memories\n"


COMMANDS = (
    Command(
        "tag", "list, add, rename or remove tags",
        "List all tags with the tag above each, and how many memories a filter by it finds; add one under another one, "
        "or move it there; rename one in all memories, or merge it into another one; or take one away from all.", _tag,
        (
            option("what", choices=tuple(_NEEDS), help="what to do"),
            option("tag", nargs="?", metavar="TAG", help="the tag"),
            option("new_tag", nargs="?", metavar="NEW_TAG", help="its new name"),
            option("--parent", metavar="TAG", help="tag above an added one; by default it stands at the top"),
            option("--display-name", metavar="NAME", help="what people read of an added one"),
            option("--collection", metavar="NAME", help="count only memories of this collection"),
            DRY_RUN,
            DATABASE,
            *LISTING,
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
