"""Relevance and explanations, as a planner gets them from a real node."""

from __future__ import annotations

import math

import pytest

from robotmem_ros.srv import Learn, Recall

from ..support.node.graph import Client

_COLLECTION = "relevance"


@pytest.fixture(autouse=True)
def learned(client: Client) -> None:
    """One fact, learned again for each test, in a namespace of its own."""
    assert client.call(Learn, "learn", insight="grip force of 12.5 N works for a glass", collection=_COLLECTION).success


def test_a_result_tells_how_relevant_it_is_and_why_it_has_its_score(client: Client) -> None:
    (plain,) = client.call(Recall, "recall", query="Grip a mug", collection=_COLLECTION, min_relevance=[0.0]).memories
    assert list(plain.matched_terms) == ["Grip"]
    assert list(plain.explanation) == []
    assert 0 < plain.relevance < 1
    assert -1 <= plain.similarity <= 1 or math.isnan(plain.similarity)
    (told,) = client.call(
        Recall, "recall", query="Grip a mug", collection=_COLLECTION, min_relevance=[0.0], explain=True
    ).memories
    (explanation,) = told.explanation
    assert explanation.parts[-1].score == explanation.score > 0
    assert {part.operation for part in explanation.parts} == {"add"}
    assert (explanation.text_rank, explanation.bm25 > 0) == (1, True)


def test_nothing_relevant_is_an_empty_result_with_the_reason(client: Client) -> None:
    answer = client.call(Recall, "recall", query="zebra xylophone glass", collection=_COLLECTION, min_relevance=[1.0])
    assert (answer.success, list(answer.memories)) == (True, [])
    assert "nothing relevant: the best memory has relevance" in answer.reason
    refused = client.call(Recall, "recall", query="glass", collection=_COLLECTION, min_relevance=[1.5])
    assert (refused.success, refused.error) == (False, "min_relevance: 1.5 must lie in 0 to 1")
    unknown = client.call(Recall, "recall", query="glass", collection=_COLLECTION, min_relevance=[math.nan])
    assert not unknown.success
    assert unknown.error.startswith("min_relevance: ")
