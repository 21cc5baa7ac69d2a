"""Choose the embedding provider by the parameters: the first of a chain that answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..config.parameters import Parameters
from ..threads import Event
from .embedder import Embedder, ModelUnavailableError
from .fastembed_provider import FastEmbedEmbedder, find_folder
from .http_provider import APIS, HttpEmbedder
from .profile import name_of, own_profile, without_profile

AUTO, NONE = "auto", "none"


class Choice(NamedTuple):
    """A provider and a model of it."""

    provider: str
    """`fastembed`, or one of `APIS`."""
    model: str
    """Model as the parameter names it; empty means the default of a service."""
    url: str = ""

    @property
    def name(self) -> str:
        """Return the name of the model, as the database keeps it beside its vectors."""
        if self.provider == "fastembed":
            model = without_profile(self.model)
            folder = find_folder(model)
            if folder is None:
                return self.model
            return folder.name if model == self.model else Path(self.model).name
        return f"{self.provider}:{self.model or APIS[self.provider].model}"

    def load(self, threads: int, closing: Event) -> Embedder:
        """Return the provider, ready to embed; once `closing` is set, no service is awaited any more.

        Raises:
            ModelUnavailableError: it cannot be used now.
        """
        file, model = own_profile(self.model), without_profile(self.model)
        if file is not None and not file.is_file():
            raise ModelUnavailableError(f"embedding_model: {self.model!r} names the profile {file}, which is missing")
        embedder: FastEmbedEmbedder | HttpEmbedder
        if self.provider == "fastembed":
            embedder = FastEmbedEmbedder(model, threads)
        else:
            embedder = HttpEmbedder(self.provider, model, self.url, closing)
        if file is not None:
            embedder.name = self.name
        return embedder


def choices(parameters: Parameters) -> tuple[Choice, ...]:
    """Return what the parameters `embedding_model` and `embedding_url` name, in the order in which it is tried."""
    return tuple(_choices(parameters.embedding_model, parameters.embedding_url))


def _choices(models: str, url: str) -> Iterator[Choice]:
    default = Parameters().embedding_model
    for entry in (name for name in map(str.strip, models.split(",")) if name not in {"", NONE}):
        for model in (default, *APIS) if entry == AUTO else (entry,):
            provider, _, name = model.partition(":")
            if provider not in APIS:
                yield Choice("fastembed", default if model == "fastembed" else model.removeprefix("fastembed:"))
            else:
                yield Choice(provider, name, url)
                url = ""  # of the first service alone


def load_first(
    chain: tuple[Choice, ...], threads: int, stored_name: str | None, closing: Event, asks_service: Event
) -> Embedder:
    """Return the first provider of a chain that can be used; `asks_service` is set while that is a service's turn.

    If the database has vectors of one of these models, only this one is tried: others could not be compared with them,
    and a service that is away for an hour must not make all vectors be computed again, twice.

    Raises:
        ModelUnavailableError: none can be used; the message says why not, for each.
    """
    stored = stored_name and name_of(stored_name)
    candidates = [choice for choice in chain if choice.name == stored] or chain
    reasons: list[ModelUnavailableError] = []
    for choice in candidates:
        if choice.provider in APIS:
            asks_service.set()
        else:
            asks_service.clear()
        if closing.is_set():
            raise ModelUnavailableError("the memory is being closed")
        try:
            return choice.load(threads, closing)
        except ModelUnavailableError as error:
            reasons.append(error)
    if len(reasons) == 1:
        raise reasons[0]
    raise ModelUnavailableError("; ".join(map(str, reasons)))
