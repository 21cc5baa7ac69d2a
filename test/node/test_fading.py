"""Faded memories, as a planner gets them from a real node."""

from __future__ import annotations

import pytest
from builtin_interfaces.msg import Time

from robotmem_ros.srv import Learn, Recall, Update

from ..support.node.graph import Client


def test_the_default_bound_marks_or_counts_faded_memories_and_a_given_one_is_exact(client: Client) -> None:
    stamp = Time(sec=1_700_000_000)
    old = client.call(Learn, "learn", insight="the sofa is grey", confidence=[0.9], stamp=stamp, collection="faded")
    assert client.call(Update, "update", memory_id=old.memory_id, decay_rate=[0.7]).success
    sofa = {"query": "sofa", "collection": "faded"}
    answer = client.call(Recall, "recall", **sofa)
    (faded,) = answer.memories
    assert faded.faded
    assert faded.confidence == pytest.approx(0.27) or faded.confidence == pytest.approx(0.081)  # past midnight
    assert "nothing fresh matches: what is returned has faded" in answer.reason
    assert [one.faded for one in client.call(Recall, "recall", **sofa, brief=True).brief_memories] == [True]
    assert list(client.call(Recall, "recall", **sofa, min_confidence=[0.3]).memories) == []
    fresh = client.call(Learn, "learn", insight="the sofa is for people", confidence=[0.9], collection="faded")
    answer = client.call(Recall, "recall", **sofa)
    assert [(one.id, one.faded) for one in answer.memories] == [(fresh.memory_id, False)]
    assert "1 matching memory is left out because faded (min_confidence 0)" in answer.reason
    assert len(client.call(Recall, "recall", **sofa, min_confidence=[0.0]).memories) == 2
