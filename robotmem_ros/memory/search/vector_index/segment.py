"""One file of the index: a graph (HNSW) over the vectors of a range of ids, made once and never changed.

usearch makes and searches it. The file is mapped into memory, so a start costs no copy of it and what no query needs
takes no RAM. Where not all of its vectors are wanted, these are compared one by one, where they lie: a file begins with
how many they are and how long, and has them one after the other in the order in which they were put in.
"""

from __future__ import annotations

import glob
import mmap
import os
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...storage import codec
from ...storage.codec import Bytes
from ...storage.vector_rows import SegmentRow

Ids = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float32]

ERROR = 2e-3
"""By how much the distance of signed bytes may differ from that of the vectors: 4 standard deviations."""
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 16, 128, 768
_EXPANSION_DEEP = 2600
"""Under a filter that lets through few, the nearest of these lie deep: of 1,000,000 vectors under a filter that keeps
5 %, 768 find 2.4 % less of the ten nearest than 5,200 do, and this 0.4 % less."""
_BLOCK = 1 << 20
_HEAD, _TRIED = 8, 16
_SUFFIX, _UNFINISHED = ".usearch", ".unfinished"


def available() -> bool:
    """Tell whether usearch is installed."""
    return find_spec("usearch") is not None


class Segment:
    """An open file of the index. Safe to use from several threads.

    Raises:
        ValueError: the file is not the one that the row describes, or is damaged.
        OSError: it cannot be read.
    """

    def __init__(self, folder: Path, row: SegmentRow) -> None:
        path = folder / row.file
        # A graph with a wrong link would lead out of the memory of the process.
        if checksum(path) != row.checksum:
            raise ValueError(f"{path} is damaged or not ours")
        self.row = row
        self._lock = threading.Lock()
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        index: Any = _usearch().Index.restore(mapped, view=True)
        self._index = index
        if len(self._index) != row.vectors:
            raise ValueError(f"{path} holds {len(self._index)} vectors instead of {row.vectors}")
        # In the order in which they were put in; usearch 2.26 gives them in another one.
        self._ids: Ids = np.sort(index.keys[:].astype(np.int64))
        self._rows = np.frombuffer(mapped, np.int8, len(self._ids) * self.dim, _HEAD).reshape(-1, self.dim)
        self.can_select = np.frombuffer(mapped, np.uint32, 2).tolist() == [*self._rows.shape] and self._agrees()
        """Whether `nearest_of` finds the vectors. Their place is no part of usearch's interface, so it is tried."""

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        return int(self._index.ndim)

    def nearest(self, query: Bytes, width: int, *, deep: bool = False) -> tuple[Ids, Distances]:
        """Find about the `width` vectors nearest to the query, best first, with cosine distances up to `ERROR`.

        `deep` is for a search under a filter that lets through few.
        """
        expansion = max(_EXPANSION_DEEP, 2 * width) if deep else max(_EXPANSION_SEARCH, 3 * width)
        with self._lock:  # usearch keeps one set of buffers for a thread that it did not start
            self._index.expansion_search = expansion
            matches = self._index.search(query, width, threads=1)
            return matches.keys.astype(np.int64), matches.distances.astype(np.float32)

    def nearest_of(self, query: Bytes, width: int, ids: Ids) -> tuple[Ids, Distances]:
        """Find the `width` nearest of some sorted ids. As `nearest`, but none is missed."""
        at = np.searchsorted(self._ids, ids)
        at = at[self._ids.take(at, mode="clip") == ids]
        if not len(at):
            return at, np.empty(0, np.float32)
        rows = self._rows.take(at, axis=0)
        matches = _usearch().search(rows, query, min(width, len(rows)), exact=True, threads=1)
        return self._ids[at[matches.keys.astype(np.int64)]], matches.distances.astype(np.float32)

    def _agrees(self) -> bool:
        query = self._rows[len(self._rows) // 2]
        found, near = self.nearest(query, _TRIED)
        again, compared = self.nearest_of(query, _TRIED, np.sort(found))
        return len(again) == len(found) and bool(np.allclose(compared, near, rtol=0, atol=ERROR))


class SegmentBuilder:
    """Build the file of a segment over the vectors behind the id `low`, beside the database, whole or not at all.

    The file has the range of its ids and its checksum in its name.
    """

    def __init__(self, database: Path, low: int) -> None:
        self._database = database
        self._low = low
        self._high = low
        self._index: Any = None

    def add(self, kept: Sequence[tuple[int, bytes]]) -> None:
        """Put in the next vectors, as they are stored, ascending by id; leave out those of another length."""
        if self._index is None:
            self._index = _usearch().Index(
                ndim=codec.dimension(kept[0][1]), metric="cos", dtype="i8", connectivity=_CONNECTIVITY,
                expansion_add=_EXPANSION_ADD, enable_key_lookups=False,
            )  # fmt: skip
        dim = int(self._index.ndim)
        fitting = [(row_id, blob) for row_id, blob in kept if codec.dimension(blob) == dim]
        if fitting:
            ids = np.array([row_id for row_id, _ in fitting], np.uint64)
            self._index.add(ids, codec.upper_bytes([blob for _, blob in fitting], dim), threads=1)
            self._high = fitting[-1][0]

    def save(self) -> SegmentRow | None:
        """Write the file and return its description; None if it has no vector.

        Raises:
            OSError: the file cannot be written.
        """
        if self._index is None:
            return None
        # Two memories of one process may build at once.
        unfinished = self._database.with_name(f"{self._database.name}.{id(self)}.{os.getpid()}{_UNFINISHED}")
        try:
            unfinished.touch(mode=0o600)
            self._index.save(str(unfinished))
            with unfinished.open("rb") as file:
                os.fsync(file.fileno())
            total = checksum(unfinished)
            name = f"{self._database.name}.{self._low}-{self._high}-{total:08x}{_SUFFIX}"
            unfinished.rename(self._database.with_name(name))
        finally:
            unfinished.unlink(missing_ok=True)
        return SegmentRow(self._low, self._high, len(self._index), total, name)


def files(database: Path) -> list[Path]:
    """List the files of segments beside a database, named or not, and those that a dead process has left unfinished."""
    finished = database.parent.glob(f"{glob.escape(database.name)}.*{_SUFFIX}")
    unfinished = database.parent.glob(f"{glob.escape(database.name)}.*{_UNFINISHED}")
    return [*finished, *(path for path in unfinished if not _is_alive(path.name.split(".")[-2]))]


def checksum(path: Path) -> int:
    """Compute the CRC-32 of a file."""
    total = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            total = zlib.crc32(block, total)
    return total


def _usearch() -> Any:
    # The wheels of usearch 2.26 bring a C++ library of their own, which an onnxruntime that comes later would use, and
    # crash. The other way round all is well.
    with suppress(ImportError):
        import onnxruntime  # noqa: F401
    from usearch import index

    return index


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True
