"""Find the facts that a fact is compared with, and tell whether they are similar, can be merged or contradict it.

Facts contradict if they have the same subject, and another value of one quantity or another outcome, not both. 8 N
failed and 12 N worked do not contradict; 12 N worked and 15 N worked do, and so do 12 N worked and 12 N failed. So do
facts that tell another state of the same subject: where it is, whose, or which.

The table in RAM has the facts as they were before a transaction. What has changed since is a tail of it: it is read
once for each job, and a job that is rolled back leaves nothing behind.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..config.parameters import Parameters
from ..embedding.embedder import BackgroundEmbedder, ServiceFailedError, UnreadTextError, check_kept_model
from ..embedding.profile import profile_of
from ..errors import MemoryClosedError
from ..models import Kind, NewMemory, Similarity, Vector
from ..progress import Progress
from ..storage import fact_rows
from ..storage.fact_rows import Candidate, first_active
from ..storage.snapshot import Snapshot
from ..table.facts import Facts, fact_terms
from ..table.table import Ids, Table
from ..table.vectors import Compare
from ..table.view import View
from ..table.words import are_among
from ..text.entities import unit_named
from ..text.letters import has_han
from ..text.normal_form import digest
from ..text.statement import Claim, Statement, Values, jaccard, load_terms, same_subject, statement
from ..validation import compact_json

_MAX_LATER = 512
"""Facts at most that changed while a fact was prepared, and whose meaning it is compared with."""


class AlikeFacts:
    """The facts as a snapshot or a transaction sees them, and those that a job adds. For one thread."""

    def __init__(self, snapshot: Snapshot, table: Table) -> None:
        self._snapshot, self._table = snapshot, table
        changed = fact_rows.changed_facts(snapshot, table.version.revision)
        self._ids, self._contents = [key for key, _ in changed], [str(content) for _, content in changed]
        self._changed = np.array(self._ids, np.int64)
        self._tail = Facts.empty()

    @property
    def later_ids(self) -> Ids:
        """Return the last facts that changed after those of the table."""
        return self._changed[-_MAX_LATER:]

    def add(self, memory_id: int, content: str) -> None:
        """Add a fact that was stored since."""
        self._ids.append(memory_id)
        self._contents.append(content)

    def find(self, collection: str, content: str, *, similarity: float, but: int = 0) -> list[Candidate]:
        """Return the active facts of a collection that may be as similar as this, by all terms or by the subject.

        At most 64, those that lack the fewest terms; of equal ones the newest. `but` is the id of a fact to leave out.
        """
        known, size = self._tail.subjects.size, len(self._ids)
        if known < size:
            self._tail = self._tail.put(np.arange(known, size), self._contents[known:], size, shared=False)
        terms = fact_terms(content)
        rows, lacking = self._tail.similar(terms, similarity)
        ids = np.array(self._ids, np.int64)[rows]
        old_ids, old_lacking = self._table.alike(terms, collection, similarity)
        is_old = ~are_among(old_ids, self._changed)
        ids, lacking = np.append(ids, old_ids[is_old]), np.append(lacking, old_lacking[is_old])
        ids = ids[np.lexsort((-ids, lacking))]
        return first_active(self._snapshot, collection, ids[ids != but])


_MAX_NEIGHBOURS = 5_000
_RARE = 8
"""Facts are rare among the vectors if there are this many times as many vectors."""
_ROUNDING = 0.02
"""Greatest difference of a cosine of stored vectors from that of the vectors themselves."""
_LOG = logging.getLogger(__name__)
_TOO_LONG = "the text is longer than the embedding model reads at once"
_is_close = partial(math.isclose, rel_tol=1e-9)
_OUTCOMES = (("task", "success"), ("task", "outcome"), ("success",), ("outcome",))
_ABSENT = object()


@dataclass(frozen=True)
class Neighbours:
    """The facts nearest in meaning to a text, found before it is written so that the writer does not wait."""

    vector: bytes | None = None
    """Vector of the text; None if there is no model."""
    model: str = ""
    ids: tuple[int, ...] = ()
    """Facts that may be similar enough."""
    mates: tuple[int, ...] = ()
    """Indices of facts before it that are stored with it and may be similar enough."""
    reason: str = ""
    """Why there is no vector."""


class Compared(NamedTuple):
    """A fact that another one is compared with."""

    fact: Candidate
    cosine: float
    """Similarity of the vectors if they are similar by that; 0 if not, or unknown."""


def embed(
    embedder: BackgroundEmbedder,
    texts: Sequence[str],
    progress: Progress | None = None,
    *,
    embedding: Future[Vector] | None = None,
) -> list[Vector | str]:
    """Return the vectors of texts that are stored together, or why one has none.

    `embedding` is that of a single text, if it has been started. Does not wait for a model that is still being loaded.
    If the model fails, a fact is learned without it. One of several parts is similar to none by its meaning: a part
    that two have in common says little of the rest.
    """
    if embedding is None and not embedder.available:
        if progress is not None:
            progress(len(texts), len(texts))
        return [embedder.why_not] * len(texts)
    vectors: list[Vector | str] = []
    for first in range(0, len(texts), embedder.batch):
        batch = texts[first : first + embedder.batch]
        whole = [text for text in batch if embedder.is_whole(text)]
        of_whole = dict(zip(whole, _embedded(embedder, whole, embedding), strict=True))
        vectors += [of_whole.get(text, _TOO_LONG) for text in batch]
        if progress is not None:
            progress(len(vectors), len(texts))
    return vectors


def find_neighbours(view: View, model: str, vectors: Sequence[Vector | str]) -> list[Neighbours]:
    """Return the facts of similar meaning to each of some facts that are stored together, by their vectors.

    `model` is what made the vectors. In place of one may stand why a fact has none.
    """
    if all(isinstance(vector, str) for vector in vectors):
        return [_without_vector(vector) for vector in vectors]
    mates = _mates(vectors, profile_of(model).similar_cosine)
    try:
        meanings = _Meanings(view, model)
        return [
            _without_vector(vector)
            if isinstance(vector, str)
            else Neighbours(vector.tobytes(), model, meanings.near(vector), mates=near)
            for vector, near in zip(vectors, mates, strict=True)
        ]
    except MemoryClosedError as error:
        return [_without_vector(error)] * len(vectors)
    except Exception as error:
        _LOG.warning("meanings were not compared: %s", error)
        return [_without_vector(error)] * len(vectors)


def _without_vector(why: object) -> Neighbours:
    return Neighbours(reason=f"meanings were not compared: {why}")


class _Meanings:
    """The vectors of the active facts of a table.

    Raises:
        RobotMemoryError: the vectors of the file are of another model, or cannot be read.
    """

    def __init__(self, view: View, model: str) -> None:
        check_kept_model(view.snapshot, model)
        table = view.table
        if table.vectors_error is not None:
            raise table.vectors_error
        self._vectors, self._size = view.vectors, table.vector_ids.size
        self._similar_cosine = profile_of(model).similar_cosine
        places = table.vector_places.all
        is_fact = view.is_active & table.names["kind"].one_of([Kind.FACT]) & (places >= 0)
        self._ids, places = table.ids[is_fact], places[is_fact]
        # Each vector once, if they are compared by themselves.
        are_few = _RARE * len(places) < self._size
        self._compare: Compare = partial(self._vectors.similarities, size=self._size)
        self._at = places
        if are_few:
            wanted, self._at = np.unique(places, return_inverse=True)
            self._compare = self._vectors.comparison(wanted)

    def near(self, vector: Vector) -> tuple[int, ...]:
        """Return the facts that may be similar enough, the newest 5,000 of more."""
        if not len(self._ids):
            return ()
        is_near = self._compare(vector)[self._at] >= self._similar_cosine - self._vectors.error(vector)
        return tuple(self._ids[is_near][-_MAX_NEIGHBOURS:].tolist())


def _embedded(
    embedder: BackgroundEmbedder, texts: Sequence[str], embedding: Future[Vector] | None = None
) -> list[Vector | str]:
    # A text that is refused does not keep the others from their vectors.
    if not texts:
        return []
    try:
        if embedding is not None:
            return [embedding.result()]
        return [embedder.embed_one(texts[0])] if len(texts) == 1 else [*embedder.embed_batch(texts)]
    except Exception as error:
        if len(texts) > 1 and not isinstance(error, ServiceFailedError):
            return [vector for text in texts for vector in _embedded(embedder, [text])]
        if not isinstance(error, UnreadTextError) and not embedder.is_closed:
            _LOG.warning("meanings were not compared: %s", error)
        return [str(error)] * len(texts)


def _mates(vectors: Sequence[Vector | str], similar_cosine: float) -> list[tuple[int, ...]]:
    # For each vector the indices of those before it that may be similar enough; what is stored is rounded.
    mates: list[tuple[int, ...]] = [()] * len(vectors)
    indices = [index for index, vector in enumerate(vectors) if not isinstance(vector, str)]
    matrix = np.array([vectors[index] for index in indices])
    for position, index in enumerate(indices[1:], 1):
        close = np.flatnonzero(matrix[:position] @ matrix[position] >= similar_cosine - _ROUNDING)
        mates[index] = tuple(indices[place] for place in close.tolist())
    return mates


def candidates_of(
    snapshot: Snapshot, new: NewMemory, near: Neighbours, facts: AlikeFacts, parameters: Parameters, *, but: int = 0
) -> Mapping[int, Compared]:
    """Return the facts that a fact is compared with: of the same text, with common words, or of similar meaning."""
    counterparts = {
        fact.id: Compared(fact, 0.0)
        for fact in (
            *fact_rows.with_digest(snapshot, new.collection, digest(new.content)),
            *facts.find(new.collection, new.content, similarity=parameters.similar_jaccard, but=but),
        )
    }
    if near.vector is not None:
        close = fact_rows.near_facts(
            snapshot, new.collection, {*near.ids}, vector=near.vector, cosine=profile_of(near.model).similar_cosine
        )
        counterparts |= {fact.id: Compared(fact, cosine) for fact, cosine in close}
    counterparts.pop(but, None)
    return counterparts


def similar_among(new: NewMemory, candidates: Mapping[int, Compared], parameters: Parameters) -> list[Similarity]:
    """Return the facts that are similar to another one, most similar first; of equally similar ones the newest."""
    links, text, stated = [], digest(new.content), statement(new.content)
    for fact, cosine in candidates.values():
        method, similarity = "exact", 1.0
        if fact.content_hash != text:
            method, similarity = measure(stated, statement(fact.content), cosine, parameters)
        if method:
            links.append(Similarity(fact.id, method, similarity))
    return sorted(links, key=lambda link: (-link.similarity, -link.memory_id))


def measure(first: Statement, second: Statement, cosine: float, parameters: Parameters) -> tuple[str, float]:
    """Return the method by which different texts are similar and their similarity in [0, 1]; "" and 0 if they are not.

    `cosine` is the similarity of their vectors if they are similar by that, else 0.
    """
    by_words = jaccard(first.terms, second.terms)
    if by_words and by_words >= parameters.similar_jaccard:
        return "jaccard", round(by_words, 6)
    if cosine:
        return "cosine", round(cosine, 6)
    return "", 0.0


def can_merge(fact: Candidate, new: NewMemory) -> bool:
    """Return whether two facts of the same text can be merged: in one place, with contexts that agree in common keys.

    An outcome must be in both or in neither: that something worked once does not make it a general statement.
    """
    if not _same_place(fact, new):
        return False
    left, right = json.loads(fact.context), json.loads(new.context)
    return all(_are_equal(_at(left, path), _at(right, path)) for path in _OUTCOMES) and _agree(left, right)


def contradicted_among(
    memory_id: int, new: NewMemory, candidates: Mapping[int, Compared], limit: float
) -> list[tuple[int, str]]:
    """Return the facts that a fact contradicts, with the reason of each; oldest id first."""
    stated, text, pairs = _statement_of(new.content, new.context), digest(new.content), []
    for _, (fact, _) in sorted(candidates.items()):
        if fact.content_hash == text and not (outcome(fact.context) and outcome(new.context)):
            continue  # a text does not contradict itself: only outcomes of both contexts can differ
        other = _statement_of(fact.content, fact.context)
        is_older = (fact.observed_at, fact.id) < (new.observed_at, memory_id)
        reason = contradiction(other, stated, limit) if is_older else contradiction(stated, other, limit)
        if reason and _same_place(fact, new) and _comparable(fact.context, new.context):
            pairs.append((fact.id, reason))
    return pairs


def contradiction(older: Statement, newer: Statement, limit: float) -> str:
    """Return the reason why two facts contradict, such as `force: 12.5 N, now 15 N`; empty if they do not.

    `limit` is the Jaccard similarity in [0, 1] from which two sets of words have one subject.
    """
    return _other_claim(older, newer, limit) or _other_state(older, newer)


def _other_claim(older: Statement, newer: Statement, limit: float) -> str:
    if older.names != newer.names or not same_subject(older.words, newer.words, limit):
        return ""
    was, now = older.claim, newer.claim
    differences = [_other_values(was.values, now.values), _other_polarities(was, now)]
    comparisons = [difference for difference in differences if difference is not None]
    reasons = [difference for difference in comparisons if difference]
    return reasons[0] if len(comparisons) == 2 and len(reasons) == 1 else ""


def merged_context(first: str, second: str) -> str:
    """Return the union of the contexts of two facts that are merged."""
    left, right = json.loads(first), json.loads(second)
    union = _merge(left, right)
    return first if left == union else compact_json(union)


@lru_cache(maxsize=1024)
def outcome(context: str) -> frozenset[str]:
    """Return the outcome of a context as a polarity of a statement; empty if it has none."""
    content = json.loads(context)
    values = [value for path in _OUTCOMES if isinstance(value := _at(content, path), bool)]
    return frozenset({"outcome+" if values[0] else "outcome-"}) if values else frozenset()


def _same_place(candidate: Candidate, new: NewMemory) -> bool:
    return (candidate.frame_id, candidate.map_id) == (new.frame_id, new.map_id)


def _statement_of(content: str, context: str) -> Statement:
    # An outcome in the context counts like one in the text.
    stated, polarities = statement(content), outcome(context)
    if not polarities:
        return stated
    return replace(stated, claim=stated.claim._replace(polarities=stated.claim.polarities | polarities))


def _comparable(first: str, second: str) -> bool:
    # Contexts of facts that can contradict agree, parameters and outcome aside.
    return first == second or _agree(_without_claims(first), _without_claims(second))


def _agree(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return all(_are_equal(left[name], right[name]) for name in left.keys() & right.keys())


def _are_equal(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return _agree(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _merge(left: Mapping[str, object], right: Mapping[str, object]) -> dict[str, object]:
    union = dict(left)
    for name, value in right.items():
        inner = union.get(name)
        union[name] = _merge(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return union


@lru_cache(maxsize=1024)  # similar facts often have the same context
def _without_claims(context: str) -> dict[str, object]:
    rest = {name: value for name, value in json.loads(context).items() if name not in ("params", "success", "outcome")}
    task = rest.get("task")
    if isinstance(task, dict):
        rest["task"] = {name: value for name, value in task.items() if name not in ("success", "outcome")}
    return rest


def _at(context: Mapping[str, object], path: tuple[str, ...]) -> object:
    value: object = context
    for name in path:
        value = value.get(name, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _other_state(older: Statement, newer: Statement) -> str:
    was, now = older.state, newer.state
    if was is None or now is None or not older.state_terms & newer.state_terms:
        return ""
    one, other = statement(was.value), statement(now.value)
    if any(unit for _, _, unit in (*one.claim.values, *other.claim.values)):
        return ""  # a quantity, which is part of the claim
    before, after = one.terms, other.terms
    if before and after:
        # The shelf of the kitchen is in the kitchen.
        is_other = not (before <= after or after <= before or _is_part(was.value, now.value))
    else:
        is_other = was.value.lower() != now.value.lower()
    return f"{was.kind}: {was.value}, now {now.value}" if is_other else ""


def _is_part(first: str, second: str) -> bool:
    # Of Chinese, where words are not set apart: 厨房里 is in 厨房冰箱上.
    shorter, longer = sorted((first.rstrip("里上中内"), second), key=len)
    return has_han(shorter) and shorter in longer


def _other_polarities(older: Claim, newer: Claim) -> str | None:
    # None when they cannot be compared; an empty text when they agree.
    inverted = "one is the negation of the other" if (older.negations - newer.negations) % 2 else ""
    if older.polarities == newer.polarities:
        return inverted
    was, now = _with_defaults(older.polarities, newer.polarities), _with_defaults(newer.polarities, older.polarities)
    if {polarity[:-1] for polarity in was} != {polarity[:-1] for polarity in now}:
        return None
    opposed = sorted(polarity[:-1] for polarity in was ^ now if polarity.endswith("+"))
    if opposed and older.negations == newer.negations:
        return f"other {' and '.join(opposed)}"
    return None if opposed else inverted


def _with_defaults(polarities: frozenset[str], opposed: frozenset[str]) -> frozenset[str]:
    # A default polarity holds for a statement that does not deny it.
    opposites = {default: default[:-1] + "-" for default in load_terms().defaults}
    denials = opposed - polarities
    return polarities | {default for default, opposite in opposites.items() if opposite in denials}


def _other_values(older: Values, newer: Values) -> str | None:
    if len(older) != len(newer):
        return None
    reasons = []
    for (kind, left, was), (other_kind, right, now) in zip(_in_base(older), _in_base(newer), strict=True):
        if kind != other_kind:
            return None
        if left != right and not all(map(_is_close, left, right)):
            # A plain number may be the name of a room or a dock.
            if not kind:
                return None
            reasons.append(f"{kind}: {was}, now {now}")
    return "".join(reasons) if len(reasons) <= 1 else None


@lru_cache(maxsize=4096)
def _in_base(values: Values) -> tuple[tuple[str, tuple[float, float], str], ...]:
    def converted() -> Iterator[tuple[str, tuple[float, float], str]]:
        for low, high, symbol in values:
            unit = unit_named(symbol)
            kind, factor = (unit.kind, unit.factor) if unit else (symbol.removesuffix(" ="), 1.0)
            span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            yield kind, (low * factor, high * factor), f"{span} {unit.symbol}" if unit else span

    return tuple(sorted(converted()))
