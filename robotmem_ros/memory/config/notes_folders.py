"""Read the parameters about notes: the folders with their collections, and the kinds that answer a recall."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidFieldError
from ..models import Kind
from ..validation import collection as collection_name
from ..validation import expanded_path, kind

FOLDERS, KINDS = "notes_folders", "recall_kinds"
DEFAULT_COLLECTION = "notes"
"""Collection of folders that name none."""


class NotesFolder(NamedTuple):
    """A folder whose Markdown and text files are notes."""

    name: str
    """First part of the paths of its files, as recall gives them."""
    path: Path
    collection: str


@lru_cache(maxsize=8)
def notes_folders(entries: Sequence[str]) -> tuple[NotesFolder, ...]:
    """Read the folders, each given as `path` or as `collection=path`.

    Raises:
        InvalidFieldError: one cannot be used, two have the same name, or one lies in another.
    """
    folders = tuple(map(_folder, entries))
    for first, second in permutations(folders, 2):
        if first.path == second.path or first.path in second.path.parents:
            raise InvalidFieldError(FOLDERS, str(second.path), f"lies in {str(first.path)!r}, which is named as well")
        if first.name == second.name:
            problem = f"has the name of {str(first.path)!r}, so their files could not be told apart; rename one of them"
            raise InvalidFieldError(FOLDERS, str(second.path), problem)
    return folders


@lru_cache(maxsize=8)
def recall_kinds(text: str) -> frozenset[Kind]:
    """Read the kinds, which stand between commas.

    Raises:
        InvalidFieldError: one is unknown, or there is none.
    """
    kinds = frozenset(kind(KINDS, word) for part in text.split(",") if (word := part.strip()))
    if not kinds:
        raise InvalidFieldError(KINDS, text, "names no kind; such as `facts, perceptions, notes`")
    return kinds


def _folder(entry: str) -> NotesFolder:
    collection, equals, folder = entry.partition("=")
    if not equals or "/" in collection:
        collection, folder = DEFAULT_COLLECTION, entry
    if not folder.strip() or not collection.strip():
        raise InvalidFieldError(FOLDERS, entry, "must be a folder, or `collection=folder`")
    path = Path(os.path.realpath(expanded_path(FOLDERS, folder.strip())))  # a loop of links is found when it is read
    if path == path.parent:
        raise InvalidFieldError(FOLDERS, entry, "is the whole disk; name a folder of notes")
    return NotesFolder(unicodedata.normalize("NFC", path.name), path, collection_name(FOLDERS, collection))
