"""All that depends on an embedding model is in its profile, which is found by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory import InvalidFieldError
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding import ModelUnavailableError
from robotmem_ros.memory.embedding import profile as profile_module
from robotmem_ros.memory.embedding.profile import Profile, profile_of, profiles, read_profile

from ...support.embedders import WordVectors
from ..conftest import OpenMemory


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Parameters().embedding_model, "multilingual-e5-small"),
        ("small", "all-MiniLM-L6-v2"),
        ("all-MiniLM-L6-v2-int7", "all-MiniLM-L6-v2"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("ollama:all-minilm", "all-MiniLM-L6-v2"),
        ("intfloat/multilingual-e5-small", "multilingual-e5-small"),
        ("BAAI/bge-small-en-v1.5", "bge-small-en-v1.5"),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "paraphrase-multilingual-MiniLM-L12-v2"),
        ("ollama:nomic-embed-text", "other-english"),
        ("openai:anything", ""),
        ("", ""),
    ],
)
def test_a_model_is_known_by_the_names_that_programs_give_it(model: str, name: str) -> None:
    assert profile_of(model).name == name


def test_each_profile_says_how_its_model_reads_a_text() -> None:
    for profile in profiles():
        assert profile.recipe is None or (profile.folder and profile_of(profile.folder) is profile)


def test_vectors_are_kept_less_their_mean_with_length_one() -> None:
    mean = np.array([0.0, 0.6, 0.6], np.float32)
    given = np.array([[2.0, 2.0, 1.0], [0.0, 1.0, 1.0]], np.float32)
    (first, second) = Profile(mean=mean).comparable(given, ["a", "杯"])
    assert first == pytest.approx(
        np.array([2 / 3, 2 / 3 - 0.6, 1 / 3 - 0.6]) / np.linalg.norm([0.6667, 0.0667, 0.2667]), abs=1e-3
    )
    assert np.linalg.norm([first, second], axis=1) == pytest.approx([1.0, 1.0])
    assert Profile().comparable(given, ["a", "杯"]) is given


def test_the_bound_of_relevance_is_that_of_the_model_unless_the_parameter_gives_one(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=WordVectors())
    memory.learn("the red mug is on the shelf")
    assert memory.min_relevance == Profile().min_relevance == 0.14
    assert "less than min_relevance 0.14" in memory.recall("zebra xylophone").reason
    memory.parameters = memory.parameters.changed(min_relevance=0.9)
    assert memory.min_relevance == 0.9
    assert "less than min_relevance 0.9" in memory.recall("zebra xylophone").reason


def test_texts_in_latin_script_and_others_lose_the_mean_of_their_own() -> None:
    given = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], np.float32) / np.sqrt(2)
    others, latins = given[0] * np.array([[0, 1, 0], [1, 0, 0]], np.float32)
    profile = Profile(mean=others, latin_mean=latins)
    latin, chinese = profile.comparable(given, ["die grüne Tasse", "绿色的杯子"])
    assert latin == pytest.approx([0.0, 1.0, 0.0])
    assert chinese == pytest.approx([1.0, 0.0, 0.0])
    assert profile.comparable(given[:0], []).shape == (0, 3)


def test_what_is_left_of_a_vector_is_projected_and_has_length_one() -> None:
    file = Path(profile_module.__file__).parent / "profiles" / "multilingual-e5-small.npy"
    given = np.random.default_rng(1).normal(size=(2, 384)).astype(np.float32)
    projected = Profile(projection=file.name).comparable(given, ["a", "杯"])
    expected = given @ np.load(file).astype(np.float32)
    assert projected == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-5)
    mean = np.full(384, 0.5 / np.sqrt(384), np.float32)
    both, centred = (Profile(mean=mean, projection=name).comparable(given, ["a", "杯"]) for name in (file.name, ""))
    assert both == pytest.approx(Profile(projection=file.name).comparable(centred, ["a", "杯"]), abs=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.full(384, 0.01, np.float32)}, {"latin_mean": np.full(384, 0.01, np.float32)}, {"projection": ""},
        {"pooling": "cls"}, {"passage_prefix": "text: "}, {"scripts": ("latin",)},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_vectors_are_others_if_anything_that_makes_them_is(change: dict[str, object]) -> None:
    known = profile_of("multilingual-e5-small")
    identity = known.identity("e5", "files")
    assert replace(known, **change).identity("e5", "files") != identity  # type: ignore[arg-type]
    assert known.identity("e5", "other files") != identity
    same = {"curve": Profile().curve, "min_relevance": 0.5, "similar_cosine": 0.5, "query_prefix": "asked: "}
    assert replace(known, **same).identity("e5", "files") == identity  # type: ignore[arg-type]
    assert profile_of(profile_of("ollama:all-minilm").identity("ollama:all-minilm")) is profile_of("small")
    assert Profile().identity("openai:anything") == "openai:anything"


def test_a_model_of_another_dimension_than_its_profile_says_is_told(open_memory: OpenMemory) -> None:
    embedder = open_memory(embedder=WordVectors(dim=8, name="multilingual-e5-small")).parts.embedder
    assert embedder.wait()
    with pytest.raises(ModelUnavailableError, match="gave vectors of 8 numbers instead of 384"):
        embedder.embed_one("red mug")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("names: '('", "must be a regular expression"),
        ("curve: {cosine: 1, share: 2}", "lacks bias, unknown_discount, spread"),
        ("curve: {cosine: x, share: 2, bias: 1, unknown_discount: 0, spread: 0}", "curve.cosine: 'x' must be a number"),
        ("mean: one two", "mean: 'one two' must be numbers"),
        ("dimension: 3\nlatin_mean: 1 2", "latin_mean: '1 2' must be 3 numbers"),
        ("projection: ../profile.py", "'../profile.py' must be a file in "),
        ("projection: all-MiniLM-L6-v2.yaml", "must be a file in .* that numpy wrote"),
        ("dimension: 3\nprojection: multilingual-e5-small.npy", "must be a square of 3 numbers"),
        ("pooling: max", "must be one of mean, cls"),
        ("min_relevance: 2", "min_relevance: 2 must lie in 0 to 1"),
        ("speed: 3", "speed: 3 is unknown here"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_by_name_and_value(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(text)
    with pytest.raises(InvalidFieldError, match=message) as refused:
        read_profile(file)
    assert str(file) in str(refused.value)


def test_a_query_and_a_memory_are_embedded_in_their_roles(open_memory: OpenMemory) -> None:
    model = WordVectors(dim=384, name="multilingual-e5-small-int7")
    profile = profile_of(model.name)
    memory = open_memory(embedder=model)
    memory.save_perception("the red mug is on the shelf")
    memory.flush()
    (hit,) = memory.recall("red mug", min_relevance=0.0)
    assert "passage: the red mug is on the shelf" in model.embedded
    assert "query: red mug" in model.embedded
    assert "red mug" not in model.embedded
    query = profile.comparable(model.embed_batch(["query: red mug"]), ["red mug"])[0]
    passage = profile.comparable(model.embed_batch(["passage: the red mug is on the shelf"]), ["the red mug"])[0]
    assert hit.similarity == pytest.approx(float(query @ passage), abs=0.01)
    assert memory.min_relevance == profile.min_relevance != Profile().min_relevance


def test_a_text_is_remembered_for_each_role(open_memory: OpenMemory) -> None:
    model = WordVectors(dim=384, name="multilingual-e5-small")
    embedder = open_memory(embedder=model).parts.embedder
    assert embedder.wait()
    assert embedder.embed_one("red mug") != pytest.approx(embedder.embed_query("red mug"))
    before = len(model.embedded)
    embedder.embed_one("red mug")
    embedder.embed_query("red mug")
    assert len(model.embedded) == before
