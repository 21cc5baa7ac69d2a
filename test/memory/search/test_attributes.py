"""Labels and days in RAM are those of the rows, whatever a newer snapshot has read of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from math import ulp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.conditions.decay import DEFAULT_CONFIDENCE, Decay
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search import attributes
from robotmem_ros.memory.search.attributes import AttributeIndex
from robotmem_ros.memory.storage import Database, rows
from robotmem_ros.memory.storage.followers import catch_up
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction

from ...support import corpus
from ..conftest import OpenMemory

COUNT = 12


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Hold twelve memories: 1, 4, 7 and 10 are mugs, 2, 5, 8 and 11 lamps, the others have no label."""
    with closing(Database(Parameters(db_path=str(tmp_path / "memory.db"), synchronous="normal"))) as opened:
        news = [
            NewMemory(Kind.PERCEPTION, "a thing", "default", moment, "map", "", label=("mug", "lamp", "")[moment % 3])
            for moment in range(COUNT)
        ]
        opened.write(lambda transaction: rows.insert_all(transaction, news)).result()
        yield opened


@pytest.fixture
def index(database: Database) -> AttributeIndex:
    read = AttributeIndex(lambda: 0.0)
    catch_up(database, read)
    return read


def with_label(index: AttributeIndex, snapshot: Snapshot, *labels: str) -> list[int] | None:
    tests = index.tests(snapshot)
    assert tests is not None
    test = tests.of_labels(labels)
    ids = np.arange(COUNT + 1)
    return None if test is None else ids[test(ids)].tolist()


def test_the_memories_with_one_of_some_labels_are_told(database: Database, index: AttributeIndex) -> None:
    with database.snapshot() as snapshot:
        assert with_label(index, snapshot, "mug") == [1, 4, 7, 10]
        assert with_label(index, snapshot, "mug", "lamp", "dragon") == [1, 2, 4, 5, 7, 8, 10, 11]
        assert with_label(index, snapshot, "dragon") == []
        assert with_label(index, snapshot, "") == []


def test_a_snapshot_keeps_its_labels_when_a_newer_one_reads_others(database: Database, index: AttributeIndex) -> None:
    ids = np.arange(COUNT + 1)
    with database.snapshot() as before:
        tests = index.tests(before)
        assert tests is not None
        mugs = tests.of_labels(["mug"])
        assert mugs is not None
        corpus.update(database, [(4, {"label": "lamp"}), (2, {"label": "mug"}), (3, {"label": "mug"})])
        with database.snapshot() as after:
            assert with_label(index, after, "mug") == [1, 2, 3, 7, 10]
        assert ids[mugs(ids)].tolist() == [1, 4, 7, 10]
        # What begins to ask now is told to read the rows.
        assert with_label(index, before, "mug") is None


