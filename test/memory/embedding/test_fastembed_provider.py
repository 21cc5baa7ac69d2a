"""The provider that runs a real model, and the files it needs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Mode, RobotMemory
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding import Embedder, ModelUnavailableError
from robotmem_ros.memory.embedding.fastembed_provider import MODEL_VARIABLE, FastEmbedEmbedder, find_folder, inspect

DEFAULT = Parameters().embedding_model


@pytest.fixture
def folder() -> Path:
    """The folder of the default model."""
    found = find_folder(DEFAULT)
    assert found is not None, "the default model is fetched by the set-up (robotmem model fetch)"
    return found


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A copy of the model's small files, with a stand-in for the large one."""
    target = tmp_path / "copied-model"
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("*.onnx", "SHA256SUMS"))
    (target / "model.onnx").write_bytes(b"not really a model")
    return target


def test_vectors_are_float32_of_unit_length_and_alike_for_alike_texts(model: Embedder) -> None:
    vectors = model.embed_batch(["a red mug", "a crimson cup", "the battery is empty", "a red mug"])
    assert (vectors.shape, str(vectors.dtype), model.dim) == ((4, 384), "float32", 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert vectors[0] @ vectors[3] == pytest.approx(1.0, abs=1e-5)
    assert model.embed_one("a red mug") == pytest.approx(vectors[0], abs=1e-6)


@pytest.mark.parametrize("text", ["", " ", "🤖", "a" * 5000, "杯子", "\u200b"])
def test_any_text_has_a_vector(model: Embedder, text: str) -> None:
    assert np.linalg.norm(model.embed_one(text)) == pytest.approx(1.0, abs=1e-5)


def test_a_model_is_found_by_path_by_name_and_through_the_variable(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv(MODEL_VARIABLE, raising=False)
    assert find_folder(copy.name) is None
    assert find_folder(str(copy)) == copy
    assert find_folder(str(copy / "nothing")) is None
    monkeypatch.setenv(MODEL_VARIABLE, str(copy))
    assert find_folder(copy.name) == copy
    assert find_folder("another-name") is None
    assert find_folder(DEFAULT) == copy
    named = tmp_path / "home" / ".robotmem" / "models" / "another-name"
    shutil.copytree(copy, named)
    assert find_folder("another-name") == named
    assert find_folder(f"~{os.sep}.robotmem/models/another-name") == named


def test_a_variable_that_names_no_folder_is_refused_not_passed_over(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(copy, tmp_path / ".robotmem" / "models" / DEFAULT)
    monkeypatch.setenv(MODEL_VARIABLE, str(tmp_path / "typo"))
    with pytest.raises(ModelUnavailableError, match=r"ROBOTMEM_MODEL: '.*/typo' is no folder; name the folder"):
        find_folder(DEFAULT)
    with RobotMemory(tmp_path / "memory.db") as memory:
        memory.warm_up()
        assert "ROBOTMEM_MODEL: " in memory.status().reason


def test_the_variable_gives_the_default_model_whatever_its_folder_is_called(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "minilm").symlink_to(folder)
    monkeypatch.setenv(MODEL_VARIABLE, str(tmp_path / "minilm"))
    with RobotMemory(tmp_path / "memory.db") as memory:
        memory.warm_up()
        assert (memory.status().mode, memory.status().embedding_model) == (Mode.HYBRID, "minilm")


@pytest.mark.parametrize("mark", [" ", "*"])
def test_checksums_are_verified(copy: Path, mark: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()} {mark}{file.name}" for file in copy.iterdir()]
    (copy / "SHA256SUMS").write_text("\n".join(sums))
    assert (inspect(copy).dim, inspect(copy).onnx) == (384, "model.onnx")
    assert not caplog.messages
    with (copy / "model.onnx").open("ab") as file:
        file.write(b"!")
    with pytest.raises(ModelUnavailableError, match=r"model.onnx' is damaged; fetch the model again"):
        inspect(copy)
    (copy / "model.onnx").unlink()
    with pytest.raises(ModelUnavailableError, match=r"model.onnx' is missing; fetch the model again"):
        FastEmbedEmbedder(str(copy))


def test_another_file_of_a_model_has_another_digest_with_checksums_and_without(copy: Path) -> None:
    digests = [inspect(copy).digest, inspect(copy).digest]
    subprocess.run("sha256sum *.* > SHA256SUMS", shell=True, cwd=copy, check=True)
    digests.append(inspect(copy).digest)
    (copy / "README.md").write_text("of no matter")
    digests.append(inspect(copy).digest)
    assert len(set(digests)) == 1
    with (copy / "tokenizer.json").open("a") as file:
        file.write("\n")
    (copy / "SHA256SUMS").unlink()
    digests.append(inspect(copy).digest)
    assert len(set(digests)) == 2


def test_files_without_a_checksum_are_named_in_the_log(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    inspect(copy)
    (message,) = caplog.messages
    assert "model.onnx, special_tokens_map.json, tokenizer.json, tokenizer_config.json in" in message
    command = message.partition("`")[2].partition("`")[0]
    caplog.clear()
    for _ in range(2):
        subprocess.run(command, shell=True, cwd=copy, check=True)
        inspect(copy)
        assert not caplog.messages
    (first, *_) = (copy / "SHA256SUMS").read_text().splitlines()
    (copy / "SHA256SUMS").write_text(first)
    inspect(copy)
    (message,) = caplog.messages
    listed = message.partition("damage of ")[2].partition(" in ")[0].split(", ")
    assert sorted([*listed, Path(first.split()[1]).name]) == sorted(file.name for file in copy.glob("*.*"))


@pytest.mark.parametrize("config", ["", "[]", "{}", '{"hidden_size": "many"}', '{"hidden_size": null}'])
def test_a_folder_with_a_bad_configuration_is_no_model(copy: Path, config: str) -> None:
    (copy / "config.json").write_text(config)
    with pytest.raises(ModelUnavailableError, match=f"config.json in '{re.escape(str(copy))}' cannot be used"):
        FastEmbedEmbedder(str(copy))


def test_pooling_is_read_from_the_folder(copy: Path) -> None:
    assert not inspect(copy).cls_pooling
    (copy / "1_Pooling").mkdir(exist_ok=True)
    (copy / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert inspect(copy).cls_pooling


def test_an_unusable_model_is_reported(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=f"embedding_model: '{re.escape(str(copy))}' cannot be loaded: "):
        FastEmbedEmbedder(str(copy))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailableError, match=r"no .onnx file in '.*empty'"):
        FastEmbedEmbedder(str(tmp_path / "empty"))
    with pytest.raises(ModelUnavailableError, match=r"'no-such-model' is neither a folder.*`robotmem model list`"):
        FastEmbedEmbedder("no-such-model")


ALONE = "hold the glass with 5 N"


@settings(max_examples=40)
@given(
    before=st.lists(st.text(max_size=40) | st.sampled_from(("a red mug", "the battery is empty " * 30)), max_size=6),
    after=st.lists(st.text(max_size=40), max_size=20),
)
def test_a_text_has_the_same_vector_alone_and_in_any_company(
    model: Embedder, before: list[str], after: list[str]
) -> None:
    together = model.embed_batch([*before, ALONE, *after])
    assert together.shape == (len(before) + 1 + len(after), model.dim)
    assert together[len(before)] == pytest.approx(model.embed_one(ALONE), abs=1e-6)
    for text, vector in list(zip(before, together, strict=False))[:2]:
        assert vector == pytest.approx(model.embed_one(text), abs=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_model_runs_on_as_many_threads_as_it_is_told(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    options: list[Any] = []
    session = onnxruntime.InferenceSession

    def noted(*arguments: Any, **named: Any) -> Any:
        options.append(named.get("sess_options"))
        return session(*arguments, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", noted)
    with RobotMemory(tmp_path / "memory.db", embedding_threads=threads) as memory:
        memory.warm_up()
        memory.learn("a red mug")
        memory.flush()
        assert memory.recall("a crimson cup").mode is Mode.VEC_ONLY
    assert [one.intra_op_num_threads for one in options] == [threads]
    assert [one.get_session_config_entry("session.intra_op.allow_spinning") for one in options] == ["0"]
