"""Whatever is asked of the console, it answers as its description says, never with an error of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.maps import OccupancyGrid, Origin

from ..support.web import Server, console, seed

HEADERS = {"Content-Type": "application/json"}
STREAM = "/api/events"
"""Does not end by itself."""
TEXTS = ["\ud800", "a\udfffb", "\u202e\u2066", "\ufeff", "\x7f\x1b[2J", "nul\0", "</script>", "' OR 1=1 --"]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a console; at its end no memory must be lost, and no error logged."""
    folder = tmp_path_factory.mktemp("fuzzed")
    db, areas = folder / "memory.db", folder / "areas.yaml"
    seed(db)
    with RobotMemory(db, embedding_model="") as memory:
        memory.maps.save(
            OccupancyGrid(frame_id="map", resolution=0.5, origin=Origin(0.0, 0.0), width=2, height=1, cells=b"\0d")
        )
    with console(db, "--areas-file", str(areas)) as server:
        yield server
    with RobotMemory(db, embedding_model="", read_only=True) as memory:
        assert len(memory.get_memories(range(1, 12), include_forgotten=True)) == 11


@pytest.mark.rare
def test_every_path_answers_as_it_is_described(fuzzed: Server, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("the fuzzer is for the tests alone: `make test` brings it")
    # What the description cannot say is refused as well: that two times are in order, that JSON is in a text.
    options = ["--exclude-path", STREAM, "--exclude-checks", "positive_data_acceptance", "--no-color"]
    bounds = ["--max-examples", "5", "--seed", "1", "-H", "Content-Type: application/json"]
    done = subprocess.run(
        [program, "run", f"{fuzzed.url}/openapi.json", *options, *bounds],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", TEXTS)
def test_odd_texts_are_answered_everywhere(fuzzed: Server, text: str) -> None:
    with fuzzed.client(headers=HEADERS) as client:
        for field in ("content", "label", "category", "context", "frame_id", "reason"):
            response = client.put("/api/memory/3", content=json.dumps({field: text}))
            assert response.status_code < 500
            assert response.json()
        shown = text.encode("utf-8", "surrogatepass").hex()
        escaped = "".join(f"%{shown[at : at + 2]}" for at in range(0, len(shown), 2))
        for path in (f"search?q={escaped}", f"memories?tags={escaped}", f"sessions/{escaped}/memories"):
            response = client.get(f"/api/{path}")
            assert response.status_code < 500
            assert response.json()
