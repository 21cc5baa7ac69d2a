"""Learn and correct facts.

fact -> classified (category, confidence, scope, tags, parameters) -> tagged with its area -> compared -> stored
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from ..areas import Areas
from ..config.parameters import Parameters
from ..embedding.embedder import BackgroundEmbedder
from ..errors import shown
from ..models import IMPORTED_BEFORE, NewMemory, Similarity, Stored, Vector
from ..progress import Progress
from ..storage import Database, fact_rows, imports, object_rows, rows, tag_rows, vector_rows
from ..storage.snapshot import Transaction
from ..table.table import Table
from ..table.tables import Tables
from ..text.statement import statement
from .classification import Classifier
from .comparison import (
    AlikeFacts,
    Compared,
    Neighbours,
    can_merge,
    candidates_of,
    contradicted_among,
    embed,
    find_neighbours,
    similar_among,
)
from .correction import Correction, correct
from .repetition import repeat

EQUAL, SEED, OFF = "equal", "seed", "off"
"""Values of the parameter `deduplication`."""
_MAX_LINKS = 16
"""Number of similar facts that a fact is linked with, the most similar."""
_REINFORCEMENT_GAIN = 0.1
"""Part of the distance to 1 that a repetition adds to a confidence, times its own confidence."""
_LAG = 32
"""Revisions that the table may be behind, where vectors are not compared."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Learned(Stored):
    """The result of learning a fact."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float = 0.0
    """As it is stored now, in [0, 1]."""
    method: str = ""
    """Method that found the fact it repeats, or the most similar one: `exact`, `jaccard` or `cosine`."""
    similarity: float = 0.0
    """Similarity by that method, in [0, 1]."""
    similar_ids: tuple[int, ...] = ()
    """The similar facts of another text, most similar first. Each fact stays as it is."""
    contradicts: tuple[int, ...] = ()
    """The facts that it contradicts."""
    reason: str = ""
    """Why meanings were not compared, such as a missing model; empty if they were."""

    @property
    def status(self) -> str:
        """Return `stored`; `similar`, stored and linked with `similar_ids`; or `duplicate`, a fact reinforced."""
        if not self.is_new:
            return "duplicate"
        return "similar" if self.similar_ids else "stored"


class Learning:
    """Learn and correct the facts of one database. Safe to use from several threads.

    Args:
        database: The memory's database.
        classifier: Returns the classifier that fills in what a caller leaves open.
        areas: Tag the facts inside them.
        embedder: Embeds texts, if it has a model, to find facts of similar meaning.
        tables: The memory's table.
        parameters: Returns the current parameters.
        threads: One of them embeds a fact while it is classified.
    """

    def __init__(
        self,
        database: Database,
        *,
        classifier: Callable[[], Classifier],
        areas: Areas,
        embedder: BackgroundEmbedder,
        tables: Tables,
        parameters: Callable[[], Parameters],
        threads: Executor,
    ) -> None:
        self._database = database
        self._classifier = classifier
        self._areas = areas
        self._embedder = embedder
        self._tables = tables
        self._parameters = parameters
        self._threads = threads
        self._knows_taxonomy = False

    def warm_up(self) -> None:
        """Load the rules, so that the first fact is as quick as the next."""
        self._classifier()
        with self._tables.with_facts():
            pass

    def learn(self, new: Sequence[NewMemory], progress: Progress | None = None) -> list[Learned]:
        """Store facts, or reinforce those of the same text, in one transaction. When this returns, they are on disk."""
        embedder, embedding = self._embedder, None
        if len(new) == 1 and embedder.available and embedder.is_whole(new[0].content):
            embedding = embedder.start(new[0].content, self._threads)
        prepared = []
        for fact in new:
            # Parsed here, not in the writer, which then finds it in the cache.
            statement(fact.content)
            prepared.append(self._areas.tagged(self._classifier().classify(fact)))
        texts = [fact.content for fact in prepared]
        vectors = embed(embedder, texts, progress, embedding=embedding)
        with self._compared(vectors) as (near, table):
            work = partial(self._store, new=prepared, neighbours=near, table=table)
            results = self._database.write(work).result()
        self._knows_taxonomy = True
        if _LOG.isEnabledFor(logging.DEBUG):
            for fact, result in zip(new, results, strict=True):
                _LOG.debug("learn %s: %s", shown(fact.content), _described(result))
        return results

    def correct(self, correction: Correction) -> None:
        """Correct a memory. When this returns, it is on disk.

        Raises:
            MemoryNotFoundError: no active memory has this id.
            InvalidFieldError: the memory cannot have a value, or its positions would be in different frames.
        """
        content, embedder = correction.columns.get("content"), self._embedder
        vectors = embed(embedder, [content]) if isinstance(content, str) else []
        with self._compared(vectors) as (near, table):
            work = partial(self._correct, correction=correction, near=near[0] if near else None, table=table)
            self._database.write(work).result()

    @contextmanager
    def _compared(self, vectors: Sequence[Vector | str]) -> Iterator[tuple[list[Neighbours], Table]]:
        # The neighbours of facts with these vectors, and the table to compare them with in a transaction.
        with ExitStack() as stack:
            # Without a vector, the last facts are found in the transaction alone.
            lag = _LAG if all(isinstance(vector, str) for vector in vectors) else 0
            with self._tables.with_facts(lag=lag) as view:
                near = find_neighbours(view, self._embedder.identity, vectors)
                table = stack.enter_context(self._tables.holding(view))
            yield near, table

    def _store(
        self, transaction: Transaction, new: Sequence[NewMemory], neighbours: Sequence[Neighbours], table: Table
    ) -> list[Learned]:
        if not self._knows_taxonomy:
            tag_rows.set_taxonomy(transaction, self._classifier().taxonomy.meta.values())
        facts, results = AlikeFacts(transaction, table), list[Learned]()
        for fact, near in zip(new, neighbours, strict=True):
            if not imports.claim(transaction, fact.import_key):
                results.append(Learned(IMPORTED_BEFORE.memory_id, IMPORTED_BEFORE.is_new))
                continue
            mates = (results[index].memory_id for index in near.mates)
            complete = replace(near, ids=(*near.ids, *facts.later_ids.tolist(), *mates))
            results.append(store_or_merge(transaction, fact, complete, facts, self._parameters()))
        return results

    def _correct(self, transaction: Transaction, correction: Correction, near: Neighbours | None, table: Table) -> None:
        correct(transaction, self._classifier(), self._areas, correction)
        facts = AlikeFacts(transaction, table)
        if near is not None:
            near = replace(near, ids=(*near.ids, *facts.later_ids.tolist()))
        if "confidence" in correction.columns:
            threshold = self._parameters().object_min_existence
            object_rows.confirm(transaction, correction.memory_id, threshold, at=correction.corrected_at)
        link_again(transaction, correction.memory_id, near, facts, self._parameters())


def store_or_merge(
    transaction: Transaction, new: NewMemory, near: Neighbours, facts: AlikeFacts, parameters: Parameters
) -> Learned:
    """Store a prepared fact, unless it repeats one of the collection. To be called in a transaction."""
    candidates = candidates_of(transaction, new, near, facts, parameters)
    alike = similar_among(new, candidates, parameters)
    original = _find_repeated(new, candidates, alike, parameters.deduplication)
    if original is not None:
        fact = repeat(transaction, original, new, _REINFORCEMENT_GAIN)
        return Learned(
            original.memory_id, is_new=False, category=fact.category, tags=fact.tags, confidence=fact.confidence,
            method=original.method, similarity=original.similarity,
        )  # fmt: skip
    memory_id = rows.insert(transaction, new)
    facts.add(memory_id, new.content)
    if near.vector is not None:
        vector_rows.add_vector(transaction, memory_id, new.content, vector=near.vector, of=near.model)
    similar = alike[:_MAX_LINKS]
    fact_rows.link_similar(transaction, memory_id, similar)
    contradicts = contradicted_among(memory_id, new, candidates, parameters.similar_jaccard)
    fact_rows.link_contradictions(transaction, memory_id, contradicts)
    nearest = similar[0] if similar else Similarity(0, "", 0.0)
    return Learned(
        memory_id, category=new.category, tags=new.tags, confidence=new.confidence, method=nearest.method,
        similarity=nearest.similarity, similar_ids=tuple(link.memory_id for link in similar),
        contradicts=tuple(other_id for other_id, _ in contradicts), reason=near.reason,
    )  # fmt: skip


def link_again(
    transaction: Transaction, memory_id: int, near: Neighbours | None, facts: AlikeFacts, parameters: Parameters
) -> None:
    """Replace the links of a corrected fact: its contradictions and, with a new text, the similar facts.

    `near` is None if the text is as it was.
    """
    fact = rows.stored_fact(transaction, memory_id)
    if fact is None:
        return
    candidates = candidates_of(transaction, fact, near or Neighbours(), facts, parameters, but=memory_id)
    if near is not None:
        fact_rows.unlink(transaction, [memory_id], fact_rows.SIMILAR)
        fact_rows.link_similar(transaction, memory_id, similar_among(fact, candidates, parameters)[:_MAX_LINKS])
    contradicts = contradicted_among(memory_id, fact, candidates, parameters.similar_jaccard)
    fact_rows.unlink(transaction, [memory_id], fact_rows.CONTRADICTION)
    fact_rows.link_contradictions(transaction, memory_id, contradicts)


def _find_repeated(
    new: NewMemory, candidates: Mapping[int, Compared], similar: Sequence[Similarity], deduplication: str
) -> Similarity | None:
    for link in similar if deduplication != OFF else ():
        fact = candidates[link.memory_id].fact
        if (link.method == "exact" or deduplication == SEED) and can_merge(fact, new):
            return link
    return None


def _described(result: Learned) -> str:
    action = f"{'stored as' if result.is_new else 'a duplicate of'} {result.memory_id}"
    alike = f" ({result.method}, {result.similarity:.2f})" if result.method else ""
    similar = f", similar to {', '.join(map(str, result.similar_ids))}" if result.similar_ids else ""
    against = f", contradicts {', '.join(map(str, result.contradicts))}" if result.contradicts else ""
    ending = f"; {result.reason}" if result.reason else ""
    details = f"category {result.category!r}, confidence {result.confidence:.2f}"
    return f"{action}{alike}{similar}, {details}{against}{ending}"
