"""Let a service compute vectors: Ollama, any that speaks OpenAI's interface, or Gemini."""

from __future__ import annotations

import ipaddress
import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import numpy as np

from ..models import Vector, Vectors
from ..threads import Event, Threads, importing
from .apis import APIS, chosen_url
from .embedder import (
    QUERY_TIMEOUT,
    ModelUnavailableError,
    ServiceFailedError,
    UnusableVectorError,
    usable_vectors,
)
from .service_key import service_key

if TYPE_CHECKING:
    import httpx

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
