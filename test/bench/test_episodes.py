"""The set of episodes is sound: enough of everything, ids that exist, splits that share no episode."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from bench.data import DATA, read_records

FILES = ("sessions", "episodes", "cases", "answerable", "unanswerable", "lessons")
SET: dict[str, list[dict[str, Any]]] = {name: read_records(DATA / "episodes" / f"{name}.jsonl") for name in FILES}
SESSIONS = {session["id"]: session for session in SET["sessions"]}
MEMORIES = {memory["id"]: memory for memory in SET["episodes"]}
CORPUS = {memory["id"]: memory for memory in read_records(DATA / "recall" / "corpus.jsonl")}
QUERIES = SET["cases"] + SET["answerable"] + SET["unanswerable"]


@pytest.mark.parametrize("name", FILES)
def test_ids_are_unique(name: str) -> None:
    assert len({record["id"] for record in SET[name]}) == len(SET[name])


@pytest.mark.parametrize(
    ("name", "least"),
    [("sessions", 40), ("episodes", 600), ("cases", 250), ("answerable", 150), ("unanswerable", 150), ("lessons", 25)],
)
def test_there_is_enough(name: str, least: int) -> None:
    assert len(SET[name]) >= least


def test_an_episode_is_8_to_25_memories_in_the_order_of_their_times() -> None:
    assert {memory["session"] for memory in SET["episodes"]} == set(SESSIONS)
    for session in SESSIONS:
        memories = [memory for memory in SET["episodes"] if memory["session"] == session]
        assert 8 <= len(memories) <= 25
        assert [memory["id"] for memory in memories] == [f"{session}-{n:02}" for n in range(1, len(memories) + 1)]
        offsets = [memory["offset"] for memory in memories]
        assert offsets == sorted(offsets)
        assert offsets[0] >= 0


def test_memories_say_what_is_needed_to_store_them() -> None:
    for memory in MEMORIES.values():
        assert memory["kind"] in {"fact", "perception"}
        assert "category" not in memory or memory["kind"] == "fact"
        assert ("label" in memory) == ("position" in memory)
        assert len(memory.get("position", (0, 0, 0))) == 3
    for session in SESSIONS.values():
        assert session["outcome"] is None or 0 <= session["outcome"] <= 1
        assert set(session["context"]) == {"task", "place"}


def test_nothing_is_written_twice() -> None:
    texts = [memory["content"].casefold() for memory in (*MEMORIES.values(), *CORPUS.values())]
    queries = [query["query"].casefold() for query in QUERIES]
    assert [text for text, times in Counter(texts).items() if times > 1] == []
    assert [query for query, times in Counter(queries).items() if times > 1] == []
    assert set(texts).isdisjoint(queries)


def test_relevant_memories_exist_and_those_of_a_case_belong_to_its_episode() -> None:
    for case in SET["cases"]:
        assert 1 <= len(set(case["relevant"])) == len(case["relevant"]) <= 3
        assert {MEMORIES[memory]["session"] for memory in case["relevant"]} == {case["episode"]}
    for query in SET["answerable"]:
        assert 1 <= len(query["relevant"]) <= 3
        assert set(query["relevant"]) <= MEMORIES.keys() | CORPUS.keys()


def test_the_evidence_of_a_case_does_not_hold_its_query() -> None:
    for case in SET["cases"]:
        evidence = set(_words(" ".join(MEMORIES[memory]["content"] for memory in case["relevant"])))
        assert not set(_words(case["query"])) <= evidence, case["query"]


def test_each_kind_of_link_and_of_distance_is_asked_for() -> None:
    links = Counter(case["link"] for case in SET["cases"])
    assert set(links) == {"pronoun", "sequel", "cause", "place", "person", "time"}
    assert min(links.values()) >= 10
    assert Counter(query["distance"] for query in SET["unanswerable"]) == {"far": 60, "in-domain": 60, "near": 60}


def test_a_fifth_is_chinese() -> None:
    for queries in (SET["cases"], SET["answerable"], SET["unanswerable"]):
        chinese = [query for query in queries if query["language"] == "zh"]
        assert 0.15 <= len(chinese) / len(queries) <= 0.25
        assert all(bool(re.search("[\u4e00-\u9fff]", query["query"])) == (query in chinese) for query in queries)


def test_no_episode_is_in_both_splits_and_each_split_is_about_a_half() -> None:
    for case in SET["cases"]:
        assert case["split"] == SESSIONS[case["episode"]]["split"]
    for query in SET["answerable"]:
        for memory in set(query["relevant"]) & MEMORIES.keys():
            assert query["split"] == SESSIONS[MEMORIES[memory]["session"]]["split"]
    for lesson in SET["lessons"]:
        told = {SESSIONS[MEMORIES[fact["id"]]["session"]]["split"] for fact in lesson["helpful"]}
        assert lesson["split"] == ("tune" if told == {"tune"} else "last")
    for name in FILES:
        if name != "episodes":
            splits = Counter(record["split"] for record in SET[name])
            assert set(splits) == {"tune", "last"}
            assert min(splits.values()) >= 0.4 * len(SET[name])


def test_lessons_name_one_to_three_facts_the_best_first() -> None:
    for lesson in SET["lessons"]:
        assert set(lesson["context"]) == {"task", "place", "objects"}
        facts, grades = zip(*((fact["id"], fact["grade"]) for fact in lesson["helpful"]), strict=True)
        assert 1 <= len(set(facts)) == len(facts) <= 3
        assert {MEMORIES[fact]["kind"] for fact in facts} == {"fact"}
        assert list(grades) == sorted(grades, reverse=True)
        assert set(grades) <= {1, 2}


def _words(text: str) -> list[str]:
    return re.findall(r"[\u4e00-\u9fff]|\w+", text.casefold())
