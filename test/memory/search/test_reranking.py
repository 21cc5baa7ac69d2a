"""A service puts the best results into its order; if it fails, they keep their own, and the reason says why."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from robotmem_ros.memory import Mode, RobotMemory
from robotmem_ros.memory.embedding.cooldown import Cooldown

from ...support.embedding_service import EmbeddingService, embedding_service
from ..conftest import OpenMemory

FAILURES = {
    "slow": "no whole response within ",
    "drips": "no whole response within ",
    "drips headers": "no whole response within ",
    "cut": "RemoteProtocolError",
    "garbage": "the response holds no score of each document",
    "nested": "the response holds no score of each document",
    "nan": "the response holds no score of each document",
    "null": "the response holds no score of each document",
    "few": "the response holds no score of each document",
    "index": "the response holds no score of each document",
    "negative index": "the response holds no score of each document",
    "true": "the response holds no score of each document",
    "400": "refuses the text (HTTP 400)",
    "401": "HTTP 401 Unauthorized",
    "429": "HTTP 429 Too Many Requests",
    "500": "HTTP 500 Internal Server Error",
    "moved": "HTTP 302 Found",
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take keys and proxies of this machine out of the environment."""
    for name in ("RERANK_API_KEY", "RERANK_API_KEY_FILE", "ALL_PROXY", "HTTP_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def service() -> Iterator[EmbeddingService]:
    """Run a service that prefers the last document."""
    with embedding_service() as server:
        yield server


def filled(memory: RobotMemory) -> RobotMemory:
    """Save mugs that differ in how well they match."""
    for number in range(1, 9):
        memory.save_perception(" ".join(["red mug", *["table"] * number, str(number)]))
    memory.flush()
    return memory


@pytest.fixture
def plain(tmp_path: Path, open_memory: OpenMemory) -> RobotMemory:
    """A memory that asks no service."""
    return filled(open_memory(tmp_path / "plain.db"))


def ids(memory: RobotMemory, **options: object) -> list[int]:
    """The ids of the mugs as they are recalled."""
    return [hit.id for hit in memory.recall("red mug", **{"n": 20, **options})]  # type: ignore[arg-type]


def test_the_results_have_the_order_of_the_service(
    service: EmbeddingService, plain: RobotMemory, open_memory: OpenMemory
) -> None:
    memory = filled(open_memory(rerank_url=f"{service.url}/v1/", rerank_model="some-model"))
    assert ids(memory) == ids(plain)[::-1]
    path, headers, body = service.requests[-1]
    assert path == "/v1/rerank"
    assert "Authorization" not in headers
    assert (body["query"], body["model"], body["top_n"]) == ("red mug", "some-model", 8)
    assert len(body["documents"]) == 8
    # The service chooses among more results than are wanted.
    result = memory.recall("red mug", n=2)
    assert [hit.id for hit in result] == ids(plain)[:-3:-1]
    assert [hit.score for hit in result] == [1.0, 7 / 8]
    assert (result.mode, result.reason) == (Mode.HYBRID, "")
    service.failure = "logits"
    result = memory.recall("red mug", n=20)
    assert [hit.id for hit in result] == ids(plain)[::-1]
    scores = [hit.score for hit in result]
    assert (scores[0], scores) == (1.0, sorted(scores, reverse=True))


def test_only_an_order_by_relevance_is_left_to_the_service(service: EmbeddingService, open_memory: OpenMemory) -> None:
    memory = filled(open_memory(rerank_url=service.url))
    memory.save_perception("a green cup stands at x", pose=[1, 2, 0])
    memory.recall(kinds=["perception"])
    memory.recall("cup", spatial_sort={"target": [0, 0, 0]})
    memory.recall("green cup x", labels=["nothing has this label"])
    assert not service.requests


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_leaves_the_order_and_tells_the_reason(
    failure: str, service: EmbeddingService, plain: RobotMemory, open_memory: OpenMemory
) -> None:
    memory = filled(open_memory(rerank_url=service.url))
    service.failure = failure
    result = memory.recall("red mug", n=3)
    assert [hit.id for hit in result] == ids(plain, n=3)
    assert result.reason.startswith("not reranked: ")
    assert FAILURES[failure] in result.reason
    assert (result.mode, result.relevant) == (Mode.HYBRID, True)
    assert "sk-secret" not in result.reason


def test_a_service_that_failed_is_left_alone(service: EmbeddingService, open_memory: OpenMemory) -> None:
    memory = filled(open_memory(rerank_url=service.url))
    for failure, least in (("500", 50), ("429", 80), ("slow", 50)):
        memory.parts.recall.reranker._cooldown = cooldown = Cooldown()
        service.failure = failure
        memory.recall("red mug")
        count = len(service.requests)
        service.failure = ""
        assert "the next attempt is in" in memory.recall("red mug").reason
        assert len(service.requests) == count
        assert cooldown.seconds_left > least
    memory.parts.recall.reranker._cooldown = Cooldown()
    assert memory.recall("red mug").reason == ""


def test_a_recall_that_took_its_time_already_does_not_wait_for_the_service(
    service: EmbeddingService, open_memory: OpenMemory
) -> None:
    memory = filled(open_memory(rerank_url=service.url))
    result = memory.recall("red mug", n=5)
    count = len(service.requests)
    late = memory.parts.recall.reranker.rerank("red mug", result, 2, time.monotonic() - 60)
    assert late.hits == result.hits[:2]
    assert late.reason == "not reranked: no time was left"
    assert len(service.requests) == count


def test_the_key_comes_from_the_environment_or_a_file_of_its_owner(
    service: EmbeddingService, open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("sk-secret\n")
    file.chmod(stat.S_IRUSR)
    monkeypatch.setenv("RERANK_API_KEY_FILE", str(file))
    memory = filled(open_memory(rerank_url=service.url))
    assert memory.recall("red mug").reason == ""
    assert service.requests[-1][1]["Authorization"] == "Bearer sk-secret"
    file.chmod(0o644)
    memory = open_memory(memory.path, rerank_url=service.url)
    assert "may be read by others" in memory.recall("red mug").reason


@pytest.mark.parametrize("url", ["nothing", "ftp://host/", "http://user:pass@127.0.0.1/", "http://"])
def test_an_address_that_cannot_be_used_is_told(url: str, plain: RobotMemory, open_memory: OpenMemory) -> None:
    memory = filled(open_memory(rerank_url=url))
    result = memory.recall("red mug", n=3)
    assert [hit.id for hit in result] == ids(plain, n=3)
    assert "not reranked: rerank_url: " in result.reason
    assert "pass" not in result.reason
