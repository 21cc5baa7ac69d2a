"""Give every memory its vector: those just saved, and those saved while there was no model."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice

from ..storage import Database, codec, revisions, vector_rows
from ..storage.rows import last_id
from ..storage.snapshot import Transaction
from ..storage.vector_rows import START, ChangeKey, text_digest
from ..threads import piecewise
from .embedder import BackgroundEmbedder, ServiceFailedError

_BATCH = 64
_UNWRITTEN = 4
"""Batches that may wait for the writer."""
_FIRST_DELAY, _LONGEST_DELAY = 10.0, 3600.0
_DUE = -math.inf
_LOG = logging.getLogger(__name__)


class Backfill:
    """Embeds what has no vector yet, what changed first before others, in batches.

    That is what was saved, corrected or restored, by other processes too: all of it has a revision behind those that
    were looked at. A text whose vector is kept already is not embedded again; one that the model refuses is tried again
    ever more rarely.

    The vectors of another model are deleted first. If a program that starts later brings yet another one, none of this
    one are made any more.
    """

    def __init__(self, database: Database, embedder: BackgroundEmbedder) -> None:
        self._database = database
        self._embedder = embedder
        self._is_adopted = False
        self._position = START
        self._refusals = Refusals()
        self._is_behind = False  # whether something before the position may have no vector
        self._retries_all = False
        self.update = piecewise(self._embed_missing)
        """Embed one batch, if the model is loaded; return whether more is left; raises StorageError."""

    def refused(self, memories: int) -> str:
        """Say how many of the memories that have no vector the model refused, and why; empty if none was."""
        return self._refusals.reason(memories)

    def retry_refused(self) -> None:
        """Let the next update try every refused text once more."""
        self._retries_all = True

    def _embed_missing(self) -> Iterator[None]:
        if not self._embedder.available:
            return
        # On a full disk, or while another process holds the file, this raises, and the next update tries again.
        while not self._is_adopted:
            self._is_adopted = self._database.write(self._adopt).result()
            yield
        if self._retries_all:
            self._retries_all = False
            self._refusals.may_try_all()
        self._is_behind |= self._refusals.take_due()
        # A service that failed is left alone for a while; the status says so.
        with suppress(ServiceFailedError):
            if (yield from self._embed_after(self._position)) and self._is_behind:
                self._is_behind = not (yield from self._embed_after(START))

    def _adopt(self, transaction: Transaction) -> bool:
        return vector_rows.adopt_model(transaction, self._embedder.identity)

    def _embed_after(self, position: ChangeKey) -> Generator[None, None, bool]:
        """Embed what has no vector behind a place; return whether there was nothing more to do."""
        # The model never waits for the disk: some batches are written while the next one is embedded.
        writing: deque[tuple[ChangeKey, Future[bool]]] = deque()
        is_useless, is_complete = False, True
        while True:
            batch, position = self._next(position)
            if batch:
                vectors, is_useless = self._embed_texts(batch)
                writing.append((position, self._store(batch, vectors)))
            is_over = not batch or is_useless
            while len(writing) > (0 if is_over else _UNWRITTEN):
                stored_position, future = writing.popleft()
                is_complete &= future.result()
                self._is_behind |= not is_complete
                self._position = max(self._position, stored_position)
            if is_over:
                self._position = max(self._position, position)
                # If all of a batch were refused, perhaps it is not the texts: the next update tries others.
                return is_complete and not is_useless
            yield

    def _next(self, after: ChangeKey) -> tuple[Sequence[tuple[int, str, bool]], ChangeKey]:
        # Memories without a vector, with their texts and whether these have one; and where to go on.
        with self._database.snapshot() as snapshot:
            end = revisions.latest(snapshot), last_id(snapshot)
            if after > end or vector_rows.model(snapshot) != self._embedder.identity:
                self._position = START  # an older file took its place, or vectors of another model are made
                return [], START
            if after == START and not vector_rows.lacking(snapshot):
                self._refusals.clear()
                return [], end
            rows = vector_rows.without_vector(snapshot, after, _BATCH)
            rows = [row for row in rows if row[:2] > after]  # a damaged file may give others for ever
            texts_with_vectors = vector_rows.known_texts(snapshot, (row.text for row in rows))
        batch = [(row.memory_id, row.text, row.text in texts_with_vectors) for row in rows]
        return batch, rows[-1][:2] if rows else end

    def _embed_texts(self, batch: Sequence[tuple[int, str, bool]]) -> tuple[dict[str, list[bytes]], bool]:
        # The vectors of the texts that have none yet, and whether the model refused all that were tried.
        new = dict.fromkeys(text for _, text, is_known in batch if not is_known)
        parts = {text: self._embedder.parts_of(text) for text in new if self._refusals.may_try(text)}
        queue = iter(dict.fromkeys(chain.from_iterable(parts.values())))
        codes = dict[str, bytes | Exception]()
        while piece := list(islice(queue, self._embedder.batch)):
            self._database.query_priority.yield_to_queries()
            codes.update(self._encode(piece))
        vectors = dict[str, list[bytes]]()
        for text, of_text in parts.items():
            of_parts = [codes[part] for part in of_text]
            vectors[text] = [code for code in of_parts if isinstance(code, bytes)]
            if errors := [error for error in of_parts if isinstance(error, Exception)]:
                del vectors[text]
                self._refusals.add(text, errors[0])
                _LOG.warning("a text could not be embedded: %s", errors[0])
        self._refusals.remove(vectors)
        return vectors, bool(parts) and not vectors

    def _store(self, batch: Sequence[tuple[int, str, bool]], vectors: Mapping[str, Sequence[bytes]]) -> Future[bool]:
        rows = [
            (memory_id, text, vectors.get(text)) for memory_id, text, is_known in batch if is_known or text in vectors
        ]

        def store(transaction: Transaction) -> bool:
            is_own = vector_rows.model(transaction) == self._embedder.identity
            return not is_own or vector_rows.store(transaction, rows)

        return self._database.write(store)

    def _encode(self, texts: Sequence[str]) -> Mapping[str, bytes | Exception]:
        # One that the model refuses does not keep the others waiting: it stands for itself, with the error.
        try:
            return dict(zip(texts, codec.encode(self._embedder.embed_batch(texts)), strict=True))
        except ServiceFailedError:
            raise
        except Exception as error:
            if len(texts) == 1:
                return {texts[0]: error}
        return {key: vector for text in texts for key, vector in self._encode([text]).items()}


@dataclass
class _Refusal:
    due_time: float
    delay: float


class Refusals:
    """Remembers refused texts by their digests; each is tried again after 10 s, then after twice as long, up to 1 h."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refusals: dict[int, _Refusal] = {}
        self._reason = ""

    def reason(self, memories: int) -> str:
        """Say how many of the memories that have no vector were refused, and why; empty if none was."""
        count = min(len(self._refusals), memories)  # of the texts refused, some may be gone
        texts = "1 text" if count == 1 else f"{count} texts"
        return f"the embedding model refused {texts}, which only words find: {self._reason}" if count else ""

    def add(self, text: str, error: Exception) -> None:
        """Note that the model refused a text just now."""
        digest = text_digest(text)
        delay = self._refusals[digest].delay if digest in self._refusals else 0.0
        delay = min(max(2 * delay, _FIRST_DELAY), _LONGEST_DELAY)
        self._refusals[digest] = _Refusal(self._clock() + delay, delay)
        self._reason = str(error) or repr(error)

    def clear(self) -> None:
        """Note that every text has its vector, or is gone."""
        self._refusals.clear()

    def remove(self, texts: Iterable[str]) -> None:
        """Note that the model embedded some texts."""
        for text in texts if self._refusals else ():
            self._refusals.pop(text_digest(text), None)

    def may_try(self, text: str) -> bool:
        """Tell whether a text may be given to the model now."""
        refusal = self._refusals.get(text_digest(text)) if self._refusals else None
        return refusal is None or refusal.due_time <= self._clock()

    def take_due(self) -> bool:
        """Let the texts whose time has come be tried from now on; tell whether there are any that could not before."""
        now = self._clock() if self._refusals else 0.0
        due = [refusal for refusal in self._refusals.values() if _DUE < refusal.due_time <= now]
        for refusal in due:
            refusal.due_time = _DUE
        return bool(due)

    def may_try_all(self) -> None:
        """Let every text be tried once more."""
        for refusal in self._refusals.values():
            refusal.due_time = self._clock()
