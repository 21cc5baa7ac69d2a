"""Sentences for the `reason` of a result: unknown names, what was left out, and why nothing was found.

If the caller of a recall names no bound of confidence, faded memories are left out if anything fresh matches, and the
reason counts them. If nothing fresh does, they are the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from ..conditions.attributes import Confidence, ConfirmedObjects
from ..conditions.places import Field
from ..conditions.spatial import Circle
from ..models import Kind
from ..storage import vector_rows
from ..table.column import Mask
from ..table.view import View
from ..text.tokens import analyse
from .names import unknown, unsure
from .query import Query
from .result import Hit, Mode, RecallResult
from .selection import Chosen, select
from .text_search import TextSearch

ALL_FADED = "nothing fresh matches: what is returned has faded"
"""Reason of a result of faded memories."""


def of_faded(query: Query) -> Query | None:
    """Return the same query of faded memories; None if the caller names a bound of confidence."""
    conditions = tuple(part.instead() if isinstance(part, Confidence) else part for part in query.conditions)
    return None if conditions == query.conditions else replace(query, conditions=conditions)


_MAX_NAMES = 3
"""Unknown names that are told at most."""


def without_position(query: Query, texts: TextSearch, candidates: Chosen, field: Field) -> Iterator[str]:
    """Say how many candidates match but have no position in the space of a spatial sort."""
    view = candidates.view
    mask = candidates.mask & np.isnan(view.points(field)[0])
    if query.text:
        mask &= texts.holding(analyse(query.text).subject)
    elsewhere = [
        (f"a {field.name!r} in frame {frame!r}{f' of map {in_map!r}' if in_map else ''}", count)
        for (frame, in_map), count in view.spaces(field.name, mask)
    ]
    nowhere = int(np.count_nonzero(mask)) - sum(count for _, count in elsewhere)
    for description, count in ((f"no {field.name!r}", nowhere), *elsewhere):
        if count:
            yield f"{count} {'memory matches but has' if count == 1 else 'memories match but have'} {description}"


def unconfirmed(view: View, query: Query, texts: TextSearch) -> Iterator[str]:
    """Say how many objects are left out because they are not confirmed; with words, those that contain one of them."""
    conditions = tuple(condition for condition in query.conditions if not isinstance(condition, ConfirmedObjects))
    if len(conditions) == len(query.conditions):
        return
    mask = select(view, (*conditions, *_circle(query))) & (view.confirmed == 0)
    if words := analyse(query.text).subject:
        mask &= texts.holding_any(words)
    if count := int(np.count_nonzero(mask)):
        noun = "object is" if count == 1 else "objects are"
        yield f"{count} {noun} left out because not confirmed (include_unconfirmed)"


def may_have_faded(view: View, query: Query, faded: Query) -> bool:
    """Tell whether any memory but notes has faded."""
    (condition,) = (part for part in faded.conditions if part not in query.conditions)
    is_faded = view.mask_once(condition) & view.is_active
    return bool(is_faded.any()) and bool((is_faded & ~view.name("kind").one_of([Kind.NOTE])).any())


def left_out(view: View, faded: Query, texts: TextSearch, result: RecallResult) -> Iterator[str]:
    """Say how many faded memories match as well, with a query of these; there is a result without them."""
    mask = select(view, (*faded.conditions, *_circle(faded)))
    if faded.text and mask.any():
        mask &= _matches(faded, texts, result[0])
    if count := int(np.count_nonzero(mask)):
        noun = "memory is" if count == 1 else "memories are"
        yield f"{count} matching {noun} left out because faded (min_confidence 0)"


def not_relevant(best: float, min_relevance: float) -> str:
    """Say that nothing is as relevant as is wanted, and how near the best memory comes."""
    return f"nothing relevant: the best memory has relevance {best:.3f}, less than min_relevance {min_relevance:g}"


def why_nothing(view: View, query: Query, mode: Mode) -> Iterator[str]:
    """Say what may be why there are no memories: names that none has, confidence that faded, vectors to come."""
    names = list(islice(unknown(view, query.conditions, query.collections), _MAX_NAMES))
    yield from names
    for condition in query.conditions:
        if isinstance(condition, Confidence):
            yield from unsure(view, condition, query.collections)
    lacking = vector_rows.lacking(view.snapshot)
    if mode is Mode.HYBRID and lacking and not names:
        yield f"{lacking} of {view.overview.memories} memories have no vector yet"


def _matches(query: Query, texts: TextSearch, best: Hit) -> Mask:
    # Those with a word that weighs at least half of the words of the best hit; if no word weighs so much, those with
    # all of these words.
    analysis = analyse(query.text)
    spellings: Mapping[str, str] = analysis.spellings
    matched_words = tuple(word for word, spelling in spellings.items() if spelling in best.matched_terms)
    half = texts.share(matched_words) / 2
    words = [word for word in analysis.subject if texts.share((word,)) >= half]
    return texts.holding_any(words) if words else texts.holding(matched_words)


def _circle(query: Query) -> tuple[Circle, ...]:
    return (Circle(query.spatial_sort),) if query.spatial_sort else ()
