"""Vectors of one model are never compared with those of another."""

from __future__ import annotations

from pathlib import Path

from robotmem_ros.memory import RobotMemory

from ...support.embedders import WordVectors


def test_a_memory_whose_vectors_another_model_made_searches_by_words_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedder=WordVectors(name="first")) as first:
        for number in range(20):
            first.save_perception(f"thing{number} stands here")
        first.flush()
        assert first.recall("thing7").mode == "hybrid"
        with RobotMemory(path, embedder=WordVectors(name="second")) as second:
            second.flush()
            assert second.recall("thing7").mode == "hybrid"
            answer = first.recall("thing7")
            assert [one.content for one in answer] == ["thing7 stands here"]
            why = "the vectors in the database are those of the model 'second', not of 'first'"
            assert (answer.mode, answer.reason) == ("bm25_only", why)
            near = first.recall("thing8 somewhere", spatial_sort={"target": [0, 0, 0]})
            assert (near.mode, near.reason) == ("bm25_only", f"{why}; no memory has a 'position'")
            status = first.status()
            assert (status.mode, why in status.reason) == ("bm25_only", True)
            learned = first.learn("a new lesson")
            assert why in learned.reason
            assert second.status().mode == "hybrid"
