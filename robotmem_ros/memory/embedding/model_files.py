"""Find the files of a model on this machine and check that they are whole."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidFieldError
from ..validation import expanded_path
from .embedder import ModelUnavailableError

MODEL_VARIABLE = "ROBOTMEM_MODEL"
"""Environment variable with the folder of the default model, where it is not in the models folder."""
MODELS_FOLDER = Path("~/.robotmem/models")
_SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class ModelFiles:
    """A model in a folder: its ONNX file (path within the folder), vector length and pooling."""

    folder: Path
    onnx: str
    dim: int
    cls_pooling: bool


def find_folder(model: str) -> Path | None:
    """Return the folder of a model given as a path or a name; None if it is not on this machine.

    Raises:
        ModelUnavailableError: it lies in a home folder that is not known.
    """
    if os.sep in model or model.startswith("~"):
        folder = _expanded(model)
        return folder if folder.is_dir() else None
    chosen = os.environ.get(MODEL_VARIABLE)
    candidates = [_expanded(chosen)] if chosen and Path(chosen).name == model else []
    candidates.append(_expanded(MODELS_FOLDER / model))
    return next((folder for folder in candidates if folder.is_dir()), None)


def _expanded(path: Path | str) -> Path:
    try:
        return expanded_path("embedding_model", path)
    except InvalidFieldError as error:
        raise ModelUnavailableError(str(error)) from error


def inspect(folder: Path) -> ModelFiles:
    """Read what a model folder holds, after its checksums were verified.

    Raises:
        ModelUnavailableError: a file is missing or damaged.
    """
    _verify(folder)
    onnx = next((file for name in ("*.onnx", "onnx/*.onnx") for file in sorted(folder.glob(name))), None)
    if onnx is None:
        raise ModelUnavailableError(f"embedding_model: no .onnx file in {str(folder)!r}")
    try:
        dim = int(json.loads((folder / "config.json").read_text())["hidden_size"])
        pooling_file = folder / "1_Pooling" / "config.json"
        pooling = json.loads(pooling_file.read_text()) if pooling_file.exists() else {}
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise ModelUnavailableError(
            f"embedding_model: config.json in {str(folder)!r} cannot be used: {cause}"
        ) from cause
    return ModelFiles(folder, str(onnx.relative_to(folder)), dim, bool(pooling.get("pooling_mode_cls_token", False)))


def _verify(folder: Path) -> None:
    sums = folder / _SUMS
    if not sums.exists():
        return
    for line in sums.read_text().splitlines():
        wanted, _, name = line.partition("  ")
        file = folder / name
        if not file.is_file():
            raise ModelUnavailableError(f"embedding_model: {str(file)!r} is missing; fetch the model again")
        if hashlib.sha256(file.read_bytes()).hexdigest() != wanted:
            raise ModelUnavailableError(f"embedding_model: {str(file)!r} is damaged; fetch the model again")
