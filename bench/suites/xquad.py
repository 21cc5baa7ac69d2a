"""Measure how often recall finds the sentence that answers a question of XQuAD, beside BM25 over words.

XQuAD has the same 240 paragraphs and 1,190 questions in several languages, as `xquad.LANGUAGE.json` in
https://github.com/google-deepmind/xquad. Each sentence of a paragraph is stored as a memory. Right is the one in which
the answer begins. BM25 has the k1 and b of recall; its words are those of jieba in Chinese, else runs of letters.
"""

from __future__ import annotations

import argparse
import copy
import heapq
import json
import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.internals.stages import Embedder, load_model
from bench.options import add_model
from bench.table import show
from robotmem_ros.memory import Parameters, RobotMemory

_N = 5
_END = re.compile(r"(?<=[。！？])|(?<=[.!?؟।])\s+")
_HAN = re.compile(r"[\u4e00-\u9fff]")
Search = Callable[[str], Sequence[int]]
"""Return the places of the first sentences for a question, best first."""


class Questions(NamedTuple):
    """The sentences of a file, and each question with the place of the one that answers it."""

    sentences: tuple[str, ...]
    cases: tuple[tuple[str, int], ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="such as xquad.zh.json")
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    with closing(load_model(options.model)) as embedder:
        for file in options.files:
            questions = read_questions(json.loads(file.read_text(encoding="utf-8")))
            print(f"{file.name}: {len(questions.sentences):,} sentences, {len(questions.cases):,} questions\n")
            show(("right, %", "first", f"of {_N}"), _rows(questions, embedder))


def read_questions(content: dict[str, Any]) -> Questions:
    """Read the content of a file."""
    sentences: list[str] = []
    cases: list[tuple[str, int]] = []
    for paragraph in (paragraph for article in content["data"] for paragraph in article["paragraphs"]):
        text, spans, start = paragraph["context"], [], 0
        for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
            if sentence := text[start:end].strip():
                spans.append((start, end, len(sentences)))
                sentences.append(sentence)
            start = end
        for case in paragraph["qas"]:
            answer = case["answers"][0]["answer_start"]
            cases += [(case["question"], place) for start, end, place in spans if start <= answer < end]
    return Questions(tuple(sentences), tuple(cases))


def _rows(questions: Questions, embedder: Embedder) -> Iterator[tuple[str, ...]]:
    with opened(questions, copy.copy(embedder)) as memory:
        yield "ours", *shares(questions, recall_of(memory))
    with opened(questions, None) as memory:
        yield "ours, by words alone", *shares(questions, recall_of(memory))
    yield "BM25 over words", *shares(questions, bm25_of(questions.sentences))


@contextmanager
def opened(questions: Questions, embedder: Embedder | None, text_weight: float = 0.5) -> Iterator[RobotMemory]:
    """Open a memory of the sentences."""
    with (
        tempfile.TemporaryDirectory() as folder,
        RobotMemory(
            Path(folder) / "memory.db",
            embedder=embedder,
            embedding_model="",
            text_weight=text_weight,
            time_words=False,  # what happened "in 2015" was stored just now
            content_limit=max(map(len, questions.sentences)),  # Thai ends no sentence
        ) as memory,
    ):
        memory.save_many(questions.sentences)
        memory.flush()
        yield memory


def recall_of(memory: RobotMemory) -> Search:
    """Search by a memory."""
    # Ids begin at 1, in the order of the sentences.
    return lambda question: [hit.id - 1 for hit in memory.recall(question, n=_N, min_relevance=0.0)]


def bm25_of(sentences: Sequence[str]) -> Search:
    """Search by BM25 over words."""
    k1, b = Parameters().bm25_k1, Parameters().bm25_b
    documents = [Counter(_words(sentence)) for sentence in sentences]
    lengths = [document.total() for document in documents]
    mean = sum(lengths) / len(lengths)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, document in enumerate(documents):
        for word, count in document.items():
            postings[word].append((place, count))

    def search(question: str) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for word in _words(question):
            holders = postings.get(word, [])
            weight = math.log1p((len(sentences) - len(holders) + 0.5) / (len(holders) + 0.5))
            for place, count in holders:
                scores[place] += weight * count * (k1 + 1) / (count + k1 * (1 - b + b * lengths[place] / mean))
        return heapq.nlargest(_N, scores, key=scores.__getitem__)

    return search


def _words(text: str) -> list[str]:
    if not _HAN.search(text):
        return re.findall(r"\w+", text.lower())
    import jieba

    return [word for word in jieba.cut(text.lower()) if re.search(r"\w", word)]


def shares(questions: Questions, search: Search) -> tuple[str, str]:
    """Return for how many questions the right sentence comes first, and among the first ones, in %."""
    results = [(search(question), answer) for question, answer in questions.cases]
    first, among = (sum(answer in places[:n] for places, answer in results) for n in (1, _N))
    return f"{100 * first / len(results):.1f}", f"{100 * among / len(results):.1f}"
