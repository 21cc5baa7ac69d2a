"""Services that send the key back, bodies without an end, what is no vector, or nothing at all."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding import ModelUnavailableError
from robotmem_ros.memory.embedding.embedder import ServiceFailedError
from robotmem_ros.memory.embedding.http_provider import HttpEmbedder

from ...support.embedding_service import EmbeddingService, embedding_service

KEY = "sk-" + "s3cr3t/" * 4 + "key"
HALF = KEY[: len(KEY) // 2]
FORMS = (KEY, HALF, quote(KEY), quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()[:20])
"""How a message may show the key."""
DEADLINE = 60.0
"""Seconds for what takes two at most, on a machine that is busy."""


def http(body: str | bytes = "", *, status: str = "200 OK", **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def vectors(*components: object) -> str:
    return json.dumps({"data": [{"index": 0, "embedding": components}]})


ECHOES = {
    "reason": http(status=f"401 Bad key {KEY}"),
    "half of it": http(status=f"500 {HALF} {KEY[len(HALF) :]}"),
    "quoted": http(status=f"403 {quote(KEY, safe='')}"),
    "body": http(json.dumps({"error": KEY}), status="401 Unauthorized"),
    "header": http(status="401 Unauthorized", X_Key=KEY, Set_Cookie=quote(KEY)),
    "place": http(status="302 Found", Location=f"http://127.0.0.1:1/{KEY}"),
    "no status": http(status=f"9{KEY}"),
    "no HTTP": f"{KEY}\r\n\r\n".encode(),
    "no header": f"HTTP/1.1 200 OK\r\n{KEY}\r\n\r\n".encode(),
    "no JSON": http(f"[{KEY}"),
    "texts": http(vectors(KEY, KEY)),
    "an index": http(json.dumps({"data": [{"index": KEY, "embedding": [1]}, {"index": 0, "embedding": [1]}]})),
    "a name": http(json.dumps({KEY: []})),
    "no length": f"HTTP/1.1 200 OK\r\nContent-Length: {KEY}\r\n\r\n".encode(),
    "encoding": http(b"x", Content_Encoding=KEY),
    "retry": http(status="429 Slow", Retry_After=KEY),
    "refusal": http(KEY, status=f"400 {KEY}"),
}


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    with embedding_service() as server:
        yield server


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def told_by(error: BaseException | None) -> str:
    """Return all that an exception, and those before it, hold."""
    seen: list[str] = []
    while error is not None:
        seen += [repr(error), str(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


def in_time(work: Callable[[], Any]) -> Any:
    """Return the result of a call that must come before the deadline."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert results, "it waits"
    return results[0]


@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_is_sent_back_stands_in_no_exception_and_no_log(
    echo: str, service: EmbeddingService, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = HttpEmbedder("openai", url=service.url)
    caplog.set_level(logging.DEBUG)
    service.raw = ECHOES[echo]
    with pytest.raises(ModelUnavailableError) as failure:
        embedder.embed_one("red mug")
    embedder.close()
    text = told_by(failure.value) + caplog.text + "".join(map(repr, caplog.records))
    assert [form for form in FORMS if form in text] == []
    assert service.requests[-1][1]["Authorization"].endswith(KEY)


@pytest.mark.parametrize("echo", ["reason", "texts"])
def test_a_key_that_is_sent_back_stands_in_no_status_and_no_reason(
    echo: str, service: EmbeddingService, tmp_path: Path
) -> None:
    service.raw = ECHOES[echo]
    with RobotMemory(tmp_path / "memory.db", embedding_model="openai:hostile", embedding_url=service.url) as memory:
        memory.save_perception("a red mug")
        memory.flush()
        text = f"{memory.recall('red mug').reason} {memory.status()} {memory.doctor()}"
    assert "failed" in text
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir()).decode("latin-1")
    assert [form for form in FORMS if form in text + files] == []


