"""Notes of a running node: what is written into a folder is recalled over the graph, and its parameters come along."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from robotmem_ros.srv import Recall

from ..support.node.graph import Client


def test_a_node_recalls_what_is_written_into_a_folder_and_counts_it(own: Any, tmp_path: Path) -> None:
    folder = tmp_path / "hand book"
    folder.mkdir()
    (folder / "safety.md").write_text("# Safety\n\n## Doors\nWait before glass doors.\n")
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text(
        f"/**:\n  ros__parameters:\n    db_path: {tmp_path / 'memory.db'}\n    embedding_model: ''\n"
        f"    notes_folders: ['site={folder}']\n    recall_kinds: 'facts, notes'\n"
    )
    start, connect = own
    start("--params-file", str(parameters))
    client: Client = connect()
    client.until_active()
    status = client.until_status(lambda status: status.notes == 1, "the note")
    assert (status.memories, status.notes) == (1, 1)
    (found,) = client.call(Recall, "recall", query="glass doors").memories
    assert (found.kind, found.collection) == (found.NOTE, "site")
    assert found.context == (
        '{"note":{"path":"hand book/safety.md","first_line":1,"last_line":4,"heading":"Safety > Doors"}}'
    )
    (folder / "lift.txt").write_text("The lift needs a badge.")
    deadline = time.monotonic() + 30.0
    while not (answer := client.call(Recall, "recall", query="lift badge", kinds=["notes"], n=1)).memories or (
        "lift" not in answer.memories[0].content
    ):
        assert time.monotonic() < deadline
    response = client.call(Recall, "recall", query="lift badge", kinds=["nodes"])
    assert response.error == "kinds: 'nodes' is unknown; use one of fact, perception, note; did you mean 'notes'?"
