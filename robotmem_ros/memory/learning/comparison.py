"""Find the facts that a fact is compared with, and tell whether they are similar, can be merged or contradict it.

Facts contradict if they have the same subject, and another value of one quantity or another outcome, not both. 8 N
failed and 12 N worked do not contradict; 12 N worked and 15 N worked do, and so do 12 N worked and 12 N failed.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from ..config.parameters import Parameters
from ..embedding.embedder import BackgroundEmbedder, check_kept_model
from ..models import NewMemory, Similarity
from ..search.vector_index import VectorIndex
from ..storage import Database, fact_index
from ..storage.fact_index import Candidate
from ..storage.snapshot import Snapshot
from ..text.entities import unit_named
from ..text.normal_form import digest
from ..text.statement import Claim, Statement, Values, jaccard, load_terms, statement
from ..validation import compact_json

_MOST = 5_000
_LOG = logging.getLogger(__name__)
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
    last_id: int = 0
    """Greatest id when they were found; later facts must be compared, too."""
    reason: str = ""
    """Why there is no vector."""


class Compared(NamedTuple):
    """A fact that another one is compared with."""

    fact: Candidate
    cosine: float
    """Similarity of the vectors; 0 if unknown."""


def find_neighbours(
    database: Database, embedder: BackgroundEmbedder, vectors: VectorIndex, text: str, cosine: float
) -> Neighbours:
    """Return the vector of a text and the facts that may have at least this cosine similarity.

    Does not wait for a model that is still being loaded. If the model fails, the fact is learned without it.
    """
    if not embedder.available:
        return Neighbours(reason=f"meanings were not compared: {embedder.why_not}")
    try:
        vector = embedder.embed_one(text)
        with database.snapshot() as snapshot:
            check_kept_model(snapshot, embedder.name)
            ids = tuple(vectors.facts_within(snapshot, vector, 1.0 - cosine, _MOST))
            return Neighbours(vector.tobytes(), embedder.name, ids, fact_index.last_id(snapshot))
    except Exception as error:
        _LOG.warning("meanings were not compared: %s", error)
        return Neighbours(reason=f"meanings were not compared: {error}")


def candidates_of(
    snapshot: Snapshot, new: NewMemory, near: Neighbours, parameters: Parameters, *, but: int = 0
) -> Mapping[int, Compared]:
    """Return the facts that a fact is compared with: of the same text, with common words, or of similar meaning."""
    found = {
        one.id: Compared(one, 0.0)
        for one in (
            *fact_index.with_digest(snapshot, new.collection, digest(new.content)),
            *fact_index.sharing_words(
                snapshot, new.collection, new.content, similarity=parameters.similar_jaccard, but=but
            ),
        )
    }
    if near.vector is not None:
        close = fact_index.near(
            snapshot, new.collection, near.ids, after_id=near.last_id, vector=near.vector,
            cosine=parameters.similar_cosine,
        )  # fmt: skip
        found |= {one.id: Compared(one, cosine) for one, cosine in close}
    found.pop(but, None)
    return found


def similar_among(new: NewMemory, candidates: Mapping[int, Compared], parameters: Parameters) -> list[Similarity]:
    """Return the facts that are similar to another one, most similar first; of equally similar ones the newest."""
    found, text, stated = [], digest(new.content), statement(new.content)
    for one, cosine in candidates.values():
        method, similarity = "exact", 1.0
        if one.content_hash != text:
            method, similarity = measured(stated, statement(one.content), cosine, parameters)
        if method:
            found.append(Similarity(one.id, method, similarity))
    return sorted(found, key=lambda one: (-one.similarity, -one.memory_id))


def measured(one: Statement, other: Statement, cosine: float, parameters: Parameters) -> tuple[str, float]:
    """Return the method by which different texts are similar and their similarity in [0, 1]; "" and 0 if they are not.

    `cosine` is the similarity of their vectors, 0 if unknown.
    """
    by_words = jaccard(one.terms, other.terms)
    if by_words and by_words >= parameters.similar_jaccard:
        return "jaccard", round(by_words, 6)
    if cosine and cosine >= parameters.similar_cosine:
        return "cosine", round(cosine, 6)
    return "", 0.0


def can_merge(known: Candidate, new: NewMemory) -> bool:
    """Return whether two facts of the same text can be merged: in one place, with contexts that agree in common keys.

    An outcome must be in both or in neither: that something worked once does not make it a general statement.
    """
    if not _same_place(known, new):
        return False
    left, right = json.loads(known.context), json.loads(new.context)
    return all(_same(_at(left, path), _at(right, path)) for path in _OUTCOMES) and _agree(left, right)


def contradicted_among(
    memory_id: int, new: NewMemory, candidates: Mapping[int, Compared], limit: float
) -> list[tuple[int, str]]:
    """Return the facts that a fact contradicts, with the reason of each; oldest id first."""
    stated, found = _stated(new.content, new.context), []
    for _, (one, _) in sorted(candidates.items()):
        known = _stated(one.content, one.context)
        is_older = (one.observed_at, one.id) < (new.observed_at, memory_id)
        reason = contradiction(known, stated, limit) if is_older else contradiction(stated, known, limit)
        if reason and _same_place(one, new) and _comparable(one.context, new.context):
            found.append((one.id, reason))
    return found


def contradiction(older: Statement, newer: Statement, limit: float) -> str:
    """Return the reason why two facts contradict, such as `force: 12.5 N, now 15 N`; empty if they do not.

    `limit` is the Jaccard similarity in [0, 1] from which two sets of words have one subject.
    """
    if older.names != newer.names or not _same_subject(older.words, newer.words, limit):
        return ""
    was, now = older.claim, newer.claim
    differences = [_other_values(was.values, now.values), _other_polarities(was, now)]
    found = [difference for difference in differences if difference is not None]
    reasons = [difference for difference in found if difference]
    return reasons[0] if len(found) == 2 and len(reasons) == 1 else ""


def merged_context(one: str, other: str) -> str:
    """Return the union of the contexts of two facts that are merged."""
    left, right = json.loads(one), json.loads(other)
    merged = _merged(left, right)
    return one if left == merged else compact_json(merged)


@lru_cache(maxsize=1024)
def outcome(context: str) -> frozenset[str]:
    """Return the outcome of a context as a polarity of a statement; empty if it has none."""
    parsed = json.loads(context)
    found = [value for path in _OUTCOMES if isinstance(value := _at(parsed, path), bool)]
    return frozenset({"outcome+" if found[0] else "outcome-"}) if found else frozenset()


def _same_place(one: Candidate, new: NewMemory) -> bool:
    return (one.frame_id, one.map_id) == (new.frame_id, new.map_id)


def _stated(content: str, context: str) -> Statement:
    # An outcome in the context counts like one in the text.
    stated, added = statement(content), outcome(context)
    if not added:
        return stated
    return replace(stated, claim=stated.claim._replace(polarities=stated.claim.polarities | added))


def _comparable(one: str, other: str) -> bool:
    # Contexts of facts that can contradict agree, parameters and outcome aside.
    return one == other or _agree(_without_claims(one), _without_claims(other))


def _agree(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return all(_same(left[name], right[name]) for name in left.keys() & right.keys())


def _same(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return _agree(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _merged(left: Mapping[str, object], right: Mapping[str, object]) -> dict[str, object]:
    merged = dict(left)
    for name, value in right.items():
        known = merged.get(name)
        merged[name] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


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


def _same_subject(left: frozenset[str], right: frozenset[str], limit: float) -> bool:
    # One has all words of the other, so their Jaccard similarity follows from their sizes.
    fewer, more = (left, right) if len(left) <= len(right) else (right, left)
    return bool(more) and fewer <= more and len(fewer) / len(more) >= limit


def _other_polarities(older: Claim, newer: Claim) -> str | None:
    # None when they cannot be compared; an empty text when they agree.
    inverted = "one is the negation of the other" if (older.negations - newer.negations) % 2 else ""
    if older.polarities == newer.polarities:
        return inverted
    was, now = (_with_defaults(one.polarities, other.polarities) for one, other in ((older, newer), (newer, older)))
    if {one[:-1] for one in was} != {one[:-1] for one in now}:
        return None
    opposed = sorted(one[:-1] for one in was ^ now if one.endswith("+"))
    if opposed and older.negations == newer.negations:
        return f"other {' and '.join(opposed)}"
    return None if opposed else inverted


def _with_defaults(polarities: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    # A default polarity holds for a statement that does not deny it.
    opposites = {default: default[:-1] + "-" for default in load_terms().defaults}
    return polarities | {one for one, other in opposites.items() if other in others and other not in polarities}


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
        for low, high, written in values:
            unit = unit_named(written)
            kind, factor = (unit.kind, unit.factor) if unit else (written.removesuffix(" ="), 1.0)
            span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            yield kind, (low * factor, high * factor), f"{span} {unit.symbol}" if unit else span

    return tuple(sorted(converted()))