@pytest.mark.parametrize("address", ["http://127.0.0.1/{}", "http://127.0.0.1:{}", "http://{}@host", "http://host?{}"])
@pytest.mark.parametrize("form", [KEY, quote(KEY, safe="")])
def test_an_address_with_the_key_is_refused_without_it(address: str, form: str) -> None:
    with pytest.raises(ModelUnavailableError, match="nor the key; keys belong into the environment") as refusal:
        HttpEmbedder("openai", url=address.format(form))
    assert [form for form in FORMS if form in told_by(refusal.value)] == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_compressed_body_is_refused_unread(times: int, service: EmbeddingService) -> None:
    embedder = HttpEmbedder("openai", url=service.url)
    assert service.requests[-1][1]["Accept-Encoding"] == "identity"
    body = vectors(*[1.0] * 16).encode()
    for _ in range(times):
        body = gzip.compress(body)
    service.raw = http(body, Content_Encoding=", ".join(["gzip"] * times))
    with pytest.raises(ServiceFailedError, match="the response is compressed, which was not asked for"):
        embedder.embed_one("red mug")
    embedder.close()


def test_a_body_without_an_end_is_cut(service: EmbeddingService) -> None:
    embedder = HttpEmbedder("openai", url=service.url)
    service.raw = b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 17_000_000
    with pytest.raises(ServiceFailedError, match=r"more than 16,000,000 bytes|no whole response"):
        embedder.embed_one("red mug")
    embedder.close()


@pytest.mark.parametrize(
    "component", ["1.5", "a", True, False, None, [1.0], {"a": 1}, float("nan"), float("inf"), 1e308, 10**400]
)
def test_what_is_no_number_makes_no_vector(component: object, service: EmbeddingService) -> None:
    embedder = HttpEmbedder("openai", url=service.url)
    content = vectors(component, *[1.0] * 15)
    service.raw = http(content)
    with pytest.raises(ServiceFailedError, match=r"no list of numbers|no finite number|no vectors"):
        embedder.embed_one("red mug")
    embedder.close()


@pytest.mark.parametrize("size", [3e38, 1.0, 1e-30])
def test_a_vector_of_any_size_is_made_one_of_unit_length(size: float, service: EmbeddingService) -> None:
    embedder = HttpEmbedder("openai", url=service.url)
    service.raw = http(vectors(*[size] * 16))
    assert np.allclose(embedder.embed_one("red mug"), 0.25)
    embedder.close()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a service that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_no_recall_and_no_close_waits_for_a_service_that_is_silent(silent: str, tmp_path: Path) -> None:
    memory = RobotMemory(tmp_path / "memory.db", embedding_model="openai:hostile", embedding_url=silent)
    memory.save_perception("a red mug")
    result = in_time(lambda: memory.recall("red mug"))
    assert (len(result), result.reason) == (1, "the embedding model is being loaded")
    in_time(memory.close)


def test_closing_does_not_wait_for_vectors_of_stored_texts(service: EmbeddingService, tmp_path: Path) -> None:
    memory = RobotMemory(tmp_path / "memory.db", embedding_model="openai:hostile", embedding_url=service.url)
    memory.wait_for_model()
    service.failure = "drips"
    asked = len(service.requests)
    memory.save_perception("a red mug")
    until = threading.Event()
    while len(service.requests) == asked:
        until.wait(0.02)
    in_time(memory.close)


def test_a_pipe_is_no_file_with_a_key(
    service: EmbeddingService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "key"))

    def refusal() -> str:
        with pytest.raises(ModelUnavailableError) as error:
            HttpEmbedder("openai", url=service.url)
        return str(error.value)

    assert in_time(refusal).endswith("key' is no file")


def test_a_key_that_is_no_text_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_bytes(KEY.encode() + b"\xff")
    (tmp_path / "key").chmod(0o600)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(ModelUnavailableError, match="is no text in UTF-8") as refusal:
        HttpEmbedder("openai", url="http://127.0.0.1:1")
    assert HALF not in told_by(refusal.value)
