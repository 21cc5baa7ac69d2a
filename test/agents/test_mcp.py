"""The MCP server over stdin and stdout, as a client starts it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from robotmem_ros.agents import server
from robotmem_ros.agents.toolbox import Toolbox
from robotmem_ros.agents.tools import TOOLS
from robotmem_ros.memory import RobotMemory

from ..support.agents import HELLO, READY, kitchen, served, spoken, stdio_client

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.anyio
WORDS_ALONE = "--no-model"


def connected(toolbox: Toolbox) -> Client:
    """Connect the library's client to a server in this process: what is asked does not depend on the pipes between."""
    from mcp import Client

    return Client(server.build(toolbox, "1"))


async def values(client: Client, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool, which must succeed; its text and its structured content are the same."""
    answer = await client.call_tool(name, arguments)
    (content,) = answer.content
    assert content.type == "text"
    assert not answer.is_error, content.text
    assert json.loads(content.text) == answer.structured_content
    return answer.structured_content


async def test_an_agent_finds_the_mug_and_the_grip_in_three_calls(tmp_path: Path) -> None:
    """Answer "where did I last see the red mug, and what grip worked?" on a real file with the real model."""
    db = kitchen(tmp_path / "memory.db", embedding_model="default")
    async with stdio_client(db) as client:
        mug = (await values(client, "objects", {"query": "red mug", "n": 1}))["objects"][0]
        worked = {"query": "what grip worked for the red mug?", "context_filter": {"task.success": True}, "n": 1}
        found = (await values(client, "recall", worked))["memories"][0]
        grip = (await values(client, "get_memories", {"ids": [found["id"]]}))["memories"][0]
    assert (mug["label"], mug["position"]) == ("mug", [3.0, 1.0, 0.8])
    assert "ago)" in mug["last_seen"]
    assert grip["params"] == {"force": 12.5}


async def test_the_server_tells_what_it_is_for(db: Path, toolbox: Toolbox) -> None:
    async with connected(toolbox) as client:
        listed = (await client.list_tools()).tools
        assert "Before you plan or act, call digest" in (client.instructions or "")
        assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]
        marked = {tool.name: tool.annotations for tool in listed if tool.annotations}
        assert marked["recall"].read_only_hint
        assert marked["forget"].destructive_hint
        assert not marked["learn"].idempotent_hint
        assert all(not hints.open_world_hint for hints in marked.values())
    with served(db, WORDS_ALONE, "--read-only") as process:
        said = spoken(process, HELLO, READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, answers=2)
    read_only = {tool["name"] for tool in said[-1]["result"]["tools"]}
    assert read_only == {tool.name for tool in TOOLS if not tool.writes}


async def test_errors_are_results_and_the_server_goes_on(toolbox: Toolbox) -> None:
    async with connected(toolbox) as client:
        for name, arguments, sentence in [
            ("recall", {"query": "mug", "n": "many"}, "n: 'many' must be a whole number"),
            ("recall", {"query": "mug", "after": "soon"}, "after: 'soon' is no time; write ISO 8601"),
            ("recal", {}, "tool: 'recal' is unknown; did you mean 'recall'?"),
            ("learn", {}, "insight: is missing"),
        ]:
            answer = await client.call_tool(name, arguments)
            assert answer.is_error
            assert answer.content[0].type == "text"
            assert answer.content[0].text.startswith(sentence)
        assert (await values(client, "doctor", {}))["facts"] == 5


async def test_resources_and_prompts_are_read(toolbox: Toolbox) -> None:
    async with connected(toolbox) as client:
        uris = [resource.uri for resource in (await client.list_resources()).resources]
        assert uris == ["robotmem://status", "robotmem://taxonomy", "robotmem://map"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "robotmem://memory/{id}"
        read = {uri: (await client.read_resource(uri)).contents[0] for uri in [*uris, "robotmem://memory/1"]}
        parsed = [json.loads(content.text) for content in read.values() if hasattr(content, "text")]
        status, taxonomy, world, memory = parsed
        assert status["facts"] == 5
        assert taxonomy["dimensions"]["experience"]["tags"]["gotcha"]["means"]
        assert {one["label"] for one in world["objects"]} == {"mug", "chair"}
        assert memory["text"] == "a grip force of 12.5 N holds the red mug"
        for uri, sentence in [
            ("robotmem://nothing", "names no resource"),
            ("robotmem://memory/999", "names no memory"),
        ]:
            with pytest.raises(Exception, match=sentence):
                await client.read_resource(uri)
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["today", "before_acting"]
        today = (await client.get_prompt("today")).messages[0].content
        assert today.type == "text"
        assert "fact: a grip force of 12.5 N holds the red mug" in today.text
        before = (
            (await client.get_prompt("before_acting", {"task": "grip the mug", "place": "3, 1"})).messages[0].content
        )
        assert before.type == "text"
        assert "Objects near (3, 1), within 5 m:" in before.text
        with pytest.raises(Exception, match="day: 'soon' is no time"):
            await client.get_prompt("today", {"day": "soon"})


def test_garbage_on_stdin_ends_nothing(db: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "doctor", "arguments": {}}}
    odd = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "doctor", "arguments": "x"}}
    garbage = ["", "hello", "{", "[]", "null", '{"jsonrpc": "2.0"}', '"\ud800"', "\0\1\2", "{" * 2000, "x" * 5_000_000]
    with served(db, WORDS_ALONE) as process:
        said = spoken(
            process, HELLO, READY, *[text.encode("utf-8", "replace").decode() for text in garbage], odd, call, answers=3
        )
    answers = {message.get("id"): message for message in said}
    assert answers[1]["result"]["serverInfo"]["name"] == "robotmem"
    (told,) = answers[3]["result"]["content"]
    assert answers[3]["result"]["isError"]
    assert told["text"] == "arguments: 'x' must be a JSON object of the arguments of doctor"
    assert answers[2]["result"]["structuredContent"]["facts"] == 5
    assert all(message["jsonrpc"] == "2.0" for message in said)


def test_a_request_that_cannot_be_read_is_answered(db: Path) -> None:
    def learn(number: int | str, insight: str) -> str:
        params = {"name": "learn", "arguments": {"insight": insight}}
        return json.dumps({"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": number})

    with served(db, WORDS_ALONE) as process:
        said = spoken(
            process, HELLO, READY, learn(2, "x" * 6_000_000), learn("three", "half \ud800 a face"),
            learn(4, "a whole face: \U0001f600"), answers=4,
        )  # fmt: skip
    answers = {message.get("id"): message for message in said}
    assert "is 6,0" in answers[2]["error"]["message"]
    assert answers[2]["error"]["message"].endswith("bytes long; at most 4,194,304 are read")
    assert "half a character" in answers["three"]["error"]["message"]
    assert answers[4]["result"]["structuredContent"]["status"] == "stored"


def test_a_malformed_call_is_answered_with_a_result(db: Path) -> None:
    malformed: list[tuple[dict[str, Any], str]] = [
        ({"name": "recall", "arguments": [1]}, "arguments: [1] must be a JSON object of the arguments of recall"),
        ({"name": 7, "arguments": {}}, "tool: 7 is unknown; there are digest, "),
        ({"arguments": {}}, "tool: None is unknown; there are digest, "),
        ({"name": "recall", "arguments": '{"query": "mug", "n": "x"}'}, "n: 'x' must be a whole number"),
    ]
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number, (params, _) in enumerate(malformed, 2)
    ]
    with served(db, WORDS_ALONE) as process:
        said = spoken(process, HELLO, READY, *calls, answers=1 + len(calls))
    answers = {message.get("id"): message["result"] for message in said}
    for number, (_, sentence) in enumerate(malformed, 2):
        assert answers[number]["isError"]
        assert answers[number]["content"][0]["text"].startswith(sentence)


def test_a_client_that_goes_away_in_the_middle_ends_the_server(db: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "learn", "arguments": {"insight": "x"}},
    }
    with served(db, WORDS_ALONE) as process:
        process.stdin.write("\n".join(json.dumps(line) for line in (HELLO, READY, call)) + '\n{"jsonrpc"')
        process.stdin.flush()
        process.stdout.close()
        process.stdin.close()
        assert process.wait(180) in {0, 1}
        assert "Traceback" not in process.complaints


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly(number: int, db: Path) -> None:
    with served(db, WORDS_ALONE) as process:
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(number)
        assert process.wait(180) == 0
        assert "Traceback" not in process.complaints
    with RobotMemory(db, embedding_model="", read_only=True) as memory:
        assert memory.status().facts == 5


def test_a_file_that_does_not_exist_is_made_only_on_demand(tmp_path: Path) -> None:
    missing = tmp_path / "none.db"
    with served(missing) as process:
        _, complaints = process.communicate("", timeout=180)
        assert process.returncode == 1
    assert "does not exist; name a memory's file with --db" in complaints
    with served(missing, "--create", WORDS_ALONE) as process:
        spoken(process, HELLO, answers=1)
    assert missing.is_file()
