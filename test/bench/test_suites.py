"""The suites of the benchmarks are listed, explain their options and run; peers run without our package."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bench.__main__ import parser_of, suites
from bench.data import read_table
from bench.internals.stages import find_model, whole_words
from bench.peers.channel import LoadReport, Peer
from bench.suites.languages import sets_of
from bench.suites.relevance import AskedQuery, Result, fit
from robotmem_ros.memory import Parameters

from ..support.docs import TEXT

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_US = """
import sys
sys.modules["robotmem_ros"] = None
import bench.peers.chroma, bench.peers.emem, bench.peers.lancedb, bench.peers.qdrant_edge, bench.peers.robotmem
import bench.peers.sqlite_vec, bench.peers.zvec
"""


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_without_a_suite_all_are_listed_with_what_they_do() -> None:
    listed = bench()
    assert (listed.returncode, listed.stderr) == (0, "")
    for name, summary in suites().items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", listed.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", suites())
def test_every_suite_explains_its_options(name: str) -> None:
    _, parser = parser_of(name)
    told = parser.format_help()
    assert told.startswith(f"usage: python3 -m bench {name}")
    assert suites()[name] in told
    assert all(action.help for action in parser._actions)


def test_an_unknown_suite_is_refused_with_the_names_of_all() -> None:
    refused = bench("nothing")
    assert refused.returncode == 2
    assert "'nothing'" in refused.stderr
    assert all(name in refused.stderr for name in suites())


def test_a_suite_prints_its_table() -> None:
    measured = bench("learning", "--facts", "20", "--worlds", "English")
    assert measured.returncode == 0, measured.stderr
    head, rule, row = measured.stdout.split("\n")[:3]
    assert head.startswith("| facts of the collection ")
    assert set(rule) == {"|", "-"}
    assert row.startswith("| 20: English ")
    assert len(row.split("|")) == len(head.split("|"))


def test_questions_find_the_sentences_in_which_their_answers_begin(tmp_path: Path) -> None:
    context = "水泵在地下室。阀门在厨房！The lift is in the hall."
    questions = {"地下室有什么？": "水泵", "阀门在哪里": "厨房", "Where is the lift?": "the hall", "什么在厨房": "厨房"}
    cases = [
        {"question": question, "answers": [{"text": answer, "answer_start": context.index(answer)}]}
        for question, answer in questions.items()
    ]
    file = tmp_path / "xquad.zh.json"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": cases}]}]}))
    measured = bench("xquad", str(file))
    assert measured.returncode == 0, measured.stderr
    assert measured.stdout.startswith("xquad.zh.json: 3 sentences, 4 questions\n")
    for row in ("ours", "ours, by words alone", "BM25 over words"):
        assert re.search(rf"^\| {row} +\| 100.0 +\| 100.0 +\|$", measured.stdout, re.MULTILINE), measured.stdout


def test_the_languages_of_the_memories_and_of_the_queries_are_told_apart() -> None:
    sets = sets_of([["a mug", "杯子", "which cup", "什么杯"], ["a door", "门", "which exit", "什么门"]])
    assert sets["Chinese asked of English"] == (("a mug", "a door"), (("什么杯", 0), ("什么门", 1)))
    assert sets["English asked of Chinese"] == (("杯子", "门"), (("which cup", 0), ("which exit", 1)))
    assert sets["mixed"].sentences == ("杯子", "a door")
    assert len(sets["mixed"].cases) == 4
    assert all(len(thing) == 4 for thing in read_table("languages/things"))


def test_the_words_of_a_varied_world_are_those_of_any_model() -> None:
    model = find_model(Parameters().embedding_model)
    if not model:
        pytest.skip("no embedding model here")
    words = whole_words(model)
    assert len(words) == len(set(words)) > 10_000
    assert words.index("the") < words.index("robot")


def test_the_published_robotmem_can_read_the_tokenizer_of_the_model_of_its_suite() -> None:
    _, parser = parser_of("run")
    folder = find_model(parser.get_default("model"))
    if not folder:
        pytest.skip("no such embedding model here")
    assert (Path(folder) / "tokenizer.json").exists()


def test_the_counts_of_many_collections_are_those_of_a_scan() -> None:
    measured = bench("collections", "--size", "400", "--collections", "7", "--queries", "5")
    assert measured.returncode == 0, measured.stderr
    *_, compared, wrong, _ = next(line for line in measured.stdout.split("\n") if line.startswith("| 7 ")).split("|")
    assert int(compared) > 8
    assert int(wrong) == 0


def test_notes_are_read_and_questions_find_them() -> None:
    measured = bench("notes", "--tokens", "400", "--model", "")
    assert (measured.returncode, measured.stderr) == (0, "")
    _, _, parts, first, of_five, *_ = next(
        line for line in measured.stdout.split("\n") if line.startswith("| headings, 400 tokens ")
    ).split("|")
    assert int(parts) > 100
    assert 0 < int(first) <= int(of_five) <= 30


@pytest.mark.rare
def test_days_are_lived_within_a_budget_and_reported(tmp_path: Path) -> None:
    lived = bench("year", "--days", "3", "--megabytes", "1", "--no-reference", "--results", str(tmp_path))
    assert lived.returncode == 0, lived.stderr
    (report,) = tmp_path.glob("*.md")
    assert report.read_text().startswith("# A simulated year within 1 MB\n")
    removed = re.search(r"Retention deleted (\d+) memories", report.read_text())
    assert removed is not None
    assert int(removed[1]) > 20


def test_curves_of_relevance_take_each_result_by_what_was_measured_of_it() -> None:
    # Logistic data of known factors, a third of it without a cosine; the more of it, the nearer the curve comes.
    dice = np.random.default_rng(3)
    cosine, share = dice.random(6000), dice.random(6000)
    is_right = dice.random(6000) < 1 / (1 + np.exp(-(6 * cosine + 2 * share**3 - 4)))
    queries = [
        AskedQuery("plain" if right else "far", "", [Result(math.nan if number % 3 == 0 else near, part, bool(right))])
        for number, (near, part, right) in enumerate(zip(cosine.tolist(), share.tolist(), is_right, strict=True))
    ]
    curve = fit(queries, 3)
    # Both groups weigh the same in all, which moves the constant alone.
    assert curve[:2] == pytest.approx([6, 2], abs=0.6)


def test_the_suites_that_the_documentation_names_exist() -> None:
    named = set(re.findall(r"-m bench (\w+)", TEXT + (ROOT / "Makefile").read_text()))
    assert {"scale", "run", "recall"} <= named <= set(suites())


def test_only_the_internals_use_what_has_no_public_interface() -> None:
    files = {file.relative_to(ROOT): file.read_text() for file in (ROOT / "bench").rglob("*.py")}
    using = {
        str(file.parent) for file, text in files.items() if re.search(r"(from|import) robotmem_ros\.memory\.", text)
    }
    assert using == {"bench/internals"}


def test_peers_are_imported_without_our_package() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_US], cwd=ROOT, check=True)


def test_a_peer_in_a_process_of_its_own_is_filled_and_queried(tmp_path: Path) -> None:
    rows = [
        {"robot": f"r{number % 2}", "task": "t0", "label": "mug", "stamp": float(number), "x": float(number), "y": 0.0}
        for number in range(4)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    vectors = np.eye(4, 384, dtype=np.float32)
    np.save(tmp_path / "vectors.npy", vectors)
    with closing(Peer("sqlite_vec", Path(sys.executable), tmp_path / "log", str(tmp_path))) as peer:
        loaded = peer.load(tmp_path / "rows.jsonl", tmp_path / "vectors.npy", len(rows))
        assert loaded == LoadReport(4, loaded.seconds)
        assert peer.call("finish") >= 0.0
        query = {"robot": "r1", "task": None, "label": None, "after": None, "before": None, "target": None}
        assert peer.call("query", query=query, vector=vectors[3].tolist())["found"] == [3, 1]
        nearest = peer.call("query", query={**query, "target": [0, 0]}, vector=vectors[3].tolist())
        assert nearest["found"] == [1, 3]
        assert peer.call("nearest", query=query, vector=vectors[3].tolist()) == [3, 1]


def test_a_peer_that_cannot_start_is_reported_with_its_reason(tmp_path: Path) -> None:
    with (
        closing(Peer("no_such_peer", Path(sys.executable), tmp_path / "log")) as peer,
        pytest.raises(RuntimeError, match=r"the peer has ended: .*No module named bench.peers.no_such_peer"),
    ):
        peer.call("query")


def test_the_page_of_large_fleets_has_the_table_that_is_calculated() -> None:
    calculated = bench("fleet", "--plan")
    assert (calculated.returncode, calculated.stderr) == (0, "")
    assert calculated.stdout in (ROOT / "docs" / "fleet_size.md").read_text()
