"""A local server that speaks the HTTP interfaces of embedding and rerank services, and fails as they fail."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .embedders import WordVectors

DIM = 16


class EmbeddingService(ThreadingHTTPServer):
    """Serves all three interfaces at any path below its address; `failure` names how the next requests fail."""

    daemon_threads = True
    failure = ""
    raw = b""
    """Sent instead of a response, if it is not empty."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        """Path, headers and body of every request, in order."""
        self.words = WordVectors(DIM, "service")
        self.models: dict[str, WordVectors] = {}
        """Models that give other vectors than `words`, by their names."""
        self.scheme = "http"

    @property
    def url(self) -> str:
        """Return its address."""
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingService
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.raw:
            self.wfile.write(self.server.raw)
            self.close_connection = True
            return
        match self.server.failure:
            case "slow":
                time.sleep(5)
                self._send(200, self._result(body))
            case "drips" | "drips headers":
                self._drip(json.dumps(self._result(body)).encode())
            case "cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"embeddings": [[0.1')
                self.close_connection = True
            case "garbage":
                self._send_bytes(200, b"\xff\xfe<html>")
            case "nested":
                self._send_bytes(200, b"[" * 100_000)
            case "429":
                self._send(429, {"error": "too many requests"}, {"Retry-After": "90"})
            case "moved":
                self._send(302, {}, {"Location": "http://127.0.0.1:1/"})
            case failure if failure.isdigit():
                self._send(int(failure), {"error": "sk-secret is wrong"})
            case _:
                self._send(200, self._result(body))

    def log_message(self, *args: Any) -> None:
        """Print nothing."""

    def _result(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._scores(body) if self.path.endswith("/rerank") else self._vectors(body)

    def _scores(self, body: dict[str, Any]) -> dict[str, Any]:
        # The later document is the better one; the best come first.
        count = len(body["documents"])
        scores: list[object] = [(index + 1) / count for index in range(count)]
        results = [{"index": index, "relevance_score": score} for index, score in enumerate(scores)][::-1]
        match self.server.failure:
            case "nan":
                results[0]["relevance_score"] = float("nan")
            case "null":
                results[0]["relevance_score"] = None
            case "few":
                del results[-1]
            case "index":
                results[0]["index"] = count
            case "negative index":
                results[0]["index"] = -1
            case "true":
                results[0]["index"] = True
            case "logits":
                for result in results:
                    result["relevance_score"] = 10 * float(str(result["relevance_score"])) - 900
        return {"results": results}

    def _vectors(self, body: dict[str, Any]) -> dict[str, Any]:
        # By the path, as each provider writes them, with what is wrong with them.
        is_gemini = "requests" in body
        texts = [item["content"]["parts"][0]["text"] for item in body["requests"]] if is_gemini else body["input"]
        model = self.server.models.get(body.get("model", ""), self.server.words)
        vectors = self._spoiled([model.embed_one(text).tolist() for text in texts])
        if is_gemini:
            return {"embeddings": [{"values": vector} for vector in vectors]}
        if self.path.endswith("/embeddings"):  # in any order
            data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
            return {"data": data[::-1]}
        return {"embeddings": vectors}

    def _spoiled(self, vectors: list[list[float]]) -> Sequence[Sequence[object]]:
        match self.server.failure:
            case "nan":
                return [[float("nan"), *vector[1:]] for vector in vectors]
            case "null":
                return [[None, *vector[1:]] for vector in vectors]
            case "short":
                return [vector[1:] for vector in vectors]
            case "few":
                return vectors[1:]
            case "zero":
                return [[0.0] * len(vector) for vector in vectors]
        return vectors

    def _drip(self, content: bytes) -> None:
        headers = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content)
        if self.server.failure == "drips":
            self.wfile.write(headers)
        else:
            content = headers + content
        for index in range(len(content)):
            self.wfile.write(content[index : index + 1])
            time.sleep(0.5)

    def _send(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(value).encode(), headers)

    def _send_bytes(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def embedding_service(context: ssl.SSLContext | None = None) -> Iterator[EmbeddingService]:
    """Run the server on a free port, with TLS if there is a context."""
    with EmbeddingService() as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.scheme = "https"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
