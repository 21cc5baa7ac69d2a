"""Check what is to become of the vocabulary of tags, and do it: add, rename and remove a tag."""

from __future__ import annotations

from typing import NamedTuple

from .. import validation
from ..errors import InvalidFieldError, did_you_mean
from ..storage import tag_rows
from ..storage.snapshot import Snapshot, Transaction
from ..storage.tag_rows import TagMeta
from ..text.normal_form import tag_key


class Retagged(NamedTuple):
    """What a tag that was renamed or removed was on."""

    memories: int
    """Memories that had it, withdrawn ones included."""
    merged: bool = False
    """Whether the new tag was there before, so that the two are one now."""


def add(transaction: Transaction, tag: str, parent: str, display_name: str) -> None:
    """Add a tag under another one, or at the top if `parent` is empty; one that is there is moved.

    Raises:
        InvalidFieldError: a name cannot be used, the parent is unknown or stands under the tag, or rules give the tag.
    """
    key, above = _key("tag", tag), parent and _key("parent", parent)
    _check_not_of_taxonomy(transaction, key)
    if above:
        _check_known(transaction, "parent", above)
        if key in tag_rows.above(transaction, above):
            raise InvalidFieldError("parent", above, f"stands under {key!r} itself, so it cannot stand above it")
    name = validation.name("display_name", display_name) or tag.strip()
    tag_rows.add(transaction, TagMeta(key, above or None, name))


def preview(snapshot: Snapshot, tag: str, new_tag: str | None = None) -> Retagged:
    """Return what becomes of a tag that is renamed, or removed if the new one is None.

    Raises:
        InvalidFieldError: a name cannot be used, the tag is unknown or given by rules, or the new one stands under it.
    """
    key = _key("tag", tag)
    _check_known(snapshot, "tag", key)
    _check_not_of_taxonomy(snapshot, key)
    memories = len(tag_rows.memories_with(snapshot, key))
    if new_tag is None:
        return Retagged(memories)
    new_key = _key("new_tag", new_tag)
    if key in tag_rows.above(snapshot, new_key):
        problem = "is the tag itself" if new_key == key else f"stands under {key!r}, so the two cannot become one"
        raise InvalidFieldError("new_tag", new_tag, problem)
    return Retagged(memories, merged=tag_rows.exists(snapshot, new_key))


def exchange(transaction: Transaction, tag: str, new_tag: str | None = None) -> Retagged:
    """Rename a tag, or remove it if the new one is None; raises as `preview` does.

    The tags under it move under the new one, or under the tag above it.
    """
    result = preview(transaction, tag, new_tag)
    key, new_key = tag_key(tag), None if new_tag is None else tag_key(new_tag)
    reason = f"the tag {key!r} was removed" if new_key is None else f"the tag {key!r} is {new_key!r} now"
    tag_rows.exchange(transaction, key, new_key, reason)
    return result


def _key(field: str, tag: str) -> str:
    key = tag_key(validation.name(field, tag))
    if not key:
        raise InvalidFieldError(field, tag, "is empty; name a tag")
    return key


def _check_known(snapshot: Snapshot, field: str, tag: str) -> None:
    if not tag_rows.exists(snapshot, tag):
        near = did_you_mean(tag, tag_rows.names(snapshot))
        raise InvalidFieldError(field, tag, f"is the name of no tag{near}")


def _check_not_of_taxonomy(snapshot: Snapshot, tag: str) -> None:
    if tag_rows.is_of_taxonomy(snapshot, tag):
        problem = "is a tag that rules give, and they would give it again; change it in the file of `taxonomy_file`"
        raise InvalidFieldError("tag", tag, problem)
