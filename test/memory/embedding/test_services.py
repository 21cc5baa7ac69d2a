"""Models behind HTTP interfaces, by a real server: what they are sent, and how each of their failures is met."""

from __future__ import annotations

import logging
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory import Mode
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding import ModelUnavailableError
from robotmem_ros.memory.embedding.cooldown import Cooldown
from robotmem_ros.memory.embedding.embedder import BackgroundEmbedder, ServiceFailedError
from robotmem_ros.memory.embedding.fastembed_provider import find_folder
from robotmem_ros.memory.embedding.http_provider import HttpEmbedder, RefusedTextError
from robotmem_ros.memory.embedding.providers import choices, load_first
from robotmem_ros.memory.threads import Event

from ...support.embedding_service import DIM, EmbeddingService, embedding_service
from ...support.waiting import until
from ..conftest import OpenMemory

DEFAULT = Path(find_folder(Parameters().embedding_model) or "").name

PROVIDERS = ("ollama", "openai", "gemini")
FAILURES = {
    "slow": "no whole response within 2 s",
    "drips": "no whole response within 2 s",
    "drips headers": "no whole response within 2 s",
    "cut": "RemoteProtocolError",
    "garbage": "the response holds no vectors",
    "nested": "the response holds no vectors",
    "nan": "a vector with a component that is no finite number",
    "null": "no list of numbers",
    "short": "an array of shape",
    "few": "an array of shape",
    "zero": "a vector of zeros",
    "429": "HTTP 429 Too Many Requests",
    "500": "HTTP 500 Internal Server Error",
    "401": "HTTP 401 Unauthorized",
    "moved": "HTTP 302 Found",
}
HEADERS = {"openai": "Authorization", "gemini": "x-goog-api-key"}
VARIABLES = ("OLLAMA_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the keys and addresses of this machine out of the environment."""
    for name in (*VARIABLES, "OLLAMA_HOST", "OPENAI_BASE_URL", "GEMINI_BASE_URL", "ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    """Run a service."""
    with embedding_service() as server:
        yield server


@pytest.mark.parametrize("provider", PROVIDERS)
def test_vectors_arrive_in_the_order_of_the_texts(provider: str, service: EmbeddingService) -> None:
    embedder = HttpEmbedder(provider, "some-model", service.url)
    texts = ["red mug", "blue cup", "green box"]
    vectors = embedder.embed_batch(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, service.words.embed_batch(texts), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_one("blue cup"), vectors[1], atol=1e-6)
    assert (embedder.name, embedder.dim) == (f"{provider}:some-model", DIM)
    assert all("some-model" in f"{path} {body}" for path, _, body in service.requests)
    embedder.close()


@pytest.mark.parametrize("provider", HEADERS)
def test_a_key_goes_from_the_environment_into_the_header_alone(
    provider: str, service: EmbeddingService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-secret")
    HttpEmbedder(provider, url=service.url).close()
    ((_, headers, _),) = service.requests
    assert headers[HEADERS[provider]].endswith("sk-secret")
    service.failure = "401"  # which returns the key in its body
    with pytest.raises(ServiceFailedError) as failure:
        HttpEmbedder(provider, url=service.url)
    assert "sk-secret" not in f"{failure.value} {caplog.text}"


@pytest.mark.parametrize("provider", HEADERS)
def test_a_key_comes_from_a_file_that_only_its_owner_can_read(
    provider: str, service: EmbeddingService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"{provider.upper()}_API_KEY_FILE"
    file = tmp_path / "key"
    file.write_text("sk-secret\n")
    file.chmod(0o600)
    monkeypatch.setenv(variable, str(file))
    HttpEmbedder(provider, url=service.url).close()
    ((_, headers, _),) = service.requests
    assert headers[HEADERS[provider]].endswith("sk-secret")
    file.chmod(0o644)
    with pytest.raises(ModelUnavailableError, match=f"{variable}: .* may be read by others .mode 0644.") as exposed:
        HttpEmbedder(provider, url=service.url)
    assert "sk-secret" not in str(exposed.value)


@pytest.mark.parametrize("key", ["two words", "tab\tbed", "é", "k" * 5000])
def test_what_cannot_be_a_key_is_refused_by_the_name_of_its_variable(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelUnavailableError, match="OPENAI_API_KEY: must hold a key of 1 to 4096") as refusal:
        HttpEmbedder("openai", url="http://127.0.0.1:1")
    assert key not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://host", "must begin with http:// or https://"),
        ("http://", "must begin with http:// or https:// and name a host"),
        ("http://user:word@host", "must hold no user and no query"),
        ("http://host/?key=word", "must hold no user and no query"),
        ("http://host:port", "is no address"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str, reason: str) -> None:
    with pytest.raises(ModelUnavailableError, match=reason) as refusal:
        HttpEmbedder("ollama", url=url)
    assert "word" not in str(refusal.value)


def test_a_key_is_not_sent_unencrypted_to_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with pytest.raises(ModelUnavailableError, match="would carry the key unencrypted; use https://"):
        HttpEmbedder("openai", url="http://192.0.2.1/v1")


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_provider_that_takes_no_request_without_a_key_is_not_asked(provider: str) -> None:
    with pytest.raises(ModelUnavailableError, match=f"needs a key in the environment .*{provider.upper()}_API_KEY"):
        HttpEmbedder(provider)


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_is_one_error_with_its_reason(failure: str, service: EmbeddingService) -> None:
    embedder = HttpEmbedder("ollama", url=service.url)
    service.failure = failure
    with pytest.raises(ServiceFailedError, match=FAILURES[failure]) as error:
        embedder.embed_one("red mug")
    assert str(error.value).startswith(f"the embedding service 'ollama:nomic-embed-text' at {service.url} failed: ")
    assert error.value.retry_after == (90.0 if failure == "429" else 0.0)
    service.failure = ""
    assert embedder.embed_one("red mug").shape == (DIM,)
    embedder.close()


@pytest.mark.parametrize("status", ["400", "413", "422"])
def test_a_text_that_a_service_refuses_is_no_failure_of_the_service(status: str, service: EmbeddingService) -> None:
    embedder = HttpEmbedder("ollama", url=service.url)
    service.failure = status
    with pytest.raises(RefusedTextError, match=f"refuses the text .HTTP {status}."):
        embedder.embed_one("red mug")
    embedder.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with embedding_service(context) as server, pytest.raises(ServiceFailedError, match="CERTIFICATE_VERIFY_FAILED"):
        HttpEmbedder("ollama", url=server.url)


def test_pauses_grow_to_five_minutes_and_a_success_resets_them() -> None:
    now = 1000.0
    cooldown = Cooldown(clock=lambda: now)
    pauses = []
    for _ in range(6):
        cooldown.fail("no route")
        cooldown.fail("no route")  # of a call that ran beside the first
        pauses.append(cooldown.seconds_left)
        now += cooldown.seconds_left
    assert pauses == [60.0, 120.0, 240.0, 300.0, 300.0, 300.0]
    assert (cooldown.seconds_left, cooldown.reason) == (0.0, "")
    cooldown.succeed()
    cooldown.fail("busy", minimum=90.0)
    assert cooldown.reason == "busy; the next attempt is in 90 s"


def test_recalls_ask_a_service_that_failed_no_more_and_words_answer_at_once(
    service: EmbeddingService, open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "memory.db", embedding_model="ollama", embedding_url=service.url, embedder=None)
    for text in ("a red mug", "a blue cup"):
        memory.save_perception(text)
    memory.flush()
    status = memory.status()
    assert (status.mode, status.embedding_model, status.vectors) == (Mode.HYBRID, "ollama:nomic-embed-text", 2)
    assert memory.recall("red mug").mode is Mode.HYBRID
    service.failure = "slow"
    asked = len(service.requests)
    results = [memory.recall(f"red mug number {number}") for number in range(5)]
    assert len(service.requests) == asked + 1
    assert all(result.mode is Mode.BM25_ONLY and len(result) for result in results)
    assert all("at http://127.0.0.1" in result.reason for result in results)
    status = memory.status()
    assert (status.mode, status.embedding_model) == (Mode.BM25_ONLY, "")
    assert "no whole response within 2 s" in status.reason
    assert "; the next attempt is in " in status.reason


def test_what_is_saved_during_a_pause_gets_its_vector_after_it(service: EmbeddingService) -> None:
    woken: list[float] = []
    embedder = BackgroundEmbedder(
        "ollama", lambda: HttpEmbedder("ollama", url=service.url),
        patience=120.0, settled=lambda: woken.append(time.monotonic()), cooldown=Cooldown([0.2]),
    )  # fmt: skip
    assert embedder.wait(120)
    service.failure = "500"
    with pytest.raises(ServiceFailedError, match="HTTP 500"):
        embedder.embed_batch(["red mug"])
    with pytest.raises(ServiceFailedError, match="HTTP 500"):
        embedder.embed_batch(["red mug"])
    service.failure = ""
    until(lambda: len(woken) > 1, "the end of the pause")
    until(lambda: embedder.available, "the service")
    assert embedder.embed_batch(["red mug"]).shape == (1, DIM)
    embedder.close()


def test_a_service_that_comes_later_is_taken_up_without_a_restart(service: EmbeddingService) -> None:
    service.failure = "500"
    embedder = BackgroundEmbedder(
        "ollama", lambda: HttpEmbedder("ollama", url=service.url), patience=120.0, cooldown=Cooldown([0.1])
    )
    assert not embedder.wait(120)
    assert "HTTP 500" in embedder.why_not or not embedder.why_not
    service.failure = ""
    until(lambda: embedder.available, "the service")
    assert embedder.embed_one("red mug").shape == (DIM,)
    embedder.close()


def test_closing_does_not_wait_for_the_end_of_a_pause(service: EmbeddingService) -> None:
    service.failure = "500"
    embedder = BackgroundEmbedder("ollama", lambda: HttpEmbedder("ollama", url=service.url), patience=120.0)
    assert not embedder.wait(120)
    embedder.close()  # in a minute, the test would be over its time
    with pytest.raises(ModelUnavailableError):
        embedder.embed_one("red mug")


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ("", []),
        ("none", []),
        ("ollama", ["ollama:nomic-embed-text"]),
        ("ollama:mxbai-embed-large:latest", ["ollama:mxbai-embed-large:latest"]),
        ("openai:some/model, ollama", ["openai:some/model", "ollama:nomic-embed-text"]),
        ("/models/none,BAAI/bge-small-en-v1.5", ["/models/none", "BAAI/bge-small-en-v1.5"]),
        (
            "auto",
            [DEFAULT, "ollama:nomic-embed-text", "openai:text-embedding-3-small",
             "gemini:gemini-embedding-001"],
        ),
    ],
)  # fmt: skip
def test_the_parameter_names_one_provider_or_several(models: str, names: list[str]) -> None:
    assert [choice.name for choice in choices(Parameters(embedding_model=models))] == names


def test_the_first_of_a_chain_that_answers_is_used(service: EmbeddingService) -> None:
    parameters = Parameters(embedding_model="openai, ollama", embedding_url="")
    openai, ollama = choices(parameters)
    chain = (openai, ollama._replace(url=service.url))
    embedder = load_first(chain, 1, None, Event(), Event())
    assert embedder.name == "ollama:nomic-embed-text"
    embedder.close()


def test_a_file_with_vectors_stays_with_their_model(service: EmbeddingService) -> None:
    first, second = choices(Parameters(embedding_model="ollama:one, ollama:two"))
    chain = (first._replace(url="http://127.0.0.1:1"), second._replace(url=service.url))
    with pytest.raises(ServiceFailedError, match="ollama:one"):
        load_first(chain, 1, "ollama:one", Event(), Event())
    embedder = load_first(chain, 1, "another", Event(), Event())
    assert embedder.name == "ollama:two"
    embedder.close()


def test_of_a_chain_in_which_none_answers_each_reason_is_told() -> None:
    chain = choices(Parameters(embedding_model="openai, gemini"))
    with pytest.raises(ModelUnavailableError, match=r"OPENAI_API_KEY.*; .*GEMINI_API_KEY"):
        load_first(chain, 1, None, Event(), Event())
