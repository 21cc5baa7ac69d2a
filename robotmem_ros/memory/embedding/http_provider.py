"""Let a service compute vectors: Ollama, any that speaks OpenAI's interface, or Gemini.

An interface says where a service is, what it is sent, and what it returns. The key of a service is in the environment,
or in a file that only its owner can read.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import numpy as np

from ..models import Vector, Vectors
from ..threads import Event, Threads, importing
from .embedder import QUERY_TIMEOUT, ModelUnavailableError, ServiceFailedError, UnusableVectorError, usable_vectors

if TYPE_CHECKING:
    import httpx


_MAX_BYTES = 4096


def service_key(variables: Sequence[str]) -> str:
    """Return the key for a service from the first of some environment variables; empty if there is none.

    Raises:
        ModelUnavailableError: a file cannot be read or others may read it, or a key cannot stand in a header.
    """
    for variable in variables:
        if key := os.environ.get(variable, "").strip():
            return _check(variable, key)
        if file := os.environ.get(f"{variable}_FILE", ""):
            return _check(f"{variable}_FILE", _read(f"{variable}_FILE", Path(file).expanduser()))
    return ""


def _read(variable: str, path: Path) -> str:
    try:
        # A pipe would wait for somebody who writes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ModelUnavailableError(f"{variable}: {str(path)!r} is no file")
            mode = stat.S_IMODE(status.st_mode)
            if mode & 0o077:
                raise ModelUnavailableError(
                    f"{variable}: {str(path)!r} may be read by others (mode {mode:04o}); run chmod 600 on it"
                )
            return file.read(_MAX_BYTES + 1).strip()
    except OSError as cause:
        raise ModelUnavailableError(f"{variable}: {str(path)!r} cannot be read ({cause.strerror})") from cause
    except UnicodeDecodeError:
        problem = f"{variable}: {str(path)!r} is no text in UTF-8"
    # The exception would hold what was read.
    raise ModelUnavailableError(problem)


def _check(name: str, key: str) -> str:
    # The key itself stands in no message.
    if not key or len(key) > _MAX_BYTES or not all("!" <= character <= "~" for character in key):
        raise ModelUnavailableError(f"{name}: must hold a key of 1 to {_MAX_BYTES} printable ASCII characters")
    return key


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


T = TypeVar("T")
_BATCH_TIMEOUT = 30.0
"""Seconds for those of stored texts, and for the first one, before which a service may have to load the model."""
_CALLS = 8
"""Requests under way at once; the others wait within their own time."""
_LARGEST = 16_000_000
"""Bytes of a response: those of 64 vectors of 8192 components as JSON are less."""
_LONGEST_VECTOR = 65_536
_LOOK = 0.1
"""Seconds between two looks of one that waits whether its memory is being closed."""
_WRONG_TEXT = frozenset({400, 413, 422})
"""Status codes that tell that a text cannot be embedded, not that the service fails."""
_RETRY_AFTER_LIMIT = 3600.0
_THREADS = "robotmem-service"
_LOGGERS = (
    "httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpcore.socks",
)  # fmt: skip
"""Loggers that write down what a service sent."""


class HttpService:
    """A service that is sent JSON and returns JSON.

    Nothing that it sends stands in a message, an exception or a log: it was told the key, and may send it back.

    Args:
        title: Name of it in messages.
        address: Address without the path.
        parameter: Parameter that gives the address.
        key: Its key; empty if it needs none.
        headers: Headers that carry the key.
        closing: Is set when the memory is being closed: nothing is awaited any more.

    Raises:
        ModelUnavailableError: httpx is not installed, or the address cannot be used.
    """

    def __init__(
        self, title: str, address: str, parameter: str, key: str, headers: dict[str, str], *, closing: Event
    ) -> None:
        try:
            with importing:
                import httpx
        except ImportError as cause:
            raise ModelUnavailableError(f"httpx is not installed (pip install httpx); the {title} needs it") from cause
        self._httpx = httpx
        self._title = title
        self._address = address
        self._place = _checked_url(httpx, parameter, address, key)
        self._closing = closing
        # A compressed body can be a thousand times as large, and compressed twice a million times.
        self._client = httpx.Client(headers={**headers, "Accept-Encoding": "identity"})
        for logger in _LOGGERS:
            logging.getLogger(logger).addFilter(_is_of_others)
        # The client bounds each step of a request, and a name server not at all: only a waiter can bound the whole.
        self._threads = Threads(_CALLS, _THREADS)

    def request(self, path: str, body: dict[str, Any], timeout: float, read: Callable[[Any], T], *, content: str) -> T:
        """Return what `read` makes of a response; it raises LookupError, TypeError or ValueError without content.

        Raises:
            ServiceFailedError: the service failed, gave nothing usable, or took longer than `timeout` seconds.
            RefusedTextError: the service refuses a text.
        """
        # The failure is raised when no exception is at hand that may hold what the service sent.
        try:
            posting = self._threads.submit(self._post, path, body, timeout)
        except RuntimeError as cause:  # closed
            raise self._failure(str(cause)) from cause
        if reason := self._await(posting, timeout):
            raise self._failure(reason)
        failure: ModelUnavailableError
        try:
            return read(json.loads(posting.result()))
        except ModelUnavailableError as error:
            failure = self._failure(str(error)) if isinstance(error, UnusableVectorError) else error
        except self._httpx.TimeoutException:
            failure = self._failure(_late(timeout))
        except self._httpx.ConnectError as cause:
            # That comes from this machine, before anything was sent.
            failure = self._failure(f"ConnectError: {cause}")
        except self._httpx.HTTPError as cause:
            failure = self._failure(type(cause).__name__)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
            failure = self._failure(f"the response holds no {content}")
        raise failure

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _await(self, posting: Future[bytes], timeout: float) -> str:
        # Returns why the response is not awaited any longer; empty once it is there, or failed.
        end = time.monotonic() + timeout
        done = Event()
        posting.add_done_callback(lambda _: done.set())
        while not done.wait(min(_LOOK, max(end - time.monotonic(), 0.0))):
            if self._closing.is_set():
                return "the memory is being closed"
            if time.monotonic() >= end:
                return _late(timeout)
        return ""

    def _post(self, path: str, body: dict[str, Any], timeout: float) -> bytes:
        # A service that sends a byte now and then must not keep a thread.
        deadline = time.monotonic() + timeout
        content = bytearray()
        with self._client.stream("POST", f"{self._address}{path}", json=body, timeout=timeout) as response:
            if response.status_code in _WRONG_TEXT:
                raise RefusedTextError(f"{self._place} refuses the text (HTTP {response.status_code})")
            if response.status_code != self._httpx.codes.OK:
                raise self._failure(_status(response.status_code), _retry_after(response))
            if response.headers.get("content-encoding", "identity") != "identity":
                raise self._failure("the response is compressed, which was not asked for")
            for chunk in response.iter_raw():
                content += chunk
                if len(content) > _LARGEST:
                    raise self._failure(f"the response has more than {_LARGEST:,} bytes")
                if time.monotonic() > deadline:
                    raise self._httpx.ReadTimeout("the response goes on")
        return bytes(content)

    def _failure(self, reason: str, retry_after: float = 0.0) -> ServiceFailedError:
        return ServiceFailedError(f"the {self._title} at {self._place} failed: {reason}", retry_after)


class HttpEmbedder:
    """A model behind the HTTP interface of a provider.

    Args:
        provider: One of `APIS`.
        model: Name of the model; empty means the provider's default.
        url: Address of the service; empty means that of the environment or the provider's.
        closing: Is set when the memory is being closed.

    Raises:
        ModelUnavailableError: httpx is not installed, or the address or the key cannot be used.
        ServiceFailedError: the service does not give a vector.
    """

    available = True
    batch = 64

    def __init__(self, provider: str, model: str = "", url: str = "", closing: Event | None = None) -> None:
        self._api = APIS[provider]
        self._model = model or self._api.model
        self.name = f"{provider}:{self._model}"
        address = chosen_url(self._api, url)
        key = service_key(self._api.key_variables)
        if self._api.needs_key and not key and address == self._api.url:
            variables = " or ".join(self._api.key_variables)
            raise ModelUnavailableError(f"embedding_model: {self.name!r} needs a key in the environment ({variables})")
        headers = self._api.headers(key) if key else {}
        title = f"embedding service {self.name!r}"
        self._service = HttpService(title, address, "embedding_url", key, headers, closing=closing or Event())
        self.dim = 0
        try:
            self.dim = len(self._request(["warm up"], _BATCH_TIMEOUT)[0])
        except BaseException:
            self.close()
            raise

    def embed_one(self, text: str) -> Vector:
        """Return the vector of one text: float32, shape (dim,), unit length.

        Raises:
            ServiceFailedError: the service failed, gave no vector, or took longer than a query can wait.
            ModelUnavailableError: the service refuses the text.
        """
        vector: Vector = self._request([text], QUERY_TIMEOUT)[0]
        return vector

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, in their order: float32, shape (len(texts), dim), rows of unit length.

        Raises:
            ServiceFailedError: the service failed or gave no vectors.
            ModelUnavailableError: the service refuses a text.
        """
        return self._request(texts, _BATCH_TIMEOUT)

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def _request(self, texts: Sequence[str], timeout: float) -> Vectors:
        def read(response: Any) -> Vectors:
            return usable_vectors(_numbers(self._api.vectors(response)), len(texts), self.dim or None)

        path, body = self._api.path(self._model), self._api.body(self._model, texts)
        rows = self._service.request(path, body, timeout, read, content="vectors")
        # The squares of components as large or as small as float32 has them need more room.
        wide = rows.astype(np.float64)
        unit: Vectors = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
        return unit


