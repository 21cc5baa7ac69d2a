"""Search the raw bytes of a database's files for memories, whatever SQLite says is in them."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.storage import codec

_PIECE = 16
"""Bytes; a vector may be cut by pages, but hardly into pieces smaller than this."""


def files_of(path: Path) -> list[Path]:
    """Return the database and all files beside it."""
    return sorted(path.parent.glob(f"{path.name}*"))


def found(path: Path, needles: Mapping[str, bytes]) -> set[str]:
    """Return the names of the needles found anywhere in the files of a database."""
    # In a process of its own: a file that this one closes loses the locks of the connections that it has open.
    read = (subprocess.run(["cat", file], capture_output=True, check=True).stdout for file in files_of(path))
    haystack = b"\0".join(read)
    return {name for name, needle in needles.items() if needle in haystack}


def of_words(words: Iterable[str]) -> dict[str, bytes]:
    """Return texts as stored in the file, and as the index of words may have cut them at either end."""
    return {word: word.encode()[1:-1] for word in words}


def of_vector(vector: Vector) -> dict[str, bytes]:
    """Return the pieces of a vector: as the model gave it, as stored, and as written in a file of the index."""
    forms = {
        "float32": vector.astype(np.float32).tobytes(),
        "kept": codec.encode(vector[np.newaxis])[0],
        "indexed": codec.upper_bytes(codec.encode(vector[np.newaxis]), len(vector))[0].tobytes(),
    }
    return {
        f"{form} vector[{start}]": blob[start : start + _PIECE]
        for form, blob in forms.items()
        for start in range(0, len(blob), _PIECE)
    }


def of_position(position: Iterable[float]) -> dict[str, bytes]:
    """Return the numbers of a position as stored: 8 bytes in a table, 4 in an R*Tree, text, and 8 in a kept block."""
    needles = {}
    for name, number in zip("xyz", position, strict=False):
        single = np.float32(number)
        below, above = np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf))
        needles[f"{name} as double"] = struct.pack(">d", number)
        needles[f"{name} in a block"] = struct.pack("<d", number)
        needles[f"{name} as text"] = repr(number).encode()
        for side, value in (("below", below), ("rounded", single), ("above", above)):
            needles[f"{name} {side} as float"] = struct.pack(">f", value)
    return needles
