"""Let a service compute vectors: Ollama, any that speaks OpenAI's interface, or Gemini."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..interrupts import Threads
from ..models import Vector, Vectors
from ..package_imports import importing
from .apis import APIS, chosen_url
from .embedder import ModelUnavailableError, ServiceFailedError, UnusableVectorError, usable_vectors
from .service_key import service_key

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
QUERY_TIMEOUT = 2.0
"""Seconds for the vector of a query; words answer it sooner than a planner gives up."""
_BATCH_TIMEOUT = 30.0
"""Seconds for those of stored texts, and for the first one, before which a service may have to load the model."""
_CALLS = 8
"""Requests under way at once; the others wait within their own time."""
_LARGEST = 64_000_000
"""Bytes of a response: those of 512 vectors of 4096 components as JSON are less."""
_WRONG_TEXT = frozenset({400, 413, 422})
"""Status codes that tell that a text cannot be embedded, not that the service fails."""
_RETRY_AFTER_LIMIT = 3600.0


class HttpService:
    """A service that is sent JSON and returns JSON.

    Args:
        title: Name of it in messages.
        address: Address without the path.
        parameter: Parameter that gives the address.
        key: Its key; empty if it needs none.
        headers: Headers that carry the key.

    Raises:
        ModelUnavailableError: httpx is not installed, or the address cannot be used.
    """

    def __init__(self, title: str, address: str, parameter: str, key: str, headers: dict[str, str]) -> None:
        try:
            with importing:
                import httpx
        except ImportError as cause:
            raise ModelUnavailableError(f"httpx is not installed (pip install httpx); the {title} needs it") from cause
        self._httpx = httpx
        self._title = title
        self._address = address
        self._place = _checked_url(httpx, parameter, address, key)
        self._client = httpx.Client(headers=headers)
        # The client bounds each step of a request, and a name server not at all: only a waiter can bound the whole.
        self._threads = Threads(_CALLS, "robotmem-service")

    def request(self, path: str, body: dict[str, Any], timeout: float, read: Callable[[Any], T], *, content: str) -> T:
        """Return what `read` makes of a response; it raises LookupError, TypeError or ValueError without content.

        Raises:
            ServiceFailedError: the service failed, gave nothing usable, or took longer than `timeout` seconds.
            RefusedTextError: the service refuses a text.
        """
        try:
            posting = self._threads.submit(self._post, path, body, timeout)
        except RuntimeError as cause:  # closed
            raise self._failure(str(cause)) from cause
        try:
            return read(json.loads(posting.result(timeout)))
        except (FutureTimeoutError, self._httpx.TimeoutException) as cause:
            raise self._failure(f"no whole response within {timeout:.2g} s") from cause
        except self._httpx.HTTPError as cause:
            raise self._failure(f"{type(cause).__name__}: {cause}") from cause
        except UnusableVectorError as cause:
            raise self._failure(str(cause)) from cause
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as cause:
            raise self._failure(f"the response holds no {content}") from cause

    def close(self) -> None:
        """Close the connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _post(self, path: str, body: dict[str, Any], timeout: float) -> bytes:
        # A service that sends a byte now and then must not keep a thread.
        deadline = time.monotonic() + timeout
        content = bytearray()
        with self._client.stream("POST", f"{self._address}{path}", json=body, timeout=timeout) as response:
            if response.status_code in _WRONG_TEXT:
                raise RefusedTextError(f"{self._place} refuses the text (HTTP {response.status_code})")
            if response.status_code != self._httpx.codes.OK:
                status = f"HTTP {response.status_code} {response.reason_phrase}".strip()
                raise self._failure(status, _retry_after(response))
            for chunk in response.iter_bytes():
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

    Raises:
        ModelUnavailableError: httpx is not installed, or the address or the key cannot be used.
        ServiceFailedError: the service does not give a vector.
    """

    available = True
    batch = 64

    def __init__(self, provider: str, model: str = "", url: str = "") -> None:
        self._api = APIS[provider]
        self._model = model or self._api.model
        self.name = f"{provider}:{self._model}"
        address = chosen_url(self._api, url)
        key = service_key(self._api.key_variables)
        if self._api.needs_key and not key and address == self._api.url:
            variables = " or ".join(self._api.key_variables)
            raise ModelUnavailableError(f"embedding_model: {self.name!r} needs a key in the environment ({variables})")
        headers = self._api.headers(key) if key else {}
        self._service = HttpService(f"embedding service {self.name!r}", address, "embedding_url", key, headers)
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
            return usable_vectors(self._api.vectors(response), len(texts), self.dim or None)

        path, body = self._api.path(self._model), self._api.body(self._model, texts)
        rows = self._service.request(path, body, timeout, read, content="vectors")
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


class RefusedTextError(ModelUnavailableError):
    """A service works, but does not embed this text."""


def _checked_url(httpx: Any, parameter: str, address: str, key: str) -> str:
    """Return an address as it may be shown.

    Raises:
        ModelUnavailableError: it is no address of a server, holds a password, or would carry a key unencrypted.
    """
    try:
        url: httpx.URL = httpx.URL(address)
    except (httpx.InvalidURL, TypeError) as cause:
        raise ModelUnavailableError(f"{parameter}: {address!r} is no address: {cause}") from cause
    if url.scheme not in {"http", "https"} or not url.host:
        raise ModelUnavailableError(f"{parameter}: {address!r} must begin with http:// or https:// and name a host")
    if url.userinfo or url.query:
        raise ModelUnavailableError(f"{parameter}: must hold no user and no query; keys belong into the environment")
    if key and url.scheme == "http" and not _is_local(url.host):
        raise ModelUnavailableError(f"{parameter}: {address!r} would carry the key unencrypted; use https://")
    return str(url)


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
