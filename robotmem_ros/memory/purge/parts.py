"""Remove parts of memories that stay: learnings of facts, sightings of objects, and history.

The contribution of a purged learning or sighting is removed too. A fact is computed again from its other learnings. An
object that loses a sighting keeps only what another sighting gave, until the object is seen again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from ..config.parameters import Parameters
from ..learning.comparison import AlikeFacts, Neighbours
from ..learning.learning import link_again
from ..learning.repetition import COMPARED, fact_versions, given_tags
from ..storage import contribution_rows, fact_rows, purge_rows, rows, sighting_rows
from ..storage.purge_rows import Selection
from ..storage.snapshot import Transaction
from ..table.facts import FactFeed
from ..validation import compact_json


def delete_parts(transaction: Transaction, selection: Selection, parameters: Parameters, facts: FactFeed) -> None:
    """Delete the selected parts of the memories that stay."""
    contributions = selection.parts_in(transaction, "contributions")
    for memory_id, ids in contributions.items():
        _delete_contributions(transaction, memory_id, set(ids), parameters, facts)
    sightings = selection.parts_in(transaction, "sightings")
    for memory_id, ids in sightings.items():
        _delete_sightings(transaction, memory_id, ids, selection)
    if purge_rows.delete_older_changes(transaction, selection) or contributions or sightings:
        purge_rows.note_traces(transaction)


def _delete_contributions(
    transaction: Transaction, memory_id: int, part_ids: set[int], parameters: Parameters, facts: FactFeed
) -> None:
    current = rows.stored_fact(transaction, memory_id)
    assert current is not None
    contributions = contribution_rows.of(transaction, memory_id, current)
    rest = [contribution for contribution in contributions if contribution.id not in part_ids]
    if not rest:
        rows.delete(transaction, [memory_id])
        return
    *_, fact = fact_versions(rest)
    columns = {name: getattr(fact, name) for name in COMPARED if getattr(fact, name) != getattr(current, name)}
    columns |= {"confidence": fact.confidence, "observed_at": fact.observed_at, "session_id": rest[0].fact.session_id}
    purge_rows.reduce_fact(transaction, memory_id, columns, removals=len(part_ids), remainder=len(rest))
    rows.replace_tags(transaction, memory_id, fact.tags, given_tags(fact))
    fact_rows.set_decisions(transaction, memory_id, fact.decisions)
    contribution_rows.delete(transaction, [*part_ids] if len(rest) > 1 else [item.id for item in contributions])
    contribution_rows.rewrite(transaction, [replace(rest[0], method=contribution_rows.FIRST)])
    is_other = (fact.content, fact.context) != (current.content, current.context)
    if is_other and rows.status(transaction, memory_id)[0] == "active":
        near = Neighbours() if fact.content != current.content else None
        link_again(transaction, memory_id, near, AlikeFacts(transaction, facts.before(transaction)), parameters)


def _delete_sightings(transaction: Transaction, memory_id: int, part_ids: Sequence[int], selection: Selection) -> None:
    sighting_rows.drop(transaction, memory_id, part_ids)
    label, context, described_at, described_in = purge_rows.object_origin(transaction, memory_id)
    votes = sighting_rows.labels(transaction, memory_id) or {label: 1}
    label = max(votes, key=lambda candidate: (votes[candidate], candidate == label, candidate))
    purge_rows.reduce_object(transaction, memory_id, label, _area_only(context), votes)
    if selection.takes_part(described_at, described_in):
        purge_rows.delete_description(transaction, memory_id, label)


def _area_only(context: str) -> str:
    # The area follows from the position of the object, which stays.
    spatial = json.loads(context).get("spatial")
    area = spatial.get("area") if isinstance(spatial, dict) else None
    return compact_json({"spatial": {"area": area}} if area else {})
