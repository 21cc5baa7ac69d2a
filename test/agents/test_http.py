"""The MCP server over HTTP: who is let in, and that it serves as over stdin and stdout."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import httpx2
import pytest

from robotmem_ros.agents.tools import TOOLS

from ..support.agents import kitchen, served
from ..support.forks import PipedFork
from ..support.waiting import until

TOKEN = "a token of twenty-six ..".replace(" ", "-")
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class Served(NamedTuple):
    """A server that answers."""

    url: str
    token: str
    process: PipedFork


@contextmanager
def served_by_http(db: Path, *options: str) -> Iterator[Served]:
    """Start a server on any free port, and wait until it tells where it is."""
    with served(db, "--http", "--port", "0", "--no-model", *options) as process:
        lines = 1 if "--token-file" in options else 2

        def told() -> list[str]:
            assert process.poll() is None, process.complaints
            return re.findall(r"^(?:MCP at|token:) (.+)\n", process.complaints, re.MULTILINE)

        until(lambda: len(told()) == lines, "server")
        url, token = [*told(), ""][:2]
        yield Served(url, token, process)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a server that the tests of this file share: none of them changes its memory or ends it."""
    folder = tmp_path_factory.mktemp("served")
    with served_with_token(kitchen(folder / "memory.db")) as found:
        yield found


@contextmanager
def served_with_token(db: Path) -> Iterator[Served]:
    file = db.with_name("token")
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    with served_by_http(db, "--token-file", str(file)) as found:
        yield found


@pytest.mark.anyio
async def test_a_client_with_the_token_calls_tools(db: Path) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    with served_by_http(db) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", server.url)
        assert len(server.token) >= 40
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {server.token}"}) as http,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            assert len((await client.list_tools()).tools) == len(TOOLS)
            answer = await client.call_tool("recall", {"query": "red mug", "n": 1})
            assert answer.structured_content["memories"][0]["label"] == "mug"
            wrong = await client.call_tool("recall", {"query": "red mug", "n": "x"})
            assert wrong.is_error


def test_without_the_token_nobody_is_let_in(server: Served) -> None:
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Basic eDp5"}):
        refused = httpx.post(server.url, json=LIST, headers={**ACCEPT, **given})
        assert refused.status_code == 401, given
        assert "tools" not in refused.text
    allowed = httpx.post(server.url, json=LIST, headers={**ACCEPT, **BEARER})
    assert allowed.status_code == 200
    assert allowed.json()["result"]["tools"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_what_a_page_of_another_site_sends_is_refused(headers: dict[str, str], status: int, server: Served) -> None:
    sent = {"Content-Type": "application/json", **ACCEPT, **BEARER, **headers}
    refused = httpx.post(server.url, content=json.dumps(LIST), headers=sent)
    assert refused.status_code == status
    assert "tools" not in refused.json()


def test_a_body_that_is_too_large_is_refused_and_the_server_goes_on(server: Served) -> None:
    large = httpx.post(
        server.url, content=b"x" * 5_000_000, headers={"Content-Type": "application/json", **ACCEPT, **BEARER}
    )
    assert large.status_code == 413
    for content in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"[" * 100_000):
        odd = httpx.post(server.url, content=content, headers={"Content-Type": "application/json", **ACCEPT, **BEARER})
        assert 400 <= odd.status_code < 500, (content[:20], odd.text)
    assert httpx.get(server.url, headers={**ACCEPT, **BEARER}).status_code == 405
    assert httpx.post(server.url, json=LIST, headers={**ACCEPT, **BEARER}).status_code == 200


def test_sigterm_ends_it_cleanly_with_a_request_on_its_way(db: Path) -> None:
    with served_with_token(db) as server, httpx.Client(headers={**ACCEPT, **BEARER}) as client:
        assert client.post(server.url, json=LIST).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(180) == 0
        assert "Traceback" not in server.process.complaints


def test_a_token_that_cannot_be_used_is_refused_and_not_told(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("short")
    file.chmod(0o600)
    with served(db, "--http", "--port", "0", "--no-model", "--token-file", str(file)) as process:
        _, complaints = process.communicate(timeout=180)
        assert process.returncode == 1
    assert "--token-file: " in complaints
    assert "short" not in complaints.replace("a short", "")
