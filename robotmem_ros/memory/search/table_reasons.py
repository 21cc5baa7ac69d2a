"""Sentences for the `reason` of a result from a table: what was left out is counted, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..conditions.attributes import ConfirmedObjects
from ..conditions.condition import Condition
from ..conditions.places import Field
from ..conditions.spatial import Circle, SinceLastVisit
from ..models import Kind
from ..storage import position_rows
from ..table.column import Mask
from ..table.view import View
from ..text.analysis import analyse
from .chosen import Chosen
from .hits import Hit
from .query import Query
from .result import RecallResult
from .text_search import TextSearch
from .visits import last_visit


def chosen(view: View, conditions: tuple[Condition, ...], places: Circle | None = None) -> Chosen:
    """Return the active memories under conditions."""
    mask = view.is_active.copy()
    for one in (*conditions, *([places] if places else ())):
        complete = replace(one, end=last_visit(view.snapshot, one)) if isinstance(one, SinceLastVisit) else one
        mask &= view.mask_once(complete)
    return Chosen(view, mask)


def without_position(query: Query, texts: TextSearch, candidates: Chosen, field: Field) -> Iterator[str]:
    """Say how many candidates match but have no position in the space of a spatial sort."""
    view = candidates.view
    mask = candidates.mask & np.isnan(view.points(field)[0])
    if query.text:
        mask &= texts.holding(analyse(query.text).subject)
    ids: list[int] = view.ids[mask].tolist()
    counts = position_rows.count_by_frame(view.snapshot, ids, field.name) if ids else ()
    for frame, in_map, count in counts:
        description = f"a {field.name!r} in frame {frame!r}{f' of map {in_map!r}' if in_map else ''}"
        verb = "memory matches but has" if count == 1 else "memories match but have"
        yield f"{count} {verb} {description if frame is not None else f'no {field.name!r}'}"


def unconfirmed(view: View, query: Query, texts: TextSearch) -> Iterator[str]:
    """Say how many objects are left out because they are not confirmed; with words, those that contain one of them."""
    conditions = tuple(condition for condition in query.conditions if not isinstance(condition, ConfirmedObjects))
    if len(conditions) == len(query.conditions):
        return
    mask = chosen(view, conditions, _circle(query)).mask & (view.confirmed == 0)
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
    mask = chosen(view, faded.conditions, _circle(faded)).mask
    if faded.text and mask.any():
        mask &= _matches(faded, texts, result[0])
    if count := int(np.count_nonzero(mask)):
        noun = "memory is" if count == 1 else "memories are"
        yield f"{count} matching {noun} left out because faded (min_confidence 0)"


def _matches(query: Query, texts: TextSearch, best: Hit) -> Mask:
    # Those with a word that weighs at least half of the words of the best hit; if no word weighs so much, those with
    # all of these words.
    analysis = analyse(query.text)
    spellings: Mapping[str, str] = analysis.spellings
    matched_words = tuple(word for word, spelling in spellings.items() if spelling in best.matched_terms)
    half = texts.share(matched_words) / 2
    words = [word for word in analysis.subject if texts.share((word,)) >= half]
    return texts.holding_any(words) if words else texts.holding(matched_words)


def _circle(query: Query) -> Circle | None:
    return Circle(query.spatial_sort) if query.spatial_sort else None
