"""`robotmem web`: what it says when it starts, and when it cannot."""

from __future__ import annotations

import os
import re
import socket
import threading
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory

from ..support.forks import ROBOTMEM, running
from ..support.subprocesses import without
from ..support.waiting import until
from ..support.web import console, seed

TOKEN = "a-token-that-nobody-guesses-42"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    seed(tmp_path / "memory.db", facts=1, mugs=1)
    return tmp_path / "memory.db"


@pytest.fixture(autouse=True)
def _stay_as_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    # A command that this process runs itself would leave all later tests of it, and what they start, with less CPU.
    monkeypatch.setattr(os, "nice", lambda increment: 0)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command, which must fail with one line."""
    assert main(["web", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_port_that_is_used_and_a_host_that_is_not_here_are_one_sentence(
    db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        told = refusal(capsys, "--db", str(db), "--port", port)
        assert told == f"robotmem: --port: {port} is used already on 127.0.0.1; give another one"
    told = refusal(capsys, "--db", str(db), "--host", "192.0.2.1", "--port", "0")
    assert "--host: '192.0.2.1' cannot be used" in told
    assert "is no address of this machine" in refusal(capsys, "--db", str(db), "--host", "no.such.host.invalid")


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "none.db"
    assert "does not exist; name a memory's file with --db" in refusal(capsys, "--db", str(db), "--port", "0")
    assert not db.exists()


def test_it_waits_for_the_file_of_a_node_if_it_is_to(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"

    def later() -> None:
        with RobotMemory(db, embedding_model="") as memory:
            memory.learn("a fact")

    thread = threading.Timer(0.5, later)
    thread.start()
    with console(db, "--wait", "60") as server, server.client() as client:
        until(lambda: client.get("/api/stats").json()["memories"] == 1, "fact")
    thread.join()


def test_on_another_address_a_token_is_made_and_printed_once(db: Path) -> None:
    with console(db, "--host", "0.0.0.0") as server, server.client() as client:
        found = re.fullmatch(r"console: http://\S+:\d+/#token=(\S{43})\n", server.told)
        assert found
        assert client.get("/api/stats").status_code == 401
        assert client.get("/api/stats", headers={"Authorization": f"Bearer {found[1]}"}).status_code == 200
        own = {"Host": f"{socket.gethostname()}:{server.port}", "Authorization": f"Bearer {found[1]}"}
        assert client.get("/api/stats", headers=own).status_code == 200


def test_a_token_file_is_made_for_its_owner_alone_and_used_again(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    for _ in range(2):
        with console(db, "--host", "0.0.0.0", "--token-file", str(file)) as server, server.client() as client:
            token = file.read_text().strip()
            assert token not in server.told
            assert client.get("/api/stats", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_token_file_in_a_folder_that_is_not_there_is_a_typo(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "no" / "token"
    said = refusal(capsys, "--db", str(db), "--token-file", str(file))
    assert f"--token-file: {str(file)!r} cannot be used (" in said
    assert "No such file or directory" in said
    assert not file.parent.exists()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_token_file_that_others_may_read_is_refused_as_ssh_refuses_a_key(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(mode)
    told = refusal(capsys, "--db", str(db), "--port", "0", "--token-file", str(file))
    assert f"--token-file: '{file}' has mode {mode:04o}, so that others may read or change it; chmod 600 it" in told
    assert TOKEN not in told


@pytest.mark.parametrize("content", ["", "short", "with a blank in it", "ümläut-ümläut-ümläut", "x" * 2000])
def test_a_token_that_cannot_be_used_is_refused_and_not_shown(
    db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o600)
    told = refusal(capsys, "--db", str(db), "--port", "0", "--token-file", str(file))
    assert "must hold a token of 16 to 1024 ASCII characters without blanks" in told
    assert not content or content not in told


def test_no_log_holds_a_token_and_no_child_inherits_it(db: Path) -> None:
    with console(db, environment={"ROBOTMEM_WEB_TOKEN": TOKEN}) as server, server.client() as client:
        client.get("/api/stats", headers={"Authorization": f"Bearer {TOKEN}x"})
        client.get(f"/api/stats?token={TOKEN}")
        client.post("/api/login", json={"token": TOKEN, "more": 1})
        code, complaints = server.stop()
    assert (code, TOKEN in complaints, TOKEN in server.told) == (0, False, False)


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_the_web_server_the_command_says_what_to_install(db: Path, package: str) -> None:
    with running(without(package) + ROBOTMEM, "web", "--db", db) as process:
        _, complaints = process.communicate(timeout=180)
    assert (process.returncode, complaints) == (1, f"robotmem: web needs {package} (pip install 'robotmem_ros[web]')\n")


def test_the_parameters_of_the_node_are_taken_from_its_file(db: Path, tmp_path: Path) -> None:
    areas, config = tmp_path / "areas.yaml", tmp_path / "memory.yaml"
    areas.write_text("areas: {shelf: [[-1, 0], [2, 0], [2, 2], [-1, 2]]}\n")
    config.write_text(
        f"/**:\n  ros__parameters:\n    areas_file: {areas}\n    max_memories: 1\n    embedding_model: ''\n"
    )
    with console(db, "--config", str(config)) as server, server.client() as client:
        assert client.get("/api/areas").json()["areas"][0]["memories"] == 1
        assert client.get("/api/search", params={"areas": "shelf"}).json()["memories"][0]["label"] == "mug"
        assert client.get("/api/stats").json()["memories"] == 3  # the budgets are the node's to keep
