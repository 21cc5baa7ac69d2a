"""Zero the bytes of an SQLite file that hold nothing: the gaps of its pages, and its free pages.

With PRAGMA secure_delete SQLite zeroes what it deletes, but when it moves cells from one page to another, their bytes
may stay behind in the gap between the array of cells and the cells. See "Database File Format", section 1.6, "B-tree
Pages", and section 1.8, "Pointer Map or Ptrmap Pages".

Only bytes without a meaning are changed, so a reader sees the same, and a crash in between does no harm. A power cut
does none either where a write leaves the bytes beside it as they are, which SQLite assumes of a disk too (see
SQLITE_POWERSAFE_OVERWRITE). But no other process may write to the file: the caller holds the lock of writers, and the
write-ahead log is empty. And the file must be sound: the caller has run PRAGMA quick_check. If a page looks damaged, no
page is changed.

Not zeroed are fragments of up to three bytes between cells, and the ends of pages of long values: SQLite zeroed both
when it freed them, with PRAGMA secure_delete.

It runs as a program of its own: a process that closes a file loses all locks that it holds on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

_CHUNK = 8_388_608
"""Bytes; a multiple of every page size."""
_LOCK_BYTE = 2**30
"""The page with this byte holds nothing."""
_ROOT, _FREE, _BTREE = 1, 2, 5
"""Types of pages in a pointer map that are looked at; the others are pages of long values."""
_HEADER_SIZES = {2: 12, 5: 12, 10: 8, 13: 8}
"""Bytes of the header of a page of a B-tree, by its type."""
_FILE_HEADER = 100


class UnusedBytes:
    """The bytes of an open SQLite file that hold nothing.

    Raises:
        ValueError: it is no SQLite file, is damaged, or has no pointer map.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        header = self._read(0, _FILE_HEADER)
        self._page = _number(header, 16, 2)
        self._page = 65536 if self._page == 1 else self._page
        if not header.startswith(b"SQLite format 3\0") or self._page < 512:
            raise ValueError("no SQLite file")
        if not _number(header, 52, 4):
            raise ValueError("no pointer map")
        self._usable = self._page - header[20]
        self._pages = file.seek(0, os.SEEK_END) // self._page
        self._trunks = self._trunk_pages(_number(header, 32, 4))
        self._zeros = bytes(self._page)

    def clear(self) -> int:
        """Zero the unused spans in which not all bytes are zero; return the number of their bytes.

        Raises:
            ValueError: a page is damaged; then nothing is written.
        """
        spans = list(self._spans())
        for start, end in spans:
            self._file.seek(start)
            self._file.write(self._zeros[: end - start])
        return sum(end - start for start, end in spans)

    def _spans(self) -> Iterator[tuple[int, int]]:
        # Starts and ends of unused spans of the file that are not zero.
        pointers = b""
        for number in range(1, self._pages + 1):
            offset = (number - 1) * self._page
            if offset % _CHUNK == 0:
                chunk, first = self._read(offset, _CHUNK), offset
            page = chunk[offset - first : offset - first + self._page]
            map_number = self._map_of(number)
            if offset == _LOCK_BYTE:
                continue
            if number == map_number:
                pointers = page
                continue
            kind = _ROOT if number == 1 else pointers[5 * (number - map_number - 1)]
            for start, end in self._unused_spans(number, page, kind):
                if page[start:end] != self._zeros[: end - start]:
                    yield offset + start, offset + end

    def _unused_spans(self, number: int, page: bytes, kind: int) -> Iterator[tuple[int, int]]:
        if kind == _FREE:
            yield self._check(number, self._trunks.get(number, 0), self._usable)
        elif kind in (_ROOT, _BTREE):
            start = _FILE_HEADER if number == 1 else 0
            size = _HEADER_SIZES.get(page[start])
            if size is None:
                raise ValueError(f"page {number} is damaged")
            block, cells, content = (_number(page, start + at, 2) for at in (1, 3, 5))
            end = content or 65536
            yield self._check(number, start + size + 2 * cells, end)
            while block:
                self._check(number, end, block)  # free blocks lie behind each other, among the cells
                end = block + _number(page, block + 2, 2)
                yield self._check(number, block + 4, end)
                block = _number(page, block, 2)

    def _check(self, number: int, start: int, end: int) -> tuple[int, int]:
        if not start <= end <= self._usable:
            raise ValueError(f"page {number} is damaged")
        return start, end

    def _map_of(self, number: int) -> int:
        # The number of the page of the pointer map that describes a page, or is that page.
        step = self._usable // 5 + 1
        map_number = max(number - 2, 0) // step * step + 2
        return map_number + (map_number == _LOCK_BYTE // self._page + 1)

    def _trunk_pages(self, number: int) -> Mapping[int, int]:
        # The pages that list free pages, and the bytes of each list.
        trunks: dict[int, int] = {}
        while number:
            if number in trunks or number > self._pages:
                raise ValueError("the list of free pages is damaged")
            page = self._read((number - 1) * self._page, self._page)
            trunks[number] = 8 + 4 * _number(page, 4, 4)
            number = _number(page, 0, 4)
        return trunks

    def _read(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)


def _number(page: bytes, offset: int, size: int) -> int:
    return int.from_bytes(page[offset : offset + size], "big")


if __name__ == "__main__":
    with Path(sys.argv[1]).open("r+b", buffering=0) as database:
        try:
            print(UnusedBytes(database).clear())
            os.fsync(database.fileno())
        except (OSError, ValueError) as error:
            sys.exit(str(error))
