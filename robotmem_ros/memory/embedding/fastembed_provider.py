"""Find the files of a sentence embedding model, check that they are whole, and run it on the CPU."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import Vector, Vectors
from ..threads import importing
from ..validation import expanded_path
from .embedder import ModelUnavailableError
from .folder_model import PIECES, FolderModel, Tokens
from .profile import profile_of, profiles

_BATCH = 16
_SAMPLES = ("a red mug", "the glass slipped at 12.5 N, and the gripper had to be cleaned")
_ALIKE = 1e-4
MODEL_VARIABLE = "ROBOTMEM_MODEL"
"""Environment variable with the folder of the default model, where it is not in the models folder."""
MODELS_FOLDER = Path("~/.robotmem/models")
INSTALL = "fastembed numkong onnx sentencepiece"
"""What to install by pip, so that models can be fetched and run."""
_SUMS = "SHA256SUMS"
_PIECE = 1 << 20
_LOG = logging.getLogger(__name__)


class FastEmbedEmbedder:
    """A model from a folder, or one that FastEmbed fetches from its hub, on one thread or more.

    Raises:
        ModelUnavailableError: a package is not installed, the model is unknown, or its files are damaged.
    """

    available = True
    batch = 8
    """Texts after which a query may go first: 15 ms with the default model. Fewer at once take 3 % longer."""

    def __init__(self, model: str, threads: int = 1) -> None:
        folder = find_folder(model)
        self.name = folder.name if folder else model
        try:
            files = inspect(folder) if folder else None
            self.files_digest = files.digest if files else ""
            self._model = _load(files, model, threads)
            self._batch = _BATCH if self._keeps_texts_apart() else 1
            self.dim = len(self.embed_one("warm up"))
            is_folder = isinstance(self._model, FolderModel)
            self._tokens = self._model.tokens if is_folder else Tokens(self._model.model.tokenizer)
            self.max_tokens = self._tokens.max_tokens
        except ModelUnavailableError:
            raise
        except ImportError as cause:
            raise ModelUnavailableError(_import_failure(cause)) from cause
        except Exception as cause:  # FastEmbed and onnxruntime raise what they like: any of it means no model.
            raise ModelUnavailableError(f"embedding_model: {model!r} cannot be loaded: {cause}") from cause

    def embed_one(self, text: str) -> Vector:
        """Return the vector of one text: float32, shape (dim,), unit length."""
        vector: Vector = self.embed_batch([text])[0]
        return vector

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, in their order: float32, shape (len(texts), dim), rows of unit length."""
        # Texts of like length together: in a batch, all are filled up to the longest.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = list(self._model.embed([texts[index] for index in order], self._batch))
        rows = np.empty((len(texts), len(vectors[0]) if vectors else 0), np.float32)
        rows[order] = np.asarray(vectors, np.float32).reshape(rows.shape)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return unit

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, those at its ends included."""
        return self._tokens.count(text)

    def _keeps_texts_apart(self) -> bool:
        # A model that rounds to 8 bits as it goes rounds all texts of a batch alike, so that a text would have another
        # vector beside other texts.
        alone, together = (list(self._model.embed(texts, len(texts))) for texts in (_SAMPLES[:1], _SAMPLES))
        return bool(np.allclose(alone[0], together[0], atol=_ALIKE))

    def close(self) -> None:
        """Release the model."""
        del self._model, self._tokens


@dataclass(frozen=True)
class ModelFiles:
    """A model in a folder: its ONNX file (path within the folder), vector length and pooling."""

    folder: Path
    onnx: str
    dim: int
    cls_pooling: bool
    digest: str
    """Digest of all files that tell what the vectors are."""


def find_folder(model: str) -> Path | None:
    """Return the folder of a model given as a path or a name; None if it is not on this machine.

    Raises:
        ModelUnavailableError: it lies in a home folder that is not known, or the environment variable names no folder.
    """
    if os.sep in model or model.startswith("~"):
        folder = _expanded(model)
        return folder if folder.is_dir() else None
    location = os.environ.get(MODEL_VARIABLE)
    if location and model in {Path(location).name, Parameters().embedding_model}:
        folder = _expanded(location)
        if not folder.is_dir():
            fix = "name the folder of the model, which `robotmem model fetch` fetches, or unset the variable"
            raise ModelUnavailableError(f"{MODEL_VARIABLE}: {location!r} is no folder; {fix}")
        return folder
    fetched = (profile for profile in profiles() if profile.folder and model in {profile.name, profile.alias})
    names = (model, *(profile.folder for profile in fetched))
    return next((folder for name in names if (folder := _expanded(MODELS_FOLDER / name)).is_dir()), None)


def inspect(folder: Path) -> ModelFiles:
    """Read what a model folder holds, after its checksums were verified; log which files of the model have none.

    Raises:
        ModelUnavailableError: a file is missing or damaged.
    """
    verified = _verified(folder)
    onnx = next((file for name in ("*.onnx", "onnx/*.onnx") for file in sorted(folder.glob(name))), None)
    if onnx is None:
        raise ModelUnavailableError(f"embedding_model: no .onnx file in {str(folder)!r}")
    try:
        dim = int(json.loads((folder / "config.json").read_text())["hidden_size"])
        pooling_file = folder / "1_Pooling" / "config.json"
        by_name = {"pooling_mode_cls_token": profile_of(folder.name).pooling == "cls"}
        pooling = json.loads(pooling_file.read_text()) if pooling_file.exists() else by_name
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise ModelUnavailableError(
            f"embedding_model: config.json in {str(folder)!r} cannot be used: {cause}"
        ) from cause
    patterns = (f"{onnx.relative_to(folder)}*", PIECES, "*.json", "1_Pooling/*.json")
    files = {str(file.relative_to(folder)): file for pattern in patterns for file in folder.glob(pattern)}
    sums = {name: verified.get(file) or sha256_of(file) for name, file in sorted(files.items())}
    if unverified := ", ".join(name for name in sums if files[name] not in verified):
        fix = f"`sha256sum $(find . -name '*.*' -type f) > {_SUMS}` in the folder lists them"
        _LOG.info("embedding_model: damage of %s in %r goes unseen without checksums; %s", unverified, str(folder), fix)
    digest = hashlib.sha256(json.dumps(sums).encode()).hexdigest()
    is_cls = bool(pooling.get("pooling_mode_cls_token", False))
    return ModelFiles(folder, str(onnx.relative_to(folder)), dim, is_cls, digest)


def _load(files: ModelFiles | None, model: str, threads: int) -> Any:
    if files is not None:
        return FolderModel(files.folder, files.onnx, cls_pooling=files.cls_pooling, threads=threads)
    with importing:
        import fastembed
    descriptions = fastembed.TextEmbedding.list_supported_models()
    if not any(model.lower() == description["model"].lower() for description in descriptions):
        raise ModelUnavailableError(
            f"embedding_model: {model!r} is neither a folder, nor one in ~/.robotmem/models, nor known to FastEmbed; "
            "`robotmem model list` shows those that `robotmem model fetch` fetches"
        )
    return fastembed.TextEmbedding(model, threads=threads)


def _expanded(path: Path | str) -> Path:
    try:
        return expanded_path("embedding_model", path)
    except InvalidFieldError as error:
        raise ModelUnavailableError(str(error)) from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _verified(folder: Path) -> dict[Path, str]:
    """Compare the files that SHA256SUMS lists, if there is such a file, with their checksums; return both."""
    sums = folder / _SUMS
    verified = dict[Path, str]()
    for line in sums.read_text().splitlines() if sums.exists() else ():
        checksum, _, name = line.partition(" ")
        file = folder / name[1:]  # behind the sign for text or binary
        if not file.is_file():
            raise ModelUnavailableError(f"embedding_model: {str(file)!r} is missing; fetch the model again")
        if sha256_of(file) != checksum:
            raise ModelUnavailableError(f"embedding_model: {str(file)!r} is damaged; fetch the model again")
        verified[file] = checksum
    return verified


def _import_failure(cause: ImportError) -> str:
    if not isinstance(cause, ModuleNotFoundError) or cause.name is None:
        return f"the embedding model cannot be loaded: {cause}"
    # FastEmbed brings the others along.
    return f"{cause.name.partition('.')[0]} is not installed (pip install {INSTALL})"
