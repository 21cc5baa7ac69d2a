"""The log of recalls: what it has of each, how long it grows, and what it never holds."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ..support.clock import Clock
from ..support.raw_bytes import found
from .conftest import OpenMemory


def test_a_recall_is_logged_with_its_time_caller_and_outcome(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    mug = memory.learn("the red mug is in the kitchen").memory_id
    memory.recall("red mug", caller="planner")
    clock.now += 10**9
    memory.recall("zeppelin", min_relevance=0.9)
    memory.recall(after=1)
    memory.flush()
    latest, nothing, first = memory.recalls().recalls
    assert (first.caller, first.mode, first.hits, first.relevant, first.query) == ("planner", "hybrid", 1, True, "")
    assert (nothing.caller, nothing.hits, nothing.relevance, nothing.relevant) == ("python", 0, None, False)
    assert (latest.mode, latest.hits, latest.relevance, latest.digest) == ("structured", 1, None, "")
    assert first.relevance == memory.recall("red mug", count_usage=False)[0].relevance
    assert nothing.recalled_at - first.recalled_at == 10**9
    assert min(entry.milliseconds for entry in (latest, nothing, first)) > 0
    (used,) = memory.recalls().most_used
    (details,) = memory.get_memories([mug])
    assert (used.memory_id, used.access_count, used.return_count) == (mug, 2, 2)
    assert (details.access_count, details.return_count, details.last_accessed) == (2, 2, used.last_accessed)


def test_the_same_text_has_one_digest_in_a_file_and_another_one_elsewhere(open_memory: OpenMemory) -> None:
    digests = []
    for name in ("one.db", "two.db"):
        memory = open_memory(path_of(memory_name=name, open_memory=open_memory))
        for query in ("mug", "mug", "cup"):
            memory.recall(query)
        memory.flush()
        digests.append([entry.digest for entry in memory.recalls().recalls])
    (cup, mug, again), (other_cup, other_mug, _) = digests
    assert mug == again != cup
    assert {cup, mug}.isdisjoint({other_cup, other_mug})


def path_of(memory_name: str, open_memory: OpenMemory) -> str:
    return str(open_memory().path.with_name(memory_name))


def test_the_log_has_no_text_unless_a_parameter_allows_it(memory: RobotMemory) -> None:
    mark = "qzxjv"
    memory.recall(f"{mark} one")
    memory.flush()
    assert found(memory.path, {mark: mark.encode()}) == set()
    memory.parameters = memory.parameters.changed(recall_log_texts=True)
    memory.recall(f"{mark} two" + "x" * 500)
    memory.flush()
    newest, before = memory.recalls().recalls
    assert (newest.query, before.query) == ((f"{mark} two" + "x" * 500)[:200], "")


def test_the_log_keeps_the_last_recalls(memory: RobotMemory) -> None:
    memory.parameters = memory.parameters.changed(recall_log=3, recall_log_texts=True)
    for text in "abcde":
        memory.recall(text)
    memory.flush()
    assert [entry.query for entry in memory.recalls().recalls] == ["e", "d", "c"]
    memory.recall("f")
    memory.flush()
    assert [entry.query for entry in memory.recalls(2).recalls] == ["f", "e"]
    memory.parameters = memory.parameters.changed(recall_log=0)
    memory.recall("g")
    memory.flush()
    assert memory.recalls().recalls == ()


def test_what_nobody_asked_for_is_not_logged(memory: RobotMemory) -> None:
    memory.recall("mug", count_usage=False)
    memory.flush()
    assert memory.recalls() == ((), ())


def test_a_memory_that_is_only_read_logs_nothing(memory: RobotMemory, open_memory: OpenMemory) -> None:
    memory.learn("the mug is red")
    memory.recall("mug")
    memory.flush()
    reader = open_memory(memory.path, read_only=True)
    reader.recall("mug")
    reader.flush()
    assert len(reader.recalls().recalls) == len(memory.recalls().recalls) == 1


def test_a_purge_empties_the_texts_of_the_log_and_keeps_its_numbers(memory: RobotMemory) -> None:
    memory.parameters = memory.parameters.changed(recall_log_texts=True)
    friend = memory.learn("qzxjv lives next door").memory_id
    memory.recall("qzxjv")
    memory.purge(ids=[friend])
    (entry,) = memory.recalls().recalls
    assert (entry.hits, entry.query, entry.digest) == (1, "", "")
    assert found(memory.path, {"name": b"qzxjv", "log": entry.mode.encode()}) == {"log"}


def test_a_copy_of_what_changed_leaves_the_log_out(memory: RobotMemory, open_memory: OpenMemory) -> None:
    memory.learn("the mug is red")
    memory.recall("mug")
    memory.flush()
    other = open_memory(memory.path.with_name("other.db"))
    batch = memory.changes_since()
    assert batch is not None
    other.apply(batch)
    assert other.recalls().recalls == ()


@pytest.mark.parametrize("n", [0, 1001, "many"])
def test_a_wrong_number_is_named(memory: RobotMemory, n: object) -> None:
    with pytest.raises(InvalidFieldError, match=r"^n: "):
        memory.recalls(n)  # type: ignore[arg-type]


def test_a_caller_that_is_no_name_is_refused_before_the_search(memory: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError, match=r"^caller: "):
        memory.recall("mug", caller="a\nb")
    memory.flush()
    assert memory.recalls().recalls == ()


def test_a_recall_that_began_before_a_purge_is_logged_without_its_text(open_memory: OpenMemory) -> None:
    mark = "qzxjv"
    memory = open_memory()
    friend = memory.save_perception(f"{mark} lies here").memory_id
    memory.learn("the mug is red")
    other = open_memory(memory.path, recall_log_texts=True)
    other.recall(f"where is {mark}?")
    other.recall("where is the mug?")
    memory.purge(ids=[friend])
    other.recall("the mug again")
    other.flush()
    assert found(memory.path, {mark: mark.encode()}) == set()
    after, *before = other.recalls().recalls
    assert (after.query, [(entry.digest, entry.query) for entry in before]) == ("the mug again", [("", ""), ("", "")])
