"""Timelines: pages by time, under the conditions of a recall, that stay right while memories come and go."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, Kind, Pose, RobotMemory, TimelineEntry

from ...support.clock import Clock
from ...support.examples import examples
from ..conftest import OpenMemory

COLLECTIONS = ("default", "lab")


def pages(memory: RobotMemory, n: int, **conditions: Any) -> list[TimelineEntry]:
    """Return the entries of all pages."""
    page = memory.timeline(n=n, **conditions)
    entries = list(page.entries)
    while page.cursor:
        page = memory.timeline(n=n, cursor=page.cursor, **conditions)
        assert page.entries
        entries += page.entries
    return entries


def test_an_entry_tells_whether_to_read_the_memory(memory: RobotMemory, clock: Clock) -> None:
    fact = memory.learn(
        "a glass\nneeds 12.5 N", session_id="morning", category="grasp", tags=["glass", "force"], confidence=0.8,
        observed_at=clock.now,
    ).memory_id  # fmt: skip
    seen = memory.save_perception(
        "a red mug " + "x" * 200, label="mug", pose=(1, 2, 3), collection="lab", observed_at=5
    )
    newest, oldest = memory.timeline(collection="*")
    assert newest == TimelineEntry(
        fact, clock.now, Kind.FACT, "grasp", "", ("force", "glass"), "a glass needs 12.5 N", "default", "morning",
        newest.confidence, "active", "map", "", None,
    )  # fmt: skip
    assert (oldest.id, oldest.kind, oldest.label, oldest.pose) == (
        seen.memory_id, Kind.PERCEPTION, "mug", Pose(1, 2, 3, 0, 0, 0, 1),
    )  # fmt: skip
    assert oldest.snippet == "a red mug " + "x" * 90 + "…"


def test_pages_go_on_behind_the_cursor_in_both_orders(memory: RobotMemory) -> None:
    ids = [memory.save_perception(f"thing {n}", observed_at=100 + n // 3).memory_id for n in range(10)]
    assert [one.id for one in pages(memory, 4)] == ids[::-1]
    assert [one.id for one in pages(memory, 4, oldest_first=True)] == ids
    assert memory.timeline(n=10).cursor == ""
    assert memory.timeline(n=9).cursor != ""


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ({"collection": "kichten"}, "there is no memory in the collection 'kichten'; did you mean 'kitchen'?"),
        ({"collections": ["lab"]}, "there is no memory in the collection 'lab'"),
        ({"collection": "kitchen", "labels": "cup"}, "no memory of the collection 'kitchen' has the label 'cup'"),
        ({"collection": "kitchen", "tags": "red"}, "no memory of the collection 'kitchen' has the tag 'red'"),
        ({"collection": "kitchen"}, ""),
        ({"collection": "kitchen", "before": 1}, ""),
    ],
)
def test_an_empty_timeline_says_what_no_memory_has(
    memory: RobotMemory, conditions: dict[str, object], reason: str
) -> None:
    memory.save_perception("a mug", label="mug", collection="kitchen", observed_at=50)
    assert memory.timeline(**conditions).reason == reason  # type: ignore[arg-type]


def test_the_conditions_are_those_of_a_recall(memory: RobotMemory) -> None:
    wanted = memory.learn("kept", category="grasp", tags=["a"], session_id="s", observed_at=50).memory_id
    memory.learn("of no category", tags=["a"], session_id="s", category="place", observed_at=51)
    memory.learn("of another session", category="grasp", tags=["a"], session_id="t", observed_at=52)
    memory.save_perception("of another kind", session_id="s", observed_at=53)
    conditions: dict[str, Any] = {
        "categories": "grasp",
        "tags": ["a"],
        "session_ids": "s",
        "kinds": "fact",
        "before": 99,
    }
    assert [one.id for one in memory.timeline(**conditions).entries] == [wanted]
    assert [one.id for one in memory.recall(min_confidence=0, **conditions)] == [wanted]
    assert memory.timeline(min_confidence=1.0).entries == ()


def test_what_was_forgotten_is_shown_only_if_asked_for(memory: RobotMemory) -> None:
    gone = memory.learn("a mistake").memory_id
    memory.forget(gone, "wrong")
    assert memory.timeline().entries == ()
    (entry,) = memory.timeline(include_forgotten=True).entries
    assert (entry.id, entry.status) == (gone, "invalidated")


def test_a_cursor_outlives_the_memory_that_it_stands_behind(memory: RobotMemory) -> None:
    ids = [memory.save_perception(f"thing {n}", observed_at=100 + n).memory_id for n in range(4)]
    page = memory.timeline(n=2)
    memory.purge(ids=[page.entries[-1].id])
    assert [one.id for one in memory.timeline(n=2, cursor=page.cursor).entries] == [ids[1], ids[0]]


@pytest.mark.parametrize(
    "cursor", ["x", "!", "AAAA", "A" * 28, "ü", "a b", 7, b"AAAA", "A" * 300, "\0"]
)  # fmt: skip
def test_a_malformed_cursor_is_refused(memory: RobotMemory, cursor: Any) -> None:
    with pytest.raises(InvalidFieldError, match=r"^cursor: "):
        memory.timeline(cursor=cursor)


def test_a_changed_cursor_is_refused(memory: RobotMemory) -> None:
    for n in range(3):
        memory.save_perception(f"thing {n}", observed_at=100 + n)
    cursor = memory.timeline(n=1).cursor
    for at in range(len(cursor)):
        other = "A" if cursor[at] != "A" else "B"
        with pytest.raises(InvalidFieldError, match=r"^cursor: "):
            memory.timeline(cursor=cursor[:at] + other + cursor[at + 1 :])
    with pytest.raises(InvalidFieldError, match=r"^cursor: .* belongs to a timeline with the newest first"):
        memory.timeline(cursor=cursor, oldest_first=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", "ten"), ("n", 1.5), ("oldest_first", 1), ("include_forgotten", "no"), ("min_confidence", 2),
        ("kinds", "dream"), ("after", -1), ("areas", "nowhere"), ("include_unconfirmed", None),
    ],
)  # fmt: skip
def test_bad_input_is_named(memory: RobotMemory, field: str, value: Any) -> None:
    with pytest.raises(InvalidFieldError, match=f"^{field}: "):
        memory.timeline(**{field: value})


def test_the_number_is_cut_to_what_is_sensible(memory: RobotMemory) -> None:
    for n in range(60):
        memory.save_perception(f"thing {n}", observed_at=100 + n)
    assert len(memory.timeline(n=0).entries) == 50
    assert len(memory.timeline(n=-3).entries) == 1
    assert len(memory.timeline(n=10**6).entries) == 60


class World:
    """Some memories of two collections, and what is known of them without the database."""

    def __init__(self, memory: RobotMemory, stamps: list[int]) -> None:
        self.memory = memory
        self.told: dict[int, tuple[int, str]] = {}
        self.active: set[int] = set()
        for stamp in stamps:
            self.change("save", stamp)
        self.throughout = set(self.active)

    def change(self, what: str, which: int) -> None:
        """Save a memory of a stamp, or forget, restore or delete one."""
        one = sorted(self.told)[which % len(self.told)] if self.told else 0
        if what == "save":
            name = COLLECTIONS[which % 2]
            one = self.memory.save_perception("a thing", observed_at=which, collection=name).memory_id
            self.told[one] = which, name
            self.active.add(one)
        elif what == "restore" and one in self.told.keys() - self.active:
            self.memory.restore(one)
            self.active.add(one)
        elif what in {"forget", "purge"} and one in self.active:
            self.active.remove(one)
            self.throughout -= {one}
            if what == "forget":
                self.memory.forget(one, "a test")
            else:
                self.memory.purge(ids=[one])
                del self.told[one]

    def behind(self, last: tuple[int, int] | None, *, oldest_first: bool, collection: str) -> list[int]:
        """Return what should follow an entry of a time and id, by looking at everything."""
        keys = [(self.told[one][0], one) for one in self.active if collection in {"*", self.told[one][1]}]
        if last is not None:
            keys = [key for key in keys if (key > last if oldest_first else key < last)]
        return [one for _, one in sorted(keys, reverse=not oldest_first)]


CHANGES = st.lists(st.tuples(st.sampled_from(("save", "forget", "purge", "restore")), st.integers(0, 30)), max_size=6)
CONDITIONS = st.fixed_dictionaries({"oldest_first": st.booleans(), "collection": st.sampled_from((*COLLECTIONS, "*"))})


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(
    stamps=st.lists(st.integers(0, 12), max_size=25), changes=st.lists(CHANGES, max_size=12), n=st.integers(1, 6),
    conditions=CONDITIONS,
)  # fmt: skip
def test_what_is_there_throughout_is_on_exactly_one_page(
    tmp_path_factory: pytest.TempPathFactory, stamps: list[int], changes: list[list[tuple[str, int]]], n: int,
    conditions: dict[str, Any],
) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("timeline") / "memory.db"
    with RobotMemory(path, embedding_model="", synchronous="normal") as memory:
        world = World(memory, stamps)
        shown: list[tuple[int, int]] = []
        page = memory.timeline(n=n, **conditions)
        for some in chain(changes, repeat([])):
            expected = world.behind(shown[-1] if shown else None, **conditions)
            assert [one.id for one in page.entries] == expected[:n]
            assert bool(page.cursor) == (len(expected) > n)
            shown += [(one.observed_at, one.id) for one in page.entries]
            if not page.cursor:
                break
            for what, which in some:
                world.change(what, which)
            page = memory.timeline(n=n, cursor=page.cursor, **conditions)
        ids = [memory_id for _, memory_id in shown]
        assert len(ids) == len(set(ids))
        assert world.throughout & set(world.behind(None, **conditions)) <= set(ids)


def test_notes_are_listed_if_their_kind_is_named(open_memory: OpenMemory, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "rules.md").write_text("# Rules\n\nNo driving on the ramp.\n")
    memory = open_memory(notes_folders=(str(tmp_path / "site"),))
    memory.flush()
    memory.learn("a glass needs 12.5 N")
    assert [one.kind for one in memory.timeline(collection="*").entries] == [Kind.FACT]
    (note,) = memory.timeline(kinds="notes").entries
    assert (note.kind, note.collection) == (Kind.NOTE, "notes")
    assert memory.counts("kinds") == (("fact", 1), ("note", 1))
    assert memory.counts("collections") == (("default", 1), ("notes", 1))


def test_a_read_only_memory_has_a_timeline(open_memory: OpenMemory, tmp_path: Path) -> None:
    with open_memory() as memory:
        memory.learn("a glass needs 12.5 N")
    with open_memory(tmp_path / "memory.db", read_only=True) as memory:
        assert len(memory.timeline().entries) == 1
