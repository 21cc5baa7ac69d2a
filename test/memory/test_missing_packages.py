"""Without any of its optional packages the core still works, and says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ..support.forks import output_of
from ..support.subprocesses import without

ALL = ("sqlite_vec", "usearch", "jieba", "icu4py", "snowballstemmer", "fastembed", "onnxruntime")
USE = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1]) as memory:
    memory.save_perception("a red mug", pose=(1.0, 2.0, 0.0))
    memory.save_perception("厨房里的红色杯子", pose=(3.0, 0.0, 0.0))
    memory.learn("grip force 12.5 N", {"task": {"success": True}})
    memory.flush()
    for query in ("mug", "杯子", "最近的红色杯子", "force"):
        answer = memory.recall(query, n=1)
        print(answer.mode.value, answer[0].memory.content)
    near = memory.recall("杯子", spatial_sort={"field": "position", "target": [3.0, 4.0]})
    print([(found.memory.content, found.distance) for found in near])
    print(len(memory.recall(context_filter={"task.success": True})))
    print(memory.status().reason)
"""


def test_without_any_optional_package_text_position_and_conditions_work(tmp_path: Path) -> None:
    *answers, reason = output_of(without(*ALL) + USE, tmp_path / "memory.db").splitlines()
    assert answers == [
        "bm25_only a red mug",
        "bm25_only 厨房里的红色杯子",
        "bm25_only 厨房里的红色杯子",
        "bm25_only grip force 12.5 N",
        "[('厨房里的红色杯子', 4.0)]",
        "1",
    ]
    assert "onnxruntime is not installed (pip install fastembed numkong onnx sentencepiece)" in reason
    for missing in ("sqlite-vec", "jieba", "icu4py", "snowballstemmer"):
        assert f"{missing} is not installed (pip install {missing})" in reason


@pytest.mark.parametrize("missing", [["sqlite_vec"], ["jieba", "icu4py", "snowballstemmer"]])
def test_without_other_optional_packages_the_model_still_works(tmp_path: Path, missing: list[str]) -> None:
    *answers, reason = output_of(without(*missing) + USE, tmp_path / "memory.db").splitlines()
    assert answers[:4] == [
        "hybrid a red mug",
        "bm25_only 厨房里的红色杯子",
        "bm25_only 厨房里的红色杯子",
        "hybrid grip force 12.5 N",
    ]
    for package in missing:
        assert f"{package.replace('_', '-')} is not installed" in reason


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("onnxruntime", "onnxruntime is not installed (pip install fastembed numkong onnx sentencepiece)"),
        ("tokenizers", "tokenizers is not installed (pip install fastembed numkong onnx sentencepiece)"),
    ],
)
def test_the_package_that_the_model_lacks_is_named(tmp_path: Path, missing: str, message: str) -> None:
    reason = output_of(without(missing) + USE, tmp_path / "memory.db").splitlines()[-1]
    assert message in reason.split("; ")


def test_texts_stored_without_jieba_are_found_with_it_and_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    ask = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    if sys.argv[2:]:
        memory.learn(sys.argv[2])
    print(sorted(found.id for found in memory.recall("红色的杯子", n=10)))
"""
    assert output_of(without("jieba") + ask, path, "架子上有红色杯子") == "[1]\n"
    assert output_of(ask, path, "一个红色杯子") == "[1, 2]\n"
    assert output_of(without("jieba") + ask, path, "红色杯子很小") == "[1, 2, 3]\n"
    with RobotMemory(path, embedding_model="") as memory:
        assert {found.id for found in memory.recall("杯子")} == {1, 2, 3}
