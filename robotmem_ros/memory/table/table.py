"""The memories of a file as a table in RAM: a row for each, in the order of their ids, withdrawn ones included.

`Table.follow` brings what changed since, whoever wrote it. It gives another table: both share all that did not change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import StorageError
from ..models import Kind
from ..storage import codec, revisions, table_rows, vector_rows
from ..storage.snapshot import Snapshot
from ..storage.table_rows import Piece, Version
from . import kept
from .column import Array, Column, Mask, Numbers, Rows
from .facts import Facts, FactTerms
from .kept import Block
from .vectors import Vectors, VectorsUnreadError
from .words import Words, are_among, words_in

Ids = npt.NDArray[np.int64]

_NUMBERS: Mapping[str, npt.DTypeLike] = {
    "is_active": bool,
    "observed_at": np.int64,
    "x": np.float64,
    "y": np.float64,
    "z": np.float64,
    "confidence": np.float64,
    "text_key": np.uint32,
    "content_key": np.uint32,
    "confirmed": np.int8,
    "appeared": np.int64,
    "sure": np.float64,
    "created_at": np.int64,
    "is_represented": bool,
    "is_real": bool,
}
_NAMES = (
    "kind", "collection", "session_id", "category", "label", "source", "perception_type", "space", "tags", "decay",
)  # fmt: skip
_AT_ONCE = 8192
"""Vectors that are read at once."""
_IN_QUERY = 1 << 17
"""Vectors that a query reads at most, in a quarter of a second."""
_IN_PIECE = 1 << 14
"""Vectors in a piece of more."""
_FACTS = 256
"""Facts whose statements are read at once, in a twentieth of a second."""
_SPARE = 4096
"""Rows, or vectors, without use beside as many that are in use, from which on they are thrown away."""
_LATE_KEPT = 3600.0
"""Seconds after which a column that nobody asked for any more is dropped, at the next change."""
_NONE = np.empty(0, np.int64)


class _OtherFileError(StorageError):
    """A memory came into the file between others, as ids never do: it is another file, or damaged."""

    def __init__(self) -> None:
        super().__init__("read the memories", ValueError("their ids are not in order"))


@dataclass(frozen=True)
class Table:
    """The memories of a file at one version of it."""

    version: Version
    ids_column: Numbers
    present: Numbers
    """Whether there is still a memory in a row."""
    numbers: Mapping[str, Numbers]
    names: Mapping[str, Column]
    word_keys: Numbers
    """Numbers of the texts whose words are found, see `table_rows.key`."""
    words: Words
    facts: Facts
    vectors: Vectors
    vector_ids: Numbers
    """By their places in `vectors`."""
    vector_places: Numbers
    """Where in `vectors` that of a row stands; -1 without one."""
    gone: int = 0
    """Rows without a memory."""
    late: dict[str, Column] = field(default_factory=dict)
    """Columns that were asked for, see `table_rows.values`."""
    asked: dict[str, float] = field(default_factory=dict)
    """When each of them was asked for last, by the monotonic clock."""
    vectors_error: StorageError | VectorsUnreadError | None = None
    """Why the vectors are not all there; None if they are."""
    derived: dict[object, Any] = field(default_factory=dict)
    """What was computed from this very table: nothing of it is taken over."""

    @classmethod
    def empty(cls) -> Table:
        """Return the table of a file without memories."""
        return cls(
            Version(), Numbers.of(np.int64), Numbers.of(bool),
            {name: Numbers.of(dtype) for name, dtype in _NUMBERS.items()},
            {name: Column.empty() for name in _NAMES},
            Numbers.of(np.uint32), Words.empty(), Facts.empty(), Vectors(0), Numbers.of(np.int64), Numbers.of(np.int32),
        )  # fmt: skip

    @property
    def ids(self) -> Ids:
        """Return the id of each row, ascending."""
        return self.ids_column.all

    def follow(self, snapshot: Snapshot, *, shared: bool = True, in_pieces: bool = False) -> Table:
        """Return the table as a snapshot sees the file, which is no older than this table.

        Unless it is `shared`, nothing looks at this table any more. Very many vectors are read only `in_pieces`, one at
        each call; until then the table has a `vectors_error`.

        Raises:
            StorageError: the database cannot be read.
        """
        version = self._goal(snapshot, in_pieces=in_pieces)
        if version == self.version:
            return self
        if isinstance(self.vectors_error, StorageError) or not revisions.continues(snapshot, *self.version[:2]):
            return Table._anew(snapshot, in_pieces=in_pieces)
        try:
            table = self._with_changes(snapshot, version, shared=shared)
        except _OtherFileError:
            return Table._anew(snapshot, in_pieces=in_pieces)
        return table._packed(snapshot, in_pieces=in_pieces) if table._is_sparse(snapshot) else table

    @classmethod
    def _anew(cls, snapshot: Snapshot, *, in_pieces: bool) -> Table:
        table = cls.empty()
        return table._with_changes(snapshot, table._goal(snapshot, in_pieces=in_pieces), shared=False)

    def _packed(self, snapshot: Snapshot, *, in_pieces: bool) -> Table:
        # Without rows that have no memory, and with vectors that are read again.
        table = Table.empty()
        for number in table_rows.block_numbers(snapshot):
            table = table._with_block(self.block(number))
        table = replace(table, version=self.version._replace(vector=0))
        return table._with_changes(snapshot, table._goal(snapshot, in_pieces=in_pieces), shared=False)

    def _goal(self, snapshot: Snapshot, *, in_pieces: bool) -> Version:
        # The version to follow to; of very many vectors one piece at most.
        version = table_rows.version(snapshot)
        before = self.version.vector if version.model == self.version.model else 0
        if version.vector - before <= _IN_QUERY:
            return version
        return version._replace(vector=before + _IN_PIECE if in_pieces else before)

    def lags(self, snapshot: Snapshot) -> float:
        """Count the revisions that it is behind a snapshot; infinite if it must follow to have the terms of facts."""
        known = self.version
        is_usable = known.revision and not len(self.facts.unread) and revisions.continues(snapshot, *known[:2])
        return snapshot.read_once(revisions.latest) - known.revision if is_usable else math.inf

    def rows_of(self, ids: Ids) -> Rows:
        """Return the rows of those of some sorted ids that there are."""
        rows = np.searchsorted(self.ids, ids)
        return rows[self.ids.take(rows, mode="clip") == ids] if len(self.ids) else rows[:0]

    def _is_sparse(self, snapshot: Snapshot) -> bool:
        size, vectors = self.ids_column.size, self.vector_ids.size
        if self.gone > size // 2 + _SPARE:
            return True
        # A file may itself have vectors that no memory has.
        is_suspect = not self.vectors_error and vectors > 2 * np.count_nonzero(self.vector_places.all >= 0) + _SPARE
        return is_suspect and vectors > 2 * vector_rows.count_all(snapshot) + _SPARE

    def _with_changes(self, snapshot: Snapshot, version: Version, *, shared: bool) -> Table:
        table = self
        changed: Ids | None = _NONE
        if version.revision != self.version.revision:
            if since := self.version.revision:
                changed = table_rows.changed(snapshot, since)
                table = table._with_pieces(snapshot, table_rows.pieces(snapshot, changed), shared=shared)
            else:
                table, since, changed = *self._with_all(snapshot), None
            table = table._without(table_rows.deleted(snapshot, since) if since else _NONE, shared=shared)
        try:
            table = table._with_vectors(snapshot, version, changed, shared=shared)
        except StorageError as error:  # queries by words need none
            table = replace(table._without_vectors(0), vectors_error=error)
        return replace(table, version=version, derived={})

    def _with_all(self, snapshot: Snapshot) -> tuple[Table, int]:
        # From the blocks in the file, and from rows what these lack; with the oldest revision of a block.
        table, since, behind = self, 0, table_rows.behind_blocks(snapshot)
        for number in table_rows.block_numbers(snapshot):
            low, high = table_rows.range_of_block(number)
            kept_block = _kept_block(snapshot, number)
            if kept_block is None:
                rest = table_rows.pieces_between(snapshot, low, high)
            else:
                revision, block = kept_block
                table, since = table._with_block(block), min(since or revision, revision)
                first, last = np.searchsorted(behind, (low, high), side="right")
                rest = table_rows.pieces(snapshot, behind[first:last])
            table = table._with_pieces(snapshot, rest, shared=False)
        return table, since

    def counts(self) -> list[tuple[int, int]]:
        """Count the memories in each range of ids, see `table_rows`, and the facts among them."""
        present = self.present.all
        numbers, is_fact = (self.ids[present] - 1) // table_rows.SPAN, self.names["kind"].one_of([Kind.FACT])[present]
        memories = np.bincount(numbers)
        facts = np.bincount(numbers[is_fact], minlength=len(memories))
        return [*zip(memories.tolist(), facts.tolist(), strict=True)]

    def with_facts(self, snapshot: Snapshot, *, shared: bool) -> Table:
        """Return it with the statements of facts that are not read yet, as the snapshot has them that it followed to.

        Of many some are read at each call, so that no query waits for long.
        """
        rows = self.facts.unread[:_FACTS]
        if not len(rows):
            return self
        contents = [str(content) for content, _ in table_rows.contents(snapshot, self.ids[rows])]
        return replace(self, facts=self.facts.put(rows, contents, self.ids_column.size, shared=shared))

    def alike(self, terms: FactTerms, collection: str, similarity: float) -> tuple[Ids, Array]:
        """Return the active facts of a collection that are as similar to one with some terms, see `Facts.similar`."""
        rows, lacking = self.facts.similar(terms, similarity)
        is_wanted = self.numbers["is_active"].all[rows] & self.names["collection"].one_of([collection])[rows]
        return self.ids[rows[is_wanted]], lacking[is_wanted]

    def block(self, number: int) -> Block:
        """Return the block of a range of ids, see `table_rows`."""
        first, last = np.searchsorted(self.ids, table_rows.range_of_block(number), side="right")
        rows = first + np.flatnonzero(self.present.all[first:last])
        terms = self.facts.terms.segment(rows)
        facts = rows[terms.rows]
        return Block(
            self.ids[rows],
            {name: column.all[rows] for name, column in self.numbers.items()},
            {name: column.coded(rows) for name, column in self.names.items()},
            self.word_keys.all[rows],
            self.words.lengths[rows],
            self.words.segment(rows),
            terms,
            self.facts.subjects.all[facts],
            self.facts.claims.all[facts],
        )

    def _with_block(self, block: Block) -> Table:
        # Behind all rows, in a table that nothing looks at.
        before = self.ids_column.size
        size = before + len(block.ids)
        rows = np.arange(before, size)
        segment, terms = (replace(part, rows=part.rows + before) for part in (block.segment, block.terms))
        kinds, codes = block.names["kind"]
        is_fact = np.array([kind is Kind.FACT for kind in kinds], bool).take(codes)
        unread = np.setdiff1d(rows[is_fact], terms.rows, assume_unique=True)
        return replace(
            self,
            ids_column=self.ids_column.put(rows, block.ids, size, shared=False),
            present=self.present.put(rows, np.ones(len(rows), bool), size, shared=False),
            numbers={
                name: column.put(rows, block.numbers[name], size, shared=False) for name, column in self.numbers.items()
            },
            names={
                name: column.put_coded(rows, block.names[name], size, shared=False)
                for name, column in self.names.items()
            },
            word_keys=self.word_keys.put(rows, block.word_keys, size, shared=False),
            words=self.words.put_segment(segment, rows, block.lengths, size, shared=False),
            facts=self.facts.put_segment(terms, block.subjects, block.claims, unread, size),
            vector_places=self.vector_places.put(rows, np.full(len(rows), -1, np.int32), size, shared=False),
        )

    def _with_pieces(self, snapshot: Snapshot, pieces: Iterable[Piece], *, shared: bool) -> Table:
        table = self
        for piece in pieces:
            table = table._with_piece(snapshot, piece, shared=shared)
        return table

    def _with_piece(self, snapshot: Snapshot, piece: Piece, *, shared: bool) -> Table:
        before, ids = self.ids_column.size, self.ids
        is_new = piece.ids > (ids[-1] if before else 0)
        size = before + int(np.count_nonzero(is_new))
        rows = np.where(is_new, before + np.cumsum(is_new) - 1, np.searchsorted(ids, piece.ids))
        if not are_among(piece.ids[~is_new], ids).all():
            raise _OtherFileError
        keys = np.array([table_rows.key("\0".join(texts)) for texts in piece.texts], np.uint32)
        is_other = is_new.copy()
        is_other[~is_new] = self.word_keys.all[rows[~is_new]] != keys[~is_new]
        texts = [words_in(piece.texts[at]) for at in np.flatnonzero(is_other).tolist()]
        is_other_fact = is_other & np.array([kind is Kind.FACT for kind in piece.names["kind"]], bool)
        return replace(
            self,
            ids_column=self.ids_column.put(rows, piece.ids, size, shared=shared),
            present=self.present.put(rows, np.ones(len(rows), bool), size, shared=shared),
            numbers={
                name: column.put(rows, piece.numbers[name], size, shared=shared)
                for name, column in self.numbers.items()
            },
            names={
                name: column.put(rows, piece.names[name], size, shared=shared) for name, column in self.names.items()
            },
            word_keys=self.word_keys.put(rows, keys, size, shared=shared),
            words=self.words.put(rows[is_other], texts, size, shared=shared),
            facts=self.facts.renew(rows[is_other_fact], shared=shared),
            # Their vectors are looked for again.
            vector_places=self.vector_places.put(rows, np.full(len(rows), -1, np.int32), size, shared=shared),
            late={
                name: column.put(rows, table_rows.values(snapshot, name, piece.ids), size, shared=shared)
                for name, column in [*self.late.items()]
                if time.monotonic() - self.asked.get(name, 0.0) < _LATE_KEPT
            },
        )

    def _without(self, ids: Ids, *, shared: bool) -> Table:
        rows = self.rows_of(ids)
        rows = rows[self.present.all[rows]]
        if not len(rows):
            return self
        size, nothing = self.ids_column.size, np.zeros(len(rows), bool)
        is_active = self.numbers["is_active"].put(rows, nothing, size, shared=shared)
        return replace(
            self,
            present=self.present.put(rows, nothing, size, shared=shared),
            numbers={**self.numbers, "is_active": is_active},
            words=self.words.without(rows, shared=shared),
            facts=self.facts.without(rows, shared=shared),
            vector_places=self.vector_places.put(rows, np.full(len(rows), -1, np.int32), size, shared=shared),
            gone=self.gone + len(rows),
        )

    def _with_vectors(self, snapshot: Snapshot, version: Version, changed: Ids | None, *, shared: bool) -> Table:
        table, ids, before = self, changed, self.version.vector
        if version.model != self.version.model or not self.vectors.dim:
            dim = vector_rows.dimension(snapshot)
            if dim or self.vectors.dim:
                table, ids, before = table._without_vectors(dim), None, 0
        if version.lost_vectors != self.version.lost_vectors:
            table = table._without_vectors_up_to(version.lost_vectors)
        last = before
        while table.vectors.dim and (rows := vector_rows.between(snapshot, last, version.vector, _AT_ONCE)):
            table, last = table._with_new_vectors(rows), rows[-1][0]
        if unread := vector_rows.newest(snapshot) - version.vector:
            return replace(table, vectors_error=VectorsUnreadError(table.vector_ids.size, unread))
        if ids is None or self.vectors_error or version.late_links != self.version.late_links:
            likely = np.arange(table.ids_column.size)
        else:
            likely = table.rows_of(np.union1d(ids, table_rows.owners_behind(snapshot, before)))
        return replace(table._linked(snapshot, likely, shared=shared), vectors_error=None)

    def _without_vectors(self, dim: int) -> Table:
        nowhere = np.full(self.ids_column.size, -1, np.int32)
        return replace(self._placed(nowhere), vectors=Vectors(dim), vector_ids=Numbers.of(np.int64))

    def _without_vectors_up_to(self, vector: int) -> Table:
        first, places = np.searchsorted(self.vector_ids.all, vector, side="right"), self.vector_places.all
        return self._placed(np.where(places < first, np.int32(-1), places))

    def _placed(self, places: npt.NDArray[np.int32]) -> Table:
        column = Numbers.of(np.int32).put(np.arange(len(places)), places, len(places), shared=False)
        return replace(self, vector_places=column)

    def _with_new_vectors(self, rows: list[tuple[int, int, bytes]]) -> Table:
        # What is no vector of this length keeps its place.
        size, before = codec.size(self.vectors.dim), self.vector_ids.size
        keys, counts, codes = zip(*rows, strict=True)
        if {*counts} != {1} or {*map(len, codes)} != {size}:
            fits = [count > 0 and len(code) == count * size for _, count, code in rows]
            codes = tuple(code if is_fit else bytes(size) for code, is_fit in zip(codes, fits, strict=True))
            counts = tuple(count if is_fit else 1 for count, is_fit in zip(counts, fits, strict=True))
        vectors = self.vectors.with_room(before, sum(counts))
        vectors.put(before, codec.upper_bytes(codes, vectors.dim), counts)
        at, ids = np.arange(before, before + len(rows)), np.array(keys, np.int64)
        vector_ids = self.vector_ids.put(at, ids, before + len(rows), shared=False)
        return replace(self, vectors=vectors, vector_ids=vector_ids)

    def _linked(self, snapshot: Snapshot, rows: Rows, *, shared: bool) -> Table:
        # With the vectors of those of some rows that have none yet.
        if not self.vector_ids.size:
            return self
        rows = rows[(self.vector_places.all[rows] < 0) & self.numbers["is_active"].all[rows]]
        vectors = table_rows.links(snapshot, self.ids[rows])
        is_known = are_among(vectors, self.vector_ids.all)
        rows, vectors = rows[is_known], vectors[is_known]
        places = np.searchsorted(self.vector_ids.all, vectors).astype(np.int32)
        column = self.vector_places.put(rows, places, self.vector_places.size, shared=shared)
        return replace(self, vector_places=column)

    def mask_of(self, rows: Rows) -> Mask:
        """Return the mask of some rows."""
        mask = np.zeros(self.ids_column.size, bool)
        mask[rows] = True
        return mask


def _kept_block(snapshot: Snapshot, number: int) -> tuple[int, Block] | None:
    # A block in the file and its revision; None if there is none that this program can use.
    known = table_rows.kept_blocks(snapshot).get(number)
    if known is None or known.revision > snapshot.read_once(revisions.latest):
        return None
    epoch = revisions.epoch_of(snapshot, known.revision)
    block = kept.unpack(table_rows.block_columns(snapshot, number), epoch)
    has_columns = block is not None and block.numbers.keys() == _NUMBERS.keys() and block.names.keys() == {*_NAMES}
    return (known.revision, block) if block is not None and has_columns else None
