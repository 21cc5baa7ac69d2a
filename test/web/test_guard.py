"""Strangers, forged requests and large bodies are refused; what a page of the console sends is not."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from robotmem_ros.web.page import STATIC, add_page

from ..support.web import Server, console

TOKEN = "a-token-that-nobody-guesses-42"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, shared_db: tuple[Path, str]) -> Iterator[Server]:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    with console(shared_db[0], "--token-file", str(file)) as running:
        yield running


def raw(server: Server, request: bytes) -> str:
    """Send bytes and return all that comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=180) as connection:
        connection.sendall(request)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts).decode("utf-8", "replace")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "localhost:8080"])
def test_the_names_of_this_machine_are_hosts_with_any_port(client: httpx.Client, host: str) -> None:
    assert client.get("/api/stats", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "localhost:80:80", "[::1", "2130706433"],
)
def test_a_foreign_host_is_refused(client: httpx.Client, host: str) -> None:
    response = client.get("/api/stats", headers={"Host": host})
    assert (response.status_code, response.json()["field"]) == (403, "Host")


def test_two_hosts_and_none_are_refused(server: Server) -> None:
    assert " 403 " in raw(server, b"GET /api/stats HTTP/1.0\r\n\r\n").partition("\r\n")[0]
    twice = b"GET /api/stats HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert " 400 " in raw(server, twice).partition("\r\n")[0]


def test_a_host_that_is_allowed_is_one(db: Path) -> None:
    with console(db, "--allow-host", "Robot.Example") as server, server.client() as client:
        assert client.get("/api/stats", headers={"Host": "robot.example"}).status_code == 200
        origin = {"Host": "robot.example", "Origin": "https://robot.example"}
        assert client.get("/api/stats", headers=origin).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1.evil.example", "file://"]
)
def test_a_foreign_origin_is_refused(client: httpx.Client, origin: str) -> None:
    response = client.get("/api/stats", headers={"Origin": origin})
    assert (response.status_code, response.json()["field"]) == (403, "Origin")


def test_the_own_origin_is_none_of_another_site(server: Server, client: httpx.Client) -> None:
    assert client.get("/api/stats", headers={"Origin": server.url, "Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_a_link_of_another_site_leads_to_the_page_but_not_to_the_memory(client: httpx.Client) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/api/stats", headers=link).status_code == 403
    assert (
        client.get("/api/stats", headers={"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}).status_code
        == 403
    )


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", ""]
)
def test_a_form_of_another_site_changes_nothing(client: httpx.Client, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    response = client.post("/api/memory/1/restore", content=b'{"a": 1}', headers=headers)
    assert (response.status_code, response.json()["field"]) == (415, "Content-Type")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Cookie": "robotmem=1"},
    ],
)
def test_without_the_token_nothing_is_let_in(guarded: Server, headers: dict[str, str]) -> None:
    with guarded.client() as client:
        for path in ("/api/stats", "/api/events", "/openapi.json", "/api/memory/6/image", "/api/nothing"):
            response = client.get(path, headers=headers)
            assert (response.status_code, response.json()["field"]) in {(401, "token"), (429, "token")}
        assert client.get("/").status_code == 200


def test_the_token_lets_in_as_header_and_as_cookie(guarded: Server) -> None:
    with guarded.client() as client:
        assert client.get("/api/stats", headers=WITH_TOKEN).status_code in {200, 429}


def test_no_path_but_the_login_is_open(guarded: Server, client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    body = {"reason": "x", "content": "x", "name": "x", "polygon": [[0, 0], [1, 0], [1, 1]]}
    with guarded.client() as stranger:
        for path, operations in paths.items():
            for method in operations:
                full = path.replace("{id}", "1").replace("{session_id}", "x")
                status = stranger.request(method.upper(), full, json=body).status_code
                assert status == 401 or path == "/api/login", path


def test_a_login_keeps_a_cookie_that_scripts_cannot_read(db: Path) -> None:
    with console(db, environment={"ROBOTMEM_WEB_TOKEN": TOKEN}) as server, server.client() as client:
        assert TOKEN not in server.told
        assert client.get("/api/stats").status_code == 401
        assert client.post("/api/login", json={"token": "wrong"}).status_code == 401
        response = client.post("/api/login", json={"token": TOKEN})
        cookie = response.headers["set-cookie"]
        assert response.status_code == 200
        assert f"robotmem_{server.port}=" in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        assert client.get("/api/stats").status_code == 200
        odd = {"Cookie": f'a="; robotmem_{server.port}={client.cookies[f"robotmem_{server.port}"]}; ='}
        with server.client() as other:
            assert other.get("/api/stats", headers=odd).status_code == 200
        assert client.get("/api/stats", headers={"Origin": "https://evil.example"}).status_code == 403
        assert f"Max-Age={7 * 86_400};" in cookie
        with server.client() as thief:
            stolen = {"Cookie": f"robotmem_{server.port}={client.cookies[f'robotmem_{server.port}']}"}
            assert thief.get("/api/stats", headers=stolen).status_code == 200
            assert client.delete("/api/login", headers={"Content-Type": "application/json"}).status_code == 200
            assert thief.get("/api/stats", headers=stolen).status_code == 401
        assert client.get("/api/stats").status_code == 401
        command = Path(f"/proc/{server.process.pid}/cmdline")
        if command.exists():
            assert TOKEN.encode() not in command.read_bytes()


def test_wrong_tokens_are_tried_ten_times_a_minute(db: Path) -> None:
    with console(db, environment={"ROBOTMEM_WEB_TOKEN": TOKEN}) as server, server.client() as client:
        with server.client() as known:
            assert known.post("/api/login", json={"token": TOKEN}).status_code == 200
            responses = [client.post("/api/login", json={"token": f"wrong {n}"}) for n in range(12)]
            assert [one.status_code for one in responses] == [401] * 10 + [429] * 2
            assert int(responses[-1].headers["retry-after"]) > 0
            # Behind a proxy all have one address: what a stranger does there keeps nobody out.
            assert known.get("/api/stats").status_code == 200
            assert known.get("/api/stats", headers=WITH_TOKEN).status_code == 200
        assert client.post("/api/login", json={"token": TOKEN}).status_code == 200
        assert client.get("/api/stats").status_code == 200
        code, complaints = server.stop()
    assert (code, complaints) == (0, "WARNING: 10 wrong tokens came from 127.0.0.1 within a minute\n")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/nul%00.js",
        "/static/..%5capp.py",
        "/static/.hidden",
        "/static/" + "a" * 5000,
        "/../../etc/passwd",
        "/api/memory/..%2f..%2fetc%2fpasswd/image",
    ],
)
def test_no_path_leads_out_of_the_page(server: Server, path: str) -> None:
    answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    status, _, rest = answer.partition("\r\n")
    assert status.split()[1] in {"400", "404"}
    assert "root:" not in rest
    assert "import" not in rest


