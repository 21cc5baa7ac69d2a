"""Let a service reread the best results of a recall, and put them into its order."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..config.parameters import Parameters
from ..embedding.cooldown import Cooldown
from ..embedding.embedder import QUERY_TIMEOUT, ModelUnavailableError, ServiceFailedError
from ..embedding.http_provider import HttpService, service_key
from ..threads import Event
from .result import RecallResult

CANDIDATES = 50
"""Number of results that the service rereads, unless more are wanted."""
_KEY_VARIABLES = ("RERANK_API_KEY",)


class Reranker:
    """A service with the interface of Cohere, Jina, vLLM and others. Safe to use from several threads.

    Args:
        parameters: Give its address and its model.
        closing: Is set when the memory is being closed.
    """

    def __init__(self, parameters: Parameters, closing: Event) -> None:
        self._closing = closing
        self._url, self._model = parameters.rerank_url.strip().rstrip("/"), parameters.rerank_model
        self._cooldown = Cooldown()
        self._service: HttpService | None = None
        self._lock = threading.Lock()

    @property
    def is_on(self) -> bool:
        """Tell whether there is a service."""
        return bool(self._url)

    def rerank(self, query: str, result: RecallResult, n: int, started: float) -> RecallResult:
        """Return the best `n` hits in the order of the service; in their own order, with a reason, if it gives none.

        `started` is the time by the monotonic clock at which the recall began: both together take no longer than a
        query may wait for a service.
        """
        texts = [hit.memory.content for hit in result]
        try:
            scores = self._scores(query, texts, QUERY_TIMEOUT - (time.monotonic() - started))
        except ModelUnavailableError as error:
            reason = "; ".join(filter(None, (result.reason, f"not reranked: {error}")))
            return replace(result, hits=result.hits[:n], reason=reason)
        hits = [replace(hit, score=score) for hit, score in zip(result, scores, strict=True)]
        return replace(result, hits=tuple(sorted(hits, key=lambda hit: -hit.score)[:n]))

    def close(self) -> None:
        """Close the connections."""
        if self._service is not None:
            self._service.close()

    def _scores(self, query: str, texts: Sequence[str], timeout: float) -> list[float]:
        if reason := self._cooldown.reason:
            raise ServiceFailedError(reason)
        if timeout <= 0:
            raise ModelUnavailableError("no time was left")
        body: dict[str, Any] = {"query": query, "documents": [*texts], "top_n": len(texts)}
        if self._model:
            body["model"] = self._model
        read = partial(_shares, count=len(texts))
        try:
            with self._lock:
                self._service = self._service or self._connect()
            scores = self._service.request("/rerank", body, timeout, read, content="score of each document")
        except ModelUnavailableError as error:
            self._cooldown.fail(str(error), error.retry_after if isinstance(error, ServiceFailedError) else 0.0)
            raise
        self._cooldown.succeed()
        return scores

    def _connect(self) -> HttpService:
        key = service_key(_KEY_VARIABLES)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return HttpService("rerank service", self._url, "rerank_url", key, headers, closing=self._closing)


def _shares(response: Any, count: int) -> list[float]:
    # The score of each document over the best one; of logits, its odds over the best ones.
    scores = [math.nan] * count
    for item in response["results"]:
        index, score = item["index"], item["relevance_score"]
        if not (type(index) is int and 0 <= index < count and type(score) in (int, float) and math.isfinite(score)):
            raise ValueError
        scores[index] = score
    if any(map(math.isnan, scores)):
        raise ValueError
    best = max(scores)
    if min(scores) < 0 or best > 1:
        return [math.exp(score - best) for score in scores]
    return [score / best if best else 1.0 for score in scores]
