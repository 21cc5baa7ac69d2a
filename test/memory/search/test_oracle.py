"""Recall against brute force, over random worlds and random queries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, RecallResult, RobotMemory, Timeline
from robotmem_ros.memory.search.reasons import of_faded
from robotmem_ros.memory.search.request import TimelineRequest
from robotmem_ros.memory.search.result import ScorePart

from ...support.clock import Clock
from ...support.embedders import FewWords
from ...support.examples import examples
from ...support.search.errors import InvalidQueryError, UndecidedError
from ...support.search.queries import questions
from ...support.search.reference_model import Question
from ...support.search.worlds import AREAS, BORN, World, build

pytestmark = pytest.mark.slow
SMALL_WORLDS = 16
Worlds = Callable[[int, int, bool], World]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Worlds by seed, size and whether there is a model; each is built once."""
    built: dict[tuple[int, int, bool], World] = {}

    def world(seed: int, size: int, embeds: bool) -> World:
        key = (seed, size, embeds)
        if key not in built:
            path = tmp_path_factory.mktemp("world") / "memory.db"
            clock = Clock(BORN)
            made = build(opened(path, clock, embeds), clock, seed, size, embeds=embeds)
            made.memory.close()
            built[key] = replace(made, memory=opened(path, clock, embeds, areas=True), areas=AREAS)
            built[key].memory.flush()
        return built[key]

    yield world
    for one in built.values():
        one.memory.close()


