"""The console shows the memory of a running node, which goes on as if it were alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the web server is optional: `make test` brings it")

from robotmem_ros.srv import Learn, Recall

from ..support.node.graph import Client, NodeProcess
from ..support.waiting import until
from ..support.web import console, listening


def test_what_a_node_learns_is_shown_and_what_is_corrected_is_recalled(
    own: tuple[Callable[..., NodeProcess], Callable[..., Client]], tmp_path: Path
) -> None:
    start, connect = own
    db = tmp_path / "memory.db"
    start("-p", f"db_path:={db}", "-p", "embedding_model:=''")
    with console(db, "--wait", "60") as server, server.client() as web, listening(server) as listener:
        ros = connect()
        learned = ros.call(Learn, "learn", insight="a grip force of 12 N holds a glass").memory_id
        until(lambda: bool(web.get("/api/search", params={"q": "glass"}).json()["memories"]), "fact in the console")

        def is_told() -> bool:
            ros.call(Learn, "learn", insight="the door of the kitchen sticks")
            return bool(listener.changes)

        until(is_told, "event")
        body = {"content": "a grip force of 15 N holds a glass", "reason": "measured again"}
        assert web.put(f"/api/memory/{learned}", json=body).status_code == 200
        found = ros.call(Recall, "recall", query="which force holds a glass?").memories
        assert found[0].content == body["content"]
