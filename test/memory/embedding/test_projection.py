"""A projection brings the vectors of a model nearer to those of a teacher."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder, find_folder
from robotmem_ros.memory.embedding.profile import profile_of, unit

ROOT = Path(__file__).resolve().parents[3]
DATA = """\
  1 This software and database is being provided to you
03797390 06 n 02 mug 0 coffee_cup 0 001 @ 04531098 n 0000 | with handle and usually cylindrical; "he has a red mug"
00001740 00 a 01 able(p) 0 000 | having the necessary means
"""


@pytest.fixture(scope="module")
def script() -> Any:
    """Load the script."""
    spec = importlib.util.spec_from_file_location("fit_projection", ROOT / "scripts" / "fit_projection.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_product_is_half_that_of_the_model_and_half_that_of_its_teacher(script: Any) -> None:
    rng = np.random.default_rng(1)
    vectors = unit(rng.normal(size=(4000, 8)).astype(np.float32))
    taught = unit(vectors * np.array([1, 1, 0, 0, 0, 0, 0, 0], np.float32))
    projection = script.fit(vectors, taught)
    lengths = np.square(np.linalg.norm(projection, axis=1))  # of what the axes become: 1/2 + 8/2 * share of the axis
    assert lengths == pytest.approx([2.5, 2.5, *[0.5] * 6], rel=0.05)


def test_the_texts_are_definitions_examples_and_words(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text(DATA if part == "noun" else "")
    monkeypatch.setattr(script, "_KINDS", {"definition": 2, "example": 1, "word": 3})
    assert set(script.read_texts(tmp_path)) == {
        "with handle and usually cylindrical", "having the necessary means", "he has a red mug",
        "mug", "coffee cup", "able",
    }  # fmt: skip


def test_the_default_model_finds_a_thing_by_another_word_for_it() -> None:
    folder = find_folder(profile_of("multilingual-e5-small").folder)
    if folder is None:
        pytest.skip("`robotmem model fetch multilingual-e5-small` fetches it")
    profile, model = profile_of(folder.name), FastEmbedEmbedder(str(folder))
    things = {
        "a red mug on the kitchen counter": "coffee cup",
        "a pair of scissors in the drawer": "shears",
        "a backpack in the hallway": "rucksack",
        "a chair at the table": "seat",
    }
    others = ["a book on the sofa", "a laptop on the desk", "a bowl on the shelf", "a remote control on the sofa"]
    told, asked = [*things, *others], [*things.values()]
    passages = profile.comparable(model.embed_batch([profile.passage_prefix + text for text in told]), told)
    queries = profile.comparable(model.embed_batch([profile.query_prefix + text for text in asked]), asked)
    assert (queries @ passages.T).argmax(axis=1).tolist() == [*range(len(things))]
