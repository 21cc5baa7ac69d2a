"""Describe the HTTP interfaces of embedding services: where they are, what they are sent, and what they return."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
"""Response of a service, unchecked."""


@dataclass(frozen=True)
class Api:
    """The HTTP interface of a provider."""

    url: str
    """Address without the path, if nothing names another one."""
    url_variable: str
    """Environment variable that may name another one."""
    key_variables: tuple[str, ...]
    """Environment variables that may hold the key; with `_FILE` behind the name, the path of a file that does."""
    needs_key: bool
    """Whether the provider's own address takes no request without a key."""
    model: str
    """Model, if nothing names another one."""
    path: Callable[[str], str]
    """Path of a request for vectors of a model."""
    headers: Callable[[str], dict[str, str]]
    """Headers that carry a key."""
    body: Callable[[str, Sequence[str]], dict[str, Any]]
    """Body of a request for the vectors of texts by a model."""
    vectors: Callable[[Json], Sequence[Sequence[float]]]
    """Vectors in a response, in the order of the texts; raises LookupError or TypeError if it holds none."""


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _openai_vectors(response: Json) -> Sequence[Sequence[float]]:
    return [item["embedding"] for item in sorted(response["data"], key=lambda item: item["index"])]


def _gemini_body(model: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"requests": [{"model": f"models/{model}", "content": {"parts": [{"text": text}]}} for text in texts]}


APIS = {
    "ollama": Api(
        url="http://127.0.0.1:11434",
        url_variable="OLLAMA_HOST",
        key_variables=("OLLAMA_API_KEY",),
        needs_key=False,
        model="nomic-embed-text",
        path=lambda model: "/api/embed",
        headers=_bearer,
        body=lambda model, texts: {"model": model, "input": [*texts]},
        vectors=lambda response: response["embeddings"],
    ),
    "openai": Api(
        url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        key_variables=("OPENAI_API_KEY",),
        needs_key=True,
        model="text-embedding-3-small",
        path=lambda model: "/embeddings",
        headers=_bearer,
        body=lambda model, texts: {"model": model, "input": [*texts], "encoding_format": "float"},
        vectors=_openai_vectors,
    ),
    "gemini": Api(
        url="https://generativelanguage.googleapis.com/v1beta",
        url_variable="GEMINI_BASE_URL",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        needs_key=True,
        model="gemini-embedding-001",
        path=lambda model: f"/models/{model}:batchEmbedContents",
        headers=lambda key: {"x-goog-api-key": key},
        body=_gemini_body,
        vectors=lambda response: [item["values"] for item in response["embeddings"]],
    ),
}
"""The interface of each provider of the parameter `embedding_model` that is a service."""


def chosen_url(api: Api, url: str) -> str:
    """Return the address of a service: the given one, that of the environment, or its own; without a slash behind."""
    address = (url or os.environ.get(api.url_variable) or api.url).strip()
    if "://" not in address:  # OLLAMA_HOST is often a host and a port alone
        address = f"http://{address}"
    return address.rstrip("/")
