"""Measure how well passages of a handbook are found, by sizes of the parts into which its pages are split.

Thirty questions over five pages in English and Chinese (bench/data/notes), each with the words of the page that answer
it. A hit is a note among the first five whose cited lines hold these words, of the right page. The pages are asked for
beside this project's documentation and what robots noted (bench/data/episodes); once as they are, and once as plain
text on single lines without headings, where the size of the parts matters most. "tokens" is what a reader of the five
results reads.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.data import DATA, read_records
from bench.internals.notes import count
from bench.options import add_model
from bench.table import show
from robotmem_ros.memory import Kind, RobotMemory, open_memory

_RECALL_SIZE = 5
_PAGES = DATA / "notes" / "handbook"
_OTHER_DOCS = DATA.parents[1] / "docs"
_HEADING = re.compile(r"^(#+ .*|[=-]{3,})$\n?", re.MULTILINE)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tokens", type=int, nargs="+", default=[200, 400, 800], help="sizes of the parts")
    parser.add_argument("--errors", action="store_true", help="show what is not found")
    add_model(parser, required=False)


def run(options: argparse.Namespace) -> int:
    head = ("pages, largest part", "parts", "first", f"of {_RECALL_SIZE}", "rank", "tokens")
    with tempfile.TemporaryDirectory() as folder:
        plain = _without_headings(Path(folder))
        for name, model in ((options.model, options.model), ("words alone", "")) if options.model else (("words", ""),):
            print(f"Questions answered, with {name}:\n")
            show(head, _rows(plain, options.tokens, model, options.errors))
    return 0


def _rows(plain: Path, sizes: Iterable[int], model: str, errors: bool) -> Iterator[tuple[str, ...]]:
    for name, pages in (("headings", _PAGES), ("plain", plain)):
        for tokens in sizes:
            yield f"{name}, {tokens} tokens", *_measure(pages, tokens, model, errors)


def _measure(pages: Path, tokens: int, model: str, errors: bool) -> Iterator[str]:
    questions = read_records(DATA / "notes" / "questions.jsonl")
    with open_memory(
        ":memory:", embedding_model=model, notes_folders=[str(pages), str(_OTHER_DOCS)], notes_chunk_tokens=tokens
    ) as memory:
        for record in read_records(DATA / "episodes" / "episodes.jsonl")[:400]:
            memory.save_perception(record["content"])
        memory.flush()
        ranks, read = [], 0
        for question in questions:
            memories = memory.recall(question["query"], _RECALL_SIZE).memories
            notes = [note for note in memories if note.kind is Kind.NOTE]
            read += sum(count(note.content) for note in notes)
            ranks.append(_rank(memory, question, notes))
            if errors and not ranks[-1]:
                print(f"not found: {question['query']}")
        yield str(memory.status().notes)
    yield str(ranks.count(1))
    yield str(sum(map(bool, ranks)))
    yield f"{sum(1 / rank for rank in ranks if rank) / len(ranks):.3f}"
    yield str(read // len(questions))


def _rank(memory: RobotMemory, question: dict[str, Any], notes: Iterable[Any]) -> int:
    # From 1; 0 if no result is right. The lines that are cited must hold the answer.
    page = Path(question["path"]).stem
    for rank, one in enumerate(notes, start=1):
        note = one.context["note"]
        lines = memory.notes.lines(note["path"], note["first_line"], note["last_line"] - note["first_line"] + 1).text
        if Path(note["path"]).stem == page and question["answer"] in lines:
            return rank
    return 0


def _without_headings(folder: Path) -> Path:
    plain = folder / "handbook"
    plain.mkdir()
    for page in _PAGES.iterdir():
        text = _HEADING.sub("", page.read_text(encoding="utf-8"))
        (plain / f"{page.stem}.txt").write_text(re.sub(r"\n{2,}", "\n", text), encoding="utf-8")
    return plain
