"""List the files of folders of notes, and read them; nothing outside of a folder is ever opened."""

from __future__ import annotations

import errno
import os
import stat
import time
import unicodedata
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import NamedTuple

from ..config.notes_folders import NotesFolder
from ..errors import encodable

MARKDOWN = frozenset({".md", ".markdown"})
TEXT = frozenset({".txt", ".text", ".rst"})
LARGEST = 1_000_000
"""Bytes of a file that is still read."""
MAX_FILES = 10_000
"""Files of one folder."""
_IRREGULAR = {
    stat.S_IFIFO: "is a named pipe and no file", stat.S_IFSOCK: "is a socket and no file",
    stat.S_IFCHR: "is a device and no file", stat.S_IFBLK: "is a device and no file",
}  # fmt: skip
_BROKEN = {errno.ELOOP: "leads to itself", errno.ENOENT: "leads nowhere"}
_MAX_REPORTED = 3
_DEEPEST = 32
_RACY = 0.1
"""Seconds: a file that was changed less than this ago may be changed again without another time."""


class FileError(Exception):
    """A file or a folder cannot be read; says why in words that follow its path."""


class FoundFile(NamedTuple):
    """A file of a folder."""

    path: str
    """The name of the folder and the path in it, in the composed form of Unicode (NFC)."""
    parts: tuple[str, ...]
    """Its path in the folder, as the disk has it."""
    folder: NotesFolder
    stamp: str
    """Changes when the file does."""
    modified: int
    """Nanoseconds since the epoch."""

    @property
    def is_markdown(self) -> bool:
        """Tell whether it is Markdown; else it is plain text."""
        return _suffix(self.path) in MARKDOWN