class RefusedTextError(ModelUnavailableError):
    """A service works, but does not embed this text."""


def _checked_url(httpx: Any, parameter: str, address: str, key: str) -> str:
    """Return an address as it may be shown.

    Raises:
        ModelUnavailableError: it is no address of a server, holds a password, or would carry a key unencrypted.
    """
    # Before anything shows it.
    if "@" in address or "?" in address or (key and key in unquote(address)):
        raise ModelUnavailableError(
            f"{parameter}: must hold no user and no query, nor the key; keys belong into the environment"
        )
    try:
        url: httpx.URL = httpx.URL(address)
    except (httpx.InvalidURL, TypeError) as cause:
        raise ModelUnavailableError(f"{parameter}: {address!r} is no address: {cause}") from cause
    if url.scheme not in {"http", "https"} or not url.host:
        raise ModelUnavailableError(f"{parameter}: {address!r} must begin with http:// or https:// and name a host")
    if key and url.scheme == "http" and not _is_local(url.host):
        raise ModelUnavailableError(f"{parameter}: {address!r} would carry the key unencrypted; use https://")
    return str(url)


def _numbers(vectors: Any) -> list[list[float]]:
    # numpy reads "1.5" and true as numbers.
    for vector in vectors:
        if not isinstance(vector, list) or not all(type(component) in (int, float) for component in vector):
            raise UnusableVectorError("a vector that is no list of numbers")
        if len(vector) > _LONGEST_VECTOR:
            raise UnusableVectorError(f"a vector of more than {_LONGEST_VECTOR:,} components")
    return list(vectors)


def _status(code: int) -> str:
    # By our own words: those of the service may hold the key.
    try:
        return f"HTTP {code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"


def _late(timeout: float) -> str:
    return f"no whole response within {timeout:.2g} s"


def _is_of_others(record: logging.LogRecord) -> bool:
    return not (record.threadName or "").startswith(_THREADS)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _retry_after(response: httpx.Response) -> float:
    # A date is left to the cooldown, whose clock is no calendar.
    try:
        return min(max(float(response.headers.get("retry-after", 0)), 0.0), _RETRY_AFTER_LIMIT)
    except ValueError:
        return 0.0
