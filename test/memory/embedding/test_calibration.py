"""A model is measured on the texts of a memory: its vectors lose their mean, its cosines get a curve of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding import Vectors, calibration
from robotmem_ros.memory.embedding.calibration import CalibrationError, calibrate
from robotmem_ros.memory.embedding.fastembed_provider import MODEL_VARIABLE, find_folder
from robotmem_ros.memory.embedding.profile import Profile, own_profile, profile_of
from robotmem_ros.memory.embedding.providers import choices

from ...support.embedders import WordVectors

THINGS = (
    "mug", "shelf", "dock", "pallet", "gripper", "glass", "door", "lamp",
    "box", "cart", "drawer", "sink", "cable", "wheel", "table", "chair",
)  # fmt: skip
TEXTS = [f"the {first} stands beside the {second}" for first in THINGS for second in THINGS if first != second]


class NarrowCone(WordVectors):
    """A model whose vectors have much in common, as those of E5 have."""

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed_batch(texts) + 3 * np.eye(self.dim, dtype=np.float32)[0]
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def relevance_of_chance(model: WordVectors, profile: Profile) -> float:
    """Return how relevant texts are to each other that have nothing to do with each other."""
    vectors = profile.comparable(model.embed_batch(TEXTS), TEXTS)
    cosine = float((vectors @ vectors.T)[np.triu_indices(len(TEXTS), 1)].mean())
    return 1 / (1 + math.exp(-(profile.curve.cosine * cosine + profile.curve.bias)))


def test_what_all_vectors_have_in_common_is_taken_from_them_and_chance_is_as_relevant_as_by_the_default() -> None:
    model = NarrowCone(name="narrow")
    measured = calibrate(model, TEXTS)
    assert measured.mean is not None
    assert measured.dimension == model.dim
    curve = Profile().curve
    expected = 1 / (1 + math.exp(-(curve.cosine * calibration.UNRELATED_MEAN + curve.bias)))
    assert relevance_of_chance(model, measured) == pytest.approx(expected, abs=1e-3)
    assert relevance_of_chance(model, Profile()) > 0.5
    assert Profile().similar_cosine <= measured.similar_cosine <= 0.99


def test_vectors_in_all_directions_keep_their_mean() -> None:
    rng = np.random.default_rng(1)

    class Random(WordVectors):
        def embed_batch(self, texts: Sequence[str]) -> Vectors:
            return rng.standard_normal((len(texts), self.dim)).astype(np.float32)

    assert calibrate(Random(), TEXTS).mean is None


def test_a_model_is_not_measured_on_texts_that_it_does_not_read() -> None:
    with pytest.raises(CalibrationError, match="3 different texts are read by 'narrow'; at least 100"):
        calibrate(NarrowCone(name="narrow"), TEXTS[:3] * 50)
    with pytest.raises(CalibrationError, match="0 different texts"):
        calibrate(WordVectors(name="all-MiniLM-L6-v2"), [f"红色的杯子{number}" for number in range(200)])


def test_a_measured_profile_is_kept_under_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    measured = calibrate(NarrowCone(name="ollama:narrow"), TEXTS)
    name = calibration.save(measured, "ollama:narrow")
    assert calibration.save(measured, "ollama:narrow") == name
    kept = profile_of(name)
    assert kept.curve.cosine == pytest.approx(measured.curve.cosine, abs=1e-3)
    assert kept.mean == pytest.approx(measured.mean, abs=1e-4)
    (choice,) = choices(Parameters().changed(embedding_model=name))
    assert choice.name == name
    assert profile_of("ollama:narrow").mean is None


def test_a_measured_model_is_projected_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    known = profile_of("multilingual-e5-small")
    measured = calibrate(WordVectors(dim=384, name=known.folder), TEXTS)
    assert profile_of(calibration.save(measured, known.folder)).projection == known.projection != ""


def test_a_model_is_measured_and_used_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path) as memory:
        memory.save_many(TEXTS)
        memory.flush()
        model = memory.status().embedding_model
    monkeypatch.setenv(MODEL_VARIABLE, str(find_folder(model)))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".robotmem" / "profiles"
    assert main(["model", "calibrate", "--db", str(path)]) == 0
    (file,) = folder.glob("*.yaml")
    name = file.stem
    assert name.startswith(f"{Parameters().embedding_model}@")
    assert f"robotmem model use {name}" in capsys.readouterr().out
    assert main(["model", "use", name, "--db", str(path)]) == 0
    with RobotMemory(path) as memory:
        assert memory.wait_for_model()
        assert (memory.status().embedding_model, memory.status().pending_vectors) == (name, 0)
        assert memory.recall("mug beside shelf").mode.value == "hybrid"
    file.unlink()
    profile_of.cache_clear()
    with RobotMemory(path) as memory:
        assert not memory.wait_for_model()
        assert f"names the profile {file}, which is missing" in memory.recall("mug").reason
    assert own_profile(model) is None