@dataclass
class Listing:
    """Contents of a folder."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    """By path."""
    refused: dict[str, str] = field(default_factory=dict)
    """Files that are not read, and why."""
    unread: dict[str, str] = field(default_factory=dict)
    """Folders and files in it that could not be looked at, and why."""
    left_out: str = ""
    """Reason why files are missing here; empty if none is."""
    device: int = 0


class Seen:
    """Result of a search of the folders, and what it could not see."""

    def __init__(self) -> None:
        self.files: dict[str, FoundFile] = {}
        self.refused: dict[str, str] = {}
        self.device = 0
        self._unseen: set[str] = set()

    def add(self, folder: NotesFolder, device: int) -> str:
        """Search a folder that was on a `device` before; 0 if that does not matter. Return what is wrong with it."""
        self.device = 0
        try:
            listing = list_folder(folder)
        except FileError as error:
            self._unseen.add(folder.name)
            return f"{error}; what was read of it before stays"
        if device not in {0, listing.device} and not listing.files:
            self._unseen.add(folder.name)
            return "is empty and on another disk than before; what was read of it there stays"
        self.files |= listing.files
        self.refused |= listing.refused
        self.device = listing.device
        self._unseen |= listing.unread.keys()
        errors = [f"{path!r} {problem}" for path, problem in sorted(listing.unread.items())[:_MAX_REPORTED]]
        return "; ".join([*errors, *filter(None, [listing.left_out])])

    def shows_missing(self, path: str) -> bool:
        """Tell whether a file is surely not there."""
        if path in self.files or path in self.refused:
            return False
        parts = path.split("/")
        return not any("/".join(parts[:n]) in self._unseen for n in range(1, len(parts) + 1))


def list_folder(folder: NotesFolder) -> Listing:
    """List the Markdown and text files of a folder and of those in it; hidden ones are left out.

    Raises:
        FileError: it is missing, is no folder, or cannot be read.
    """
    listing = Listing()
    try:
        listing.device = folder.path.stat().st_dev
        _list(folder, (), listing)
    except FileNotFoundError:
        raise FileError("is missing") from None
    except OSError as cause:
        raise FileError(f"cannot be read ({cause.strerror})") from cause
    return listing


def read(file: FoundFile) -> tuple[bytes, str]:
    """Return the content of a file and its stamp; it is empty if the file may change within the same moment.

    Raises:
        FileError: it is too large, or no file of this folder any more.
        OSError: it cannot be opened or read.
    """
    with ExitStack() as stack:
        folder = os.open(file.folder.path, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, folder)
        # Part by part, so that no link on the way leads out.
        for part in file.parts[:-1]:
            folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            stack.callback(os.close, folder)
        descriptor = os.open(file.parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as source:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FileError("is no file")
            _check_size(status.st_size)
            content = source.read(LARGEST + 1)
            _check_size(len(content))
            is_settled = time.time() - status.st_mtime > _RACY and len(content) == status.st_size
            return content, _stamp(status) if is_settled else ""


def decode(content: bytes) -> str:
    """Return the text of a file.

    Raises:
        FileError: it is no text in UTF-8.
    """
    if b"\0" in content:
        raise FileError("is no text (it contains a zero byte)")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise FileError(f"is no text in UTF-8 (at byte {cause.start + 1})") from cause


def _list(folder: NotesFolder, parts: tuple[str, ...], listing: Listing) -> None:
    with os.scandir(folder.path.joinpath(*parts)) as entries:
        sorted_entries = sorted(entries, key=lambda entry: entry.name)
    for entry in sorted_entries:
        if entry.name.startswith("."):
            continue
        inner = (*parts, entry.name)
        path = "/".join((folder.name, *(unicodedata.normalize("NFC", part) for part in inner)))
        try:
            if entry.is_dir(follow_symlinks=False):
                _list_inner(folder, inner, path, listing)
            elif _suffix(entry.name) in MARKDOWN | TEXT or entry.is_symlink():
                _add(folder, entry, inner, path, listing)
        except FileNotFoundError:
            continue  # it went away meanwhile
        except OSError as cause:
            listing.unread[path] = f"cannot be read ({cause.strerror})"


def _list_inner(folder: NotesFolder, parts: tuple[str, ...], path: str, listing: Listing) -> None:
    if len(parts) > _DEEPEST:
        listing.refused[_printable(path)] = f"lies more than {_DEEPEST} folders deep"
    else:
        _list(folder, parts, listing)


def _add(folder: NotesFolder, entry: os.DirEntry[str], parts: tuple[str, ...], path: str, listing: Listing) -> None:
    problem = _why_refused(folder, entry, path, listing)
    if problem is None:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            listing.files[path] = FoundFile(path, parts, folder, _stamp(status), status.st_mtime_ns)
        else:
            problem = _IRREGULAR.get(stat.S_IFMT(status.st_mode), "is no file")
    if problem:
        listing.refused[_printable(path)] = problem


def _why_refused(folder: NotesFolder, entry: os.DirEntry[str], path: str, listing: Listing) -> str | None:
    # None if it is not; empty for what need not be told.
    if entry.is_symlink():
        return _why_not_followed(folder, entry)
    if _printable(path) != path:
        return "has a name that is no printable text in UTF-8"
    if path in listing.files:
        return "has the name of another file, in another form of Unicode"
    if len(listing.files) >= MAX_FILES:
        listing.left_out = f"holds more than {MAX_FILES:,} files of notes; the others are left out"
        return ""
    return None


def _why_not_followed(folder: NotesFolder, entry: os.DirEntry[str]) -> str:
    # Empty for a link to a file that is read under its own name, and for one that looks like no note.
    is_note = _suffix(entry.name) in MARKDOWN | TEXT
    try:
        is_folder = stat.S_ISDIR(entry.stat().st_mode)
    except OSError as cause:
        problem = _BROKEN.get(cause.errno or 0, f"cannot be followed ({cause.strerror})")
        return f"is a link that {problem}" if is_note else ""
    if not is_folder and not is_note:
        return ""
    target = Path(os.path.realpath(entry.path))
    if folder.path not in (target, *target.parents):
        return "is a link out of its folder"
    return "is a link to a folder, which is not followed" if is_folder else ""


def _printable(path: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in encodable(path))


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise FileError(f"is larger than {LARGEST:,} bytes")


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()
