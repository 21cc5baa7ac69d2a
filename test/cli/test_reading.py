"""Commands that read a memory, and the executables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.embedding.fastembed_provider import find_folder

from ..support.intake import report

MODEL = Path(find_folder(Parameters().embedding_model) or "").name
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red mug on the table", pose=[1, 2, 3], observed_at=928_500_000_000)
        memory.learn("grasp mugs by the handle", {"task": {"success": True}}, observed_at=4_000_000_000_000_000_000)
    return path


def test_recall_writes_the_memories_best_first(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "red mug", "--db", str(db), "--no-model"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1.00  a red mug on the table at (1.00, 2.00, 3.00) in map  [relevance 1.00, 928.500 s, id 1]"
    assert lines[1].endswith(", 2096-10-02 07:06:40 UTC, id 2]")
    assert lines[2].startswith("(bm25_only: ")


def test_recall_writes_what_became_of_each_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        mug = memory.save_perception("a mug", label="mug", pose=[1, 0, 0], observed_at=100_000_000_000).memory_id
        for second in (200, 201):
            memory.save_perception("a jug", label="jug", pose=[5, 0, 0], observed_at=second * 1_000_000_000)
        memory.update(mug, pose=[3, 1, 0])
    assert main(["recall", "--changed-since", "150000000000", "--n", "5", "--db", str(path), "--no-model"]) == 0
    lines = capsys.readouterr().out
    assert ", id 1, moved from (1.00, 0.00, 0.00)]" in lines
    assert ", id 2, appeared]" in lines


@pytest.mark.parametrize("place", [["--near", "0,0"], ["--near", "[0,0]"], ["--near", "-1,2"], ["--near=-1, 2, -0.5"]])
def test_a_place_is_given_as_its_numbers(tmp_path: Path, place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a mug", pose=[-0.5, 1, 0])
        memory.save_perception("a chair", pose=[50, 1, 0])
    assert main(["recall", *place, "--db", str(path), "--no-model"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("1.00  a mug at (-0.50, 1.00, 0.00)")


@pytest.mark.parametrize("place", ["1", "1;2"])
def test_what_is_no_place_is_told_with_an_example_of_one(
    db: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recall", "--near", place, "--db", str(db), "--no-model"]) == 1
    assert 'such as 1.0,2.0 or {"target": [1.0, 2.0], "max_distance": 5.0}' in capsys.readouterr().err


def test_recall_explains_each_score_as_a_table(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "red mug", "--db", str(db), "--no-model", "--explain", "--n", "1"]) == 0
    _, held, words, *_ = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r"      holds red mug \(BM25 [\d.]+, \d+% of each word once\), no vector, number 1 in words", held
    )
    assert re.fullmatch(r"      words  \+ [\d.]+  = [\d.]+  BM25 [\d.]+, over that of each word once", words)


def test_recall_says_how_near_the_best_memory_comes(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "zebra mug", "--db", str(db), "--no-model", "--min-relevance", "0.9"]) == 0
    first, why = capsys.readouterr().out.splitlines()
    assert first == "nothing found"
    assert re.search(r"nothing relevant: the best memory has relevance 0\.\d+, less than min_relevance 0\.9\)$", why)


def test_recall_writes_json_and_takes_conditions(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--db", str(db), "--no-model", "--json", "--context-filter", '{"task.success": true}', "--n", "3"]
    assert main(["recall", *arguments]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["mode"], [one["id"] for one in answer["memories"]]) == ("structured", [2])
    assert answer["memories"][0]["context"] == {"task": {"success": True}}


def test_status_counts_the_memories(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", str(db)]) == 0
    assert "facts: 1\nperceptions: 1\n" in capsys.readouterr().out
    assert main(["status", "--db", str(db), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == 1


def test_status_tells_what_nodes_reported_of_their_intake(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", str(db), "--no-model"]) == 0
    assert "intake: no node has reported what it takes in" in capsys.readouterr().out.splitlines()
    with RobotMemory(db, embedding_model="") as memory:
        memory.store_intake("a", report(120.0)).result()
    assert main(["status", "--db", str(db), "--no-model"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = (line.split() for line in lines if line.startswith("  /detections"))
    assert row[:4] == ["/detections", "perceptions", "85", "4.90"]
    assert row[-4:] == ["5", "unknown_frame:", "80", "1"]
    (trouble,) = (line for line in lines if line.startswith("intake problem: "))
    assert "reported 2 min ago: what comes in now cannot be seen" in trouble
    assert main(["status", "--db", str(db), "--no-model", "--json"]) == 0
    intake = json.loads(capsys.readouterr().out)["intake"]
    assert (intake["is_seen"], intake["reports"][0]["topics"][0]["drops"]) == (False, {"unknown_frame": 80})


def test_status_says_how_a_recall_searches(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ("mode", "embedding_model", "model_of_vectors", "vectors", "pending_vectors")
    assert main(["status", "--db", str(db), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [status[key] for key in keys] == ["bm25_only", MODEL, "", 0, 2]
    assert status["reason"].startswith("no memory has a vector yet")
    assert main(["recall", "mug", "--db", str(db), "--json"]) == 0
    recalled = json.loads(capsys.readouterr().out)
    assert (recalled["mode"], recalled["reason"]) == ("bm25_only", "no memory has a vector yet")
    with RobotMemory(db) as memory:
        memory.flush()
    assert main(["status", "--db", str(db), "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    status["model_of_vectors"] = status["model_of_vectors"].partition("#")[0]  # then a digest of how it is used
    assert [status[key] for key in keys] == ["hybrid", MODEL, MODEL, 2, 0]
    assert main(["status", "--db", str(db), "--no-model"]) == 0
    told = capsys.readouterr().out
    assert "mode: bm25_only\nreason: no embedding model is configured (parameter embedding_model)" in told


def test_explain_says_what_was_decided_and_what_became_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        first = memory.learn("Hold the glass with 12.5 N").memory_id
        memory.learn("hold the glass with 12.5 N")
        memory.learn("Hold the glass with 15 N")
        memory.update(first, human_summary="glass")
    assert main(["explain", str(first), "--db", str(path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"memory id: {first}\nstatus: active\n")
    assert "\ntimes learned: 2\n" in told
    assert "grasp.hold" in told
    assert "2  force: 12.5 N, now 15 N  Hold the glass with 15 N  yes" in told
    assert "hold the glass with 12.5 N  exact" in told
    assert main(["explain", str(first), "--db", str(path), "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["times_learned"] == 2
    assert explained["decisions"][0]["field"] == "category"
    assert main(["recall", "glass", "--db", str(path), "--no-model"]) == 0
    assert f"id {first}, contradicted by 2]" in capsys.readouterr().out
    assert main(["explain", "77", "--db", str(path)]) == 1
    assert capsys.readouterr().err == "robotmem: memory_id: 77 cannot be used, there is no such memory\n"


def test_explain_names_the_times_of_a_clock_that_was_in_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: 5_000_000_000)
        with RobotMemory(path, embedding_model="", clock=time.time_ns) as memory:
            memory.save_perception("a red mug")
    assert main(["explain", "1", "--db", str(path)]) == 0
    told = capsys.readouterr().out
    assert "\ntimes in doubt: yes\n" in told


def test_data_writes_the_bytes_stored_with_a_perception(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "memory.db", tmp_path / "shelf.jpg"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a shelf", data=b"\xff\xd8 pixels", metadata={"format": "jpeg"})
        memory.save_perception("a hum", "auditory", metadata={"hertz": 50})
    assert main(["data", "1", "--db", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().out == (
        "id: 1\nperception type: visual\nbytes: 9\ndata format: jpeg\nmetadata: format: jpeg\n"
    )
    assert out.read_bytes() == b"\xff\xd8 pixels"
    assert main(["data", "2", "--db", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "id": 2, "perception_type": "auditory", "bytes": 0, "data_format": "", "metadata": {"hertz": 50},
    }  # fmt: skip
    for number, target, error in (
        (1, tmp_path, f"--out: {str(tmp_path)!r} cannot be written (File exists); give the path of a new file"),
        (1, out, f"--out: {str(out)!r} cannot be written (File exists); give the path of a new file"),
        (2, out, "memory_id: 2 cannot be used, it has metadata and no data"),
        (3, out, "memory_id: 3 cannot be used, there is no such memory"),
    ):  # fmt: skip
        out.write_bytes(b"\xff\xd8 edited")
        assert main(["data", str(number), "--db", str(path), "--out", str(target)]) == 1
        assert capsys.readouterr().err == f"robotmem: {error}\n"
    assert out.read_bytes() == b"\xff\xd8 edited"


@pytest.mark.parametrize("command", [["recall", "x"], ["status"], ["sessions"], ["consolidate", "s"]])
def test_a_missing_database_is_not_created(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.db"
    assert main([*command, "--db", str(path)]) == 1
    assert (
        capsys.readouterr().err == f"robotmem: database {str(path)!r} does not exist; name a memory's file with --db\n"
    )
    assert not path.exists()


def test_the_default_database_is_the_one_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["status"]) == 1
    assert "robotmem: database '~/.robotmem/memory.db' does not exist" in capsys.readouterr().err
    with RobotMemory(embedding_model="") as memory:
        memory.learn("grasp mugs by the handle")
    assert main(["status"]) == 0
    assert "facts: 1\n" in capsys.readouterr().out


def test_an_invalid_condition_is_reported(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "--db", str(db), "--context-filter", "{"]) == 1
    assert capsys.readouterr().err.startswith("robotmem: context_filter: ")


@pytest.mark.parametrize("command", [["-m", "robotmem_ros.cli"], ["scripts/robotmem"]])
def test_both_executables_print_their_options(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=180, check=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
    )  # fmt: skip
    assert done.stdout.startswith("usage: robotmem ")


def test_recall_folds_and_lists_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        for _ in range(3):
            memory.save_perception("the door is open")
    arguments = ["recall", "door", "--db", str(path), "--no-model"]
    assert main(arguments) == 0
    folded, *_ = capsys.readouterr().out.splitlines()
    assert "id 3, and 2 older of the same text]" in folded
    assert main([*arguments, "--brief"]) == 0
    assert "id 3, and 2 older of the same text]" in capsys.readouterr().out
    assert main([*arguments, "--no-fold", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["memories"]
    assert sorted((one["id"], one["folded_count"]) for one in listed) == [(1, 0), (2, 0), (3, 0)]


def test_recall_marks_what_has_faded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        told = memory.learn("the sofa is grey", confidence=0.9, observed_at=1_700_000_000 * 10**9)
        memory.update(told.memory_id, decay_rate=0.7)
    search = ["recall", "sofa", "--db", str(path), "--no-model"]
    assert main(search) == 0
    line, reason = capsys.readouterr().out.splitlines()
    assert line.endswith(", id 1, faded to confidence 0.27]")
    assert "nothing fresh matches: what is returned has faded" in reason
    assert main([*search, "--brief"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(", id 1, faded]")
    assert main(["get", "1", "--db", str(path)]) == 0
    assert "confidence: 0.27\nfaded: yes\n" in capsys.readouterr().out
    assert main([*search, "--min-confidence", "0.3"]) == 0
    assert capsys.readouterr().out.startswith("nothing found")