def test_a_large_body_is_refused_and_its_sender_is_told(client: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(50):
            yield b" " * 1_000_000

    headers = {"Content-Type": "application/json"}
    for content in (b" " * 50_000_000, chunks()):
        response = client.put("/api/memory/1", content=content, headers=headers)
        assert (response.status_code, response.json()["field"]) == (413, "body")
    assert client.get("/api/stats").status_code == 200


def test_a_large_body_that_waits_for_leave_is_refused_before_it_is_sent(server: Server) -> None:
    head = "PUT /api/memory/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = raw(server, f"{head}Expect: 100-continue\r\nContent-Length: 50000000\r\n\r\n".encode())
    assert answer.startswith("HTTP/1.1 413 ")


def test_every_response_has_the_headers_that_keep_others_out(server: Server, client: httpx.Client) -> None:
    for path, host in (
        ("/", "localhost"),
        ("/api/stats", "localhost"),
        ("/api/none", "localhost"),
        ("/", "evil.example"),
    ):
        headers = client.get(path, headers={"Host": host}).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers
    assert client.get("/api/stats").headers["cache-control"] == "no-store"


def test_the_page_is_not_sent_again_while_it_is_the_same(client: httpx.Client) -> None:
    first = client.get("/")
    again = client.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert client.head("/").status_code == 200
    assert client.get("/static/icon.svg").headers["content-type"].startswith("image/svg+xml")


def test_a_page_of_links_is_served_and_nothing_beside_it(tmp_path: Path) -> None:
    # `colcon build --symlink-install` makes such a folder.
    (tmp_path / "page").mkdir()
    for file in (STATIC / "index.html", STATIC / "icon.svg"):
        (tmp_path / "page" / file.name).symlink_to(file)
    (tmp_path / "secret.txt").write_text("secret")
    api = FastAPI()
    add_page(api, tmp_path / "page")
    paths = ["/", "/static/icon.svg", "/static/../secret.txt", "/static/%2e%2e/secret.txt", "/static//etc/passwd"]
    with TestClient(api) as client:
        assert [client.get(path).status_code for path in paths] == [200, 200, 404, 404, 404]


def test_an_error_holds_no_more_of_a_bad_value_than_its_beginning(client: httpx.Client) -> None:
    response = client.get("/api/memories", params={"cursor": "x" * 5000})
    assert response.status_code == 400
    assert len(json.dumps(response.json())) < 1000