@settings(max_examples=examples(240), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_gives_the_result_of_brute_force(worlds: Worlds, data: st.DataObject) -> None:
    check_recall(worlds, data)


@pytest.mark.rare
@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_recalls_give_the_results_of_brute_force(worlds: Worlds, data: st.DataObject) -> None:
    check_recall(worlds, data)


def check_recall(worlds: Worlds, data: st.DataObject) -> None:
    """Assert that the recall of a random query in a small world has the result that the oracle finds."""
    seed = data.draw(st.integers(0, SMALL_WORLDS - 1))
    world = worlds(seed, 50 + 16 * seed, seed % 4 != 3)
    check(world, data.draw(questions(world)))


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize(
    ("seed", "size", "embeds"), [(1, 5_000, False), pytest.param(2, 20_000, True, marks=pytest.mark.rare)]
)
def test_recall_from_many_memories_gives_the_result_of_brute_force(
    worlds: Worlds, seed: int, size: int, embeds: bool, data: st.DataObject
) -> None:
    world = worlds(seed, size, embeds)
    check(world, data.draw(questions(world)))


@settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_timeline_has_the_memories_that_brute_force_finds_under_the_conditions(
    worlds: Worlds, data: st.DataObject
) -> None:
    seed = data.draw(st.integers(0, SMALL_WORLDS - 1))
    world = worlds(seed, 50 + 16 * seed, seed % 4 != 3)
    check_timeline(world, data)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_timeline_of_many_memories_has_those_that_brute_force_finds(worlds: Worlds, data: st.DataObject) -> None:
    check_timeline(worlds(1, 5_000, False), data)


def check_timeline(world: World, data: st.DataObject) -> None:
    """Assert that the pages of a timeline are the memories that the oracle finds, in the order of their times."""
    question = data.draw(questions(world))
    n, oldest_first, forgotten = data.draw(st.tuples(st.integers(1, 1000), st.booleans(), st.booleans()))
    shared = {field.name for field in fields(TimelineRequest)} - {"n"}
    values = {name: getattr(question.request, name) for name in shared if hasattr(question.request, name)}
    values["min_confidence"] = values["min_confidence"] or 0.0
    request = TimelineRequest(n=n, oldest_first=oldest_first, include_forgotten=forgotten, **values)
    world.live(question.now)

    def page(cursor: str = "") -> Timeline:
        return world.memory.timeline(
            **{field.name: getattr(request, field.name) for field in fields(request)} | {"cursor": cursor}
        )

    try:
        expected = world.oracle.candidates(question.page(world.memory.parameters, world.areas, request))
    except InvalidQueryError as error:
        with pytest.raises(InvalidFieldError, match=str(error)):
            page()
        return
    expected.sort(key=lambda one: (one.new.observed_at, one.id), reverse=not oldest_first)
    pages = [page()]
    while pages[-1].cursor and len(pages) < 5:
        pages.append(page(pages[-1].cursor))
    found = [entry for one in pages for entry in one.entries]
    assert [one.id for one in found] == [one.id for one in expected[: n * len(pages)]]
    assert bool(pages[-1].cursor) == (len(expected) > n * len(pages))
    assert [one.tags for one in found] == [one.new.tags for one in expected[: n * len(pages)]]


def opened(path: Path, clock: Clock, embeds: bool, *, areas: bool = False) -> RobotMemory:
    """A memory with the parameters that all have; with areas that it had not when it was filled."""
    file = path.parent / "areas.yaml"
    file.write_text(json.dumps({"areas": {name: list(map(list, polygon)) for name, polygon in AREAS.items()}}))
    embedder = FewWords() if embeds else None
    return RobotMemory(
        path, embedder=embedder, embedding_model="", synchronous="normal", clock=clock,
        areas_file=str(file) if areas else "",
    )  # fmt: skip


def check(world: World, question: Question) -> None:
    """Assert that the real memory and the oracle give the same result."""
    world.live(question.now)
    query = world.plan(question)
    instead = of_faded(query)
    try:
        faded = world.oracle.candidates(instead) if instead else []
        expected = world.oracle.recall(query, question.text_weight)
    except InvalidQueryError as error:
        with pytest.raises((InvalidFieldError, FrameMismatchError), match=str(error)):
            world.recall(question)
        return
    except UndecidedError:
        assume(False)
    result = world.recall(question)
    event(
        f"{min(len(result), 2)} results or more, by {'distance' if query.spatial_sort else query.text and 'relevance'}"
    )
    assert result.mode.value == expected.mode
    assert result.relevant is expected.is_relevant
    assert [hit.id for hit in result] == expected.ids
    assert [hit.folded_count for hit in result] == [len(others) for others in expected.folded]
    assert [list(hit.folded_ids) for hit in result] == [others[:100] for others in expected.folded]
    assert [hit.memory.confidence for hit in result] == expected.confidences
    assert [hit.memory.faded for hit in result] == expected.faded
    assert [hit.score for hit in result] == pytest.approx(expected.scores, abs=1e-4)
    explanations = [hit.explanation for hit in result if hit.explanation]
    assert len(explanations) == (len(result) if query.text and query.explain else 0)
    if explanations:
        best = max(one.score for one in explanations)
        assert [one.score / best if best > 0 else 1.0 for one in explanations] == [hit.score for hit in result]
        assert [folded(one.parts) for one in explanations] == pytest.approx([one.score for one in explanations])
    if result.memories and not (query.text or query.spatial_sort):
        is_default = instead is not None and not any(expected.faded)
        check_left_out(result, len(faded) if is_default else 0)
    if query.text:
        assert [hit.relevance for hit in result] == pytest.approx([e.relevance for e in expected.evidence], abs=1e-5)
        similarities = [e.similarity for e in expected.evidence]
        assert [hit.similarity for hit in result] == pytest.approx(similarities, abs=1e-5, nan_ok=True)
        assert [hit.matched_terms for hit in result] == [e.terms for e in expected.evidence]
    if query.spatial_sort:
        assert [hit.distance for hit in result] == pytest.approx(expected.distances, abs=1e-9)


def check_left_out(result: RecallResult, faded: int) -> None:
    """Assert that the reason counts the faded memories that were left out."""
    told = re.search(r"(\d+) matching .* left out because faded", result.reason)
    assert (int(told[1]) if told else 0) == faded


def folded(parts: Sequence[ScorePart]) -> float:
    """Return what the steps of a score come to, each checked against the score that it names."""
    score = 0.0
    for part in parts:
        score = score + part.value if part.operation == "add" else score * part.value
        assert score == pytest.approx(part.score)
        assert part.name
        assert part.reason
    return score
