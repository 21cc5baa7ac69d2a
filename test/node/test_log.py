"""What the log of the node tells at `debug`, and that it is the node alone that speaks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from std_msgs.msg import String

from robotmem_ros.msg import Perception
from robotmem_ros.srv import Learn, Recall

from ..support.node.graph import Client

TOPIC = """
/**:
  ros__parameters:
    db_path: ":memory:"
    embedding_model: ""
    perception_topics: [talk]
    talk: {topic: /talk, type: std_msgs/msg/String, description: "{data}", min_interval: 3600.0}
"""


def said(client: Client, node: Any, pattern: str) -> re.Match[str]:
    """The first thing in the log that fits a pattern, once it is there."""
    client.until(lambda: re.search(pattern, node.output) is not None, pattern)
    found = re.search(pattern, node.output)
    assert found is not None
    return found


def test_at_debug_the_log_follows_messages_facts_and_queries(own: Any, tmp_path: Path) -> None:
    start, connect = own
    file = tmp_path / "parameters.yaml"
    file.write_text(TOPIC)
    node = start("--params-file", str(file), "--log-level", "memory:=debug")
    client: Client = connect()
    client.until_active()
    talk = client.publisher(String, "/talk")
    for text in ("first", "second"):
        talk.publish(String(data=text))
    said(client, node, r"\[DEBUG\] .* /talk at [\d.]+ s: stored as \[1\]")
    said(client, node, r"\[DEBUG\] .* /talk at [\d.]+ s: dropped unread, min_interval")
    perceptions = client.publisher(Perception, "/memory/perception")
    perceptions.publish(Perception(description="a mug"))
    said(client, node, r"\[DEBUG\] .* ~/perception at [\d.]+ s: stored as 2")
    perceptions.publish(Perception())
    said(client, node, r"\[DEBUG\] .* ~/perception: dropped 1: bad_description \(description: '' is blank")
    for text in ("the glass needs 8 N", "the glass needs 8 N", "the glass needs 12 N"):
        assert client.call(Learn, "learn", insight=text).success
    said(client, node, r"\[DEBUG\] .* learn 'the glass needs 8 N': stored as 3, category ")
    said(client, node, r"\[DEBUG\] .* learn 'the glass needs 8 N': a duplicate of 3 \(exact, 1\.00\)")
    said(client, node, r"\[DEBUG\] .* learn 'the glass needs 12 N': stored as 4, .* contradicts 3")
    assert client.call(Recall, "recall", query="glass").success
    stages = said(client, node, r"\[DEBUG\] .* recall 'glass': \[4, 3\], bm25_only, .*; [\d.]+ ms \((.*)\)").group(1)
    names = [stage.rpartition(" ")[0] for stage in stages.split(", ")]
    assert names == ["conditions", "text search", "vector search", "fusion", "scoring", "folding", "read"]
    assert not client.call(Recall, "recall", n=3).success
    said(client, node, r"\[DEBUG\] .* ~/recall rejected: ")
    assert node.stop() == 0
    # Nobody else does: [DEBUG] [time] [logger]: text
    assert {line.split("] [")[2].split("]")[0] for line in node.output.splitlines() if "[DEBUG]" in line} == {"memory"}


def test_at_info_the_log_is_quiet_about_single_messages(own: Any) -> None:
    start, connect = own
    node = start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    assert client.call(Learn, "learn", insight="the glass needs 8 N").success
    assert node.stop() == 0
    assert "DEBUG" not in node.output
    assert "glass" not in node.output