@pytest.mark.parametrize("most", [2, 3])
def test_of_more_labels_than_are_counted_the_rows_tell(
    database: Database, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(attributes, "_MOST", most)
    monkeypatch.setattr(attributes, "_OTHER", most + 1)
    index = AttributeIndex(lambda: 0.0)
    catch_up(database, index)
    with database.snapshot() as snapshot:
        assert with_label(index, snapshot, "mug") is None
        tests = index.tests(snapshot)
        assert tests is not None
        assert tests.of(lambda row: row.is_active) is not None


RATES = (0.0, 1e-18, 1e-6, 0.01, 0.2, 0.5, 0.999, 1.0)
BORDERS = ((0.01, 65), (0.01, 86), (0.02, 46), (0.02, 48))
"""Rates and days for which a logarithm of some confidence gives a day too many."""


def aged(draw: random.Random, moment: int) -> tuple[NewMemory, int]:
    """Draw a memory, at or beside the confidence that is the least after some days, and the day of its evidence."""
    rate, days = draw.choice((draw.choice(BORDERS), (draw.choice(RATES), draw.randint(0, 40))))
    confidence = draw.choice((0.0, 0.3, 1.0, draw.random(), 0.3 / (1.0 - rate) ** days if rate < 1.0 else 0.9))
    confidence = min(confidence + draw.randint(-4, 4) * ulp(confidence), 1.0)
    category = draw.choice(("", "hazard"))
    own_rate = draw.choice((None, rate))
    content, kind = f"thing {moment}", draw.choice((Kind.FACT, Kind.PERCEPTION, Kind.NOTE))
    new = NewMemory(
        kind, content, "default", moment, "map", "", confidence=confidence, decay_rate=own_rate, category=category
    )
    return new, draw.choice((0, 1, draw.randint(0, 60)))


@pytest.mark.parametrize("rate", RATES)
def test_what_is_fresh_or_faded_is_told_as_the_rows_tell_it(tmp_path: Path, rate: float) -> None:
    draw, decay, rates = random.Random(round(rate * 1000)), Decay(rate, 0), [1.0]
    with closing(Database(Parameters(db_path=str(tmp_path / "memory.db"), synchronous="normal"))) as database:
        news, days = zip(*(aged(draw, moment) for moment in range(300)), strict=True)
        index = AttributeIndex(lambda: rates[-1])
        catch_up(database, index)

        def store(transaction: Transaction) -> None:
            rows.insert_all(transaction, news)
            transaction.executemany(
                "UPDATE memories SET evidence_day = ? WHERE id = ?", zip(days, range(1, 301), strict=True)
            )

        database.write(store).result()
        catch_up(database, index)
        rates.append(rate)
        for today in (*range(100), 5000, 70_000):
            live_to(database, today)
            check(database, index, decay, is_told=today < 65_000)


def live_to(database: Database, today: int) -> None:
    def write(transaction: Transaction) -> None:
        transaction.execute("DELETE FROM lived_days")
        transaction.executemany("INSERT INTO lived_days (n, day) VALUES (?1, ?1)", [(today,)] if today else [])

    database.write(write).result()


def check(database: Database, index: AttributeIndex, decay: Decay, *, is_told: bool) -> None:
    with database.snapshot() as snapshot:
        tests = index.tests(snapshot)
        assert tests is not None
        assert tests.of_fresh(Decay(0.123, 0)) is None  # at a rate that it does not know
    catch_up(database, index)  # at the new rate all are read again
    with database.snapshot() as snapshot:
        tests, ids = index.tests(snapshot), np.arange(310)
        assert tests is not None
        for sql, test in (
            (decay.at_least(DEFAULT_CONFIDENCE), tests.of_fresh(decay)),
            (decay.has_faded(), tests.of_faded(decay)),
        ):
            assert (test is not None) == is_told
            told = snapshot.ids(f"SELECT m.id FROM memories AS m WHERE {sql.sql} ORDER BY id", sql.arguments)
            assert test is None or ids[test(ids)].tolist() == told
        faded = decay.has_faded()
        any_faded = f"SELECT EXISTS (SELECT 1 FROM memories AS m WHERE m.type <> 'note' AND {faded.sql})"
        assert tests.may_have_faded(decay) == (not is_told or bool(snapshot.row(any_faded, faded.arguments)[0]))


@pytest.mark.parametrize("most", [3, 4096])
@pytest.mark.parametrize(
    "labels",
    [{"labels": ["cup"]}, {"context_filter": {"label": "cup"}}, {"context_filter": {"label": {"$in": ["cup"]}}}],
)
def test_recall_is_what_the_labels_say_however_they_are_read(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, most: int, labels: dict[str, Any]
) -> None:
    monkeypatch.setattr(attributes, "_MOST", most)
    monkeypatch.setattr(attributes, "_OTHER", most + 1)
    memory = open_memory(embedding_model="")
    for number in range(40):
        label = ("mug", "Cup", "lamp", "tray", "")[number % 5]
        memory.save_perception(f"thing {number} on the shelf", label=label, pose=(number, 0.0, 0.0), as_object=False)
    memory.flush()
    cups = [f"thing {number} on the shelf" for number in range(1, 40, 5)]

    def found(query: str, **fields: Any) -> list[str]:
        return [hit.memory.content for hit in memory.recall(query, **labels, **fields)]

    assert sorted(found("thing on the shelf", n=40)) == sorted(cups)
    assert found("thing", spatial_sort={"target": [20.0, 0.0, 0.0]}, n=2) == [cups[4], cups[3]]
    memory.update(1, label="cup")
    assert sorted(found("thing on the shelf", n=40)) == sorted(["thing 0 on the shelf", *cups])
