"""Store the tree of tags, and exchange a tag in all memories that have it."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from ..clocks import iso
from ..models import Decision
from . import changes, fact_rows, revisions, rows
from .snapshot import Snapshot, Transaction

_ABOVE = """
    WITH RECURSIVE above (tag) AS (
        VALUES (?) UNION SELECT t.parent FROM tag_meta AS t JOIN above ON t.tag = above.tag WHERE t.parent IS NOT NULL
    ) SELECT tag FROM above
"""
_ADD = f"""
    INSERT INTO tag_meta (tag, parent, display_name, updated_at, uuid, revision)
    VALUES (?, ?, ?, ?, ?, {revisions.NEXT})
    ON CONFLICT (tag) DO UPDATE SET parent = excluded.parent, display_name = excluded.display_name,
    updated_at = excluded.updated_at, {revisions.SET_REVISION}
"""
_CHANGE = f"UPDATE tag_meta SET updated_at = ?1, {revisions.SET_REVISION}"


_ROWS = "SELECT tag, parent, display_name FROM tag_meta"


class TagMeta(NamedTuple):
    """A tag in the tree."""

    tag: str
    parent: str | None
    """Tag above it; None at the top."""
    display_name: str


class Tag(NamedTuple):
    """A tag, its place in the tree, and its use."""

    tag: str
    parent: str
    """Tag above it; empty at the top."""
    display_name: str
    memories: int
    """Active memories that have it or a tag under it."""


def parents(snapshot: Snapshot) -> dict[str, str]:
    """Return all tags, with the tag above each; empty at the top."""
    return {tag: parent or "" for tag, parent, _ in snapshot.rows(_ROWS)}


def set_taxonomy(transaction: Transaction, tags: Collection[TagMeta]) -> None:
    """Replace the tags of the taxonomy if they differ from these; what callers added stays."""
    own_tags = {tag for (tag,) in transaction.rows("SELECT tag FROM tag_meta WHERE uuid IS NOT NULL")}
    new_rows: set[tuple[object, ...]] = {meta for meta in tags if meta.tag not in own_tags}
    if new_rows != set(transaction.rows(f"{_ROWS} WHERE uuid IS NULL")):
        transaction.execute("DELETE FROM tag_meta WHERE uuid IS NULL")
        transaction.executemany("INSERT INTO tag_meta (tag, parent, display_name) VALUES (?, ?, ?)", new_rows)


def metas(snapshot: Snapshot) -> list[TagMeta]:
    """Return the tags of the tree."""
    return [TagMeta(*row) for row in snapshot.rows(_ROWS)]


def names(snapshot: Snapshot) -> list[str]:
    """Return all tags in alphabetical order: those of the tree, and those of memories, active or not."""
    rows = snapshot.rows("SELECT tag FROM tag_meta UNION SELECT tag FROM memory_tags ORDER BY tag")
    return [tag for (tag,) in rows]


def exists(snapshot: Snapshot, tag: str) -> bool:
    """Return whether a tag is in the tree, or a memory has it."""
    # The view of tags reads every memory: not to be asked unless the tree has no such tag.
    sql = "SELECT 1 FROM tag_meta WHERE tag = ?1 UNION ALL SELECT 1 FROM memory_tags WHERE tag = ?1 LIMIT 1"
    return snapshot.row(sql, (tag,)) is not None


def is_of_taxonomy(snapshot: Snapshot, tag: str) -> bool:
    """Return whether a tag is in the tree, and no caller added it."""
    return snapshot.row("SELECT 1 FROM tag_meta WHERE tag = ? AND uuid IS NULL", (tag,)) is not None


def above(snapshot: Snapshot, tag: str) -> list[str]:
    """Return a tag and all above it, in the order from it to the top."""
    return [name for (name,) in snapshot.rows(_ABOVE, (tag,))]


def add(transaction: Transaction, meta: TagMeta) -> None:
    """Add a tag to the tree, or move it there and rename what is shown of it."""
    transaction.execute(_ADD, (*meta, iso(time.time_ns()), revisions.uuid7()))


def memories_with(snapshot: Snapshot, tag: str) -> list[int]:
    """Return the memories that have a tag itself, active or not."""
    return snapshot.ids("SELECT memory_id AS id FROM memory_tags WHERE tag = ? ORDER BY memory_id", (tag,))


def exchange(transaction: Transaction, tag: str, new_tag: str | None, reason: str) -> None:
    """Give another tag to all that have one, in the tree and in memories, or take it away if the new one is None."""
    now, ids = iso(time.time_ns()), memories_with(transaction, tag)
    _exchange_in_tree(transaction, tag, new_tag, now)
    for memory_id in ids:
        sources = rows.tag_sources(transaction, memory_id)
        before = {"tags": sorted(sources)}
        changes.record(transaction, memory_id, "update", changed_at=now, reason=reason, before=before)
        source = sources.pop(tag)
        if new_tag is not None:
            sources.setdefault(new_tag, source)
        columns = {"tags": json.dumps(sources, ensure_ascii=False), "updated_at": now}
        rows.write(transaction, memory_id, columns, revisions.SET_REVISION)
        _exchange_in_learnings(transaction, memory_id, tag, new_tag)


def _exchange_in_tree(transaction: Transaction, tag: str, new_tag: str | None, now: str) -> None:
    row = transaction.row("SELECT parent FROM tag_meta WHERE tag = ?", (tag,))
    parent = new_tag if new_tag is not None else row and row[0]
    transaction.execute(f"{_CHANGE}, parent = ?2 WHERE parent = ?3", (now, parent, tag))
    if row is None:
        return
    if new_tag is None or transaction.row("SELECT 1 FROM tag_meta WHERE tag = ?", (new_tag,)):
        revisions.bury(transaction, "tag_meta", "tag = ?", (tag,))
    else:
        transaction.execute(f"{_CHANGE}, tag = ?2, display_name = ?2 WHERE tag = ?3", (now, new_tag, tag))


def _exchange_in_learnings(transaction: Transaction, memory_id: int, tag: str, new_tag: str | None) -> None:
    fact = rows.stored_fact(transaction, memory_id)
    if fact is None:
        return
    fact_rows.set_decisions(transaction, memory_id, _decided(fact.decisions, tag, new_tag))
    learnings = fact_rows.contributions_of(transaction, memory_id, fact)
    fact_rows.rewrite_contributions(transaction, [
        replace(learning, fact=replace(
            learning.fact,
            tags=tuple(sorted(_exchanged(learning.fact.tags, tag, new_tag))),
            decisions=tuple(_decided(learning.fact.decisions, tag, new_tag)),
        ))
        for learning in learnings
    ])  # fmt: skip


def _exchanged(tags: Collection[str], tag: str, new_tag: str | None) -> set[str]:
    return {*tags} - {tag} | ({new_tag} if new_tag is not None and tag in tags else set())


def _decided(decisions: Collection[Decision], tag: str, new_tag: str | None) -> Iterator[Decision]:
    # An empty tag stands for none.
    for decision in decisions:
        is_of_tag = decision.field == "tag" and decision.value == tag
        yield decision._replace(value=new_tag or "") if is_of_tag else decision
