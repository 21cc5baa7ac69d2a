"""`robotmem sessions` and `robotmem consolidate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory

NOW = 1_790_000_000 * 10**9
FACTS = ("hold the thin glass softly", "hold the thin glass gently softly", "拿玻璃杯要轻")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def sessions(db: Path) -> list[str]:
    """Store an ended session, and an open one with facts; return their ids."""
    clock = iter(range(NOW, NOW + 100 * 10**9, 30 * 10**9))
    time = next(clock)
    with RobotMemory(db, embedding_model="", clock=lambda: time, deduplication="off") as memory:
        first = memory.start_session({"task": {"name": "tidy"}}).session_id
        time = next(clock)
        memory.end_session(first, 0.5)
        second = memory.start_session({"note": "x" * 100}, "lab").session_id
        for text in FACTS:
            memory.learn(text, session_id=second, collection="lab", category="grasp", confidence=0.8)
    return [first, second]


def test_sessions_are_a_table_or_json(db: Path, sessions: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "--db", str(db)]) == 0
    head, second, first = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["session_id", "collection", "started_at", "ended_at", "end_reason"]
    assert head.split()[5:] == ["outcome", "memories", "superseded", "context"]
    assert first.split()[0] == sessions[0]
    assert "2026-09-21 14:13:20 UTC  2026-09-21 14:13:50 UTC  ended " in first
    assert first.endswith('{"task": {"name": "tidy"}}')
    assert second.split()[:2] == [sessions[1], "lab"]
    assert main(["sessions", "--db", str(db), "--collection", "lab", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["sessions"]
    assert (told["session_id"], told["ended_at"], told["outcome"], told["memories"]) == (sessions[1], None, None, 3)
    assert main(["sessions", "--db", str(db), "--collection", "empty"]) == 0
    assert capsys.readouterr().out == "no sessions\n"


def test_consolidate_shows_what_it_would_do_and_does_it(
    db: Path, sessions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["consolidate", sessions[1], "--db", str(db)]
    assert main([*arguments, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"2  {FACTS[1]}",
        f"  1  {FACTS[0]}",
        "1 of 3 facts would be represented by another one, 0 would be superseded",
    ]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["dry_run"], told["considered"], told["grouped"], told["superseded"]) == (True, 3, 1, 0)
    assert told["groups"][0]["representative"]["id"] == 2
    assert main(arguments) == 0
    assert capsys.readouterr().out.endswith("1 of 3 facts were represented by another one, 0 were superseded\n")
    recall = ["recall", FACTS[0], "--db", str(db), "--no-model", "--collection", "lab"]
    assert main(recall) == 0
    assert "id 1" in capsys.readouterr().out
    assert main([*recall, "--representatives-only"]) == 0
    assert "id 1" not in capsys.readouterr().out


def test_an_unknown_session_is_reported(db: Path, sessions: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consolidate", "nobody", "--db", str(db)]) == 1
    assert capsys.readouterr().err.startswith("robotmem: session_id: 'nobody' cannot be used, there is no such session")
