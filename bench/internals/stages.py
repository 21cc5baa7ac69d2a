"""Run single stages of recall: the text search, the vector search, and the fusion of both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sentencepiece import SentencePieceProcessor

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.conditions.attributes import Collections
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.embedding import Embedder, Vector, Vectors
from robotmem_ros.memory.embedding.embedder import identity_of
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder, find_folder, inspect
from robotmem_ros.memory.embedding.folder_model import PIECES
from robotmem_ros.memory.embedding.profile import profile_of
from robotmem_ros.memory.search import scoring
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.search.text_search import Statistics, TextSearch
from robotmem_ros.memory.search.vector_search import VectorSearch
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.table.column import Floats, bound
from robotmem_ros.memory.table.tables import Tables
from robotmem_ros.memory.table.view import Chosen, View, select
from robotmem_ros.memory.text import stemmer, stop_words, tokens
from robotmem_ros.memory.text.tokens import analyse

__all__ = [
    "STOP_WORDS", "Embedder", "Ranking", "Scores", "Stages", "Vector", "Vectors",
    "describe_model", "find_model", "fuse", "identity_of", "indexed_words", "load_model", "nearest_vectors",
    "passage_vectors", "plainer_words", "profile_of", "query_vector", "stems", "text_statistics", "whole_words",
]  # fmt: skip

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
"""Begins a piece of SentencePiece that begins a word."""


class Hit(NamedTuple):
    """A memory that a search found, with what the search measured: BM25 (lower is better) or cosine distance."""

    memory_id: int
    measure: float


Ranking = list[Hit]
"""Hits, best first."""
Scores = dict[int, float]
STOP_WORDS = stop_words.ENGLISH
_WEIGHTS = scoring.Weights.of(Parameters())
_N = 10


class Stages:
    """The stages on the memories of a file that nothing else has open."""

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Stages]:
        """Open a file."""
        parameters = Parameters(db_path=str(path), embedding_model="")
        with closing(Database(parameters)) as database, Tables(database).reading() as view:
            yield cls(parameters, view)

    def __init__(self, parameters: Parameters, view: View) -> None:
        self._parameters, self._view = parameters, view
        query = parse_query(parameters, RecallRequest("any", _N), decay=Decay(0.0, now=0))
        self._chosen = Chosen(view, select(view, query.conditions))

    def text(self, query: str, depth: int) -> Ranking:
        """Search the texts."""
        scores = self._search(query).scores(self._chosen)
        return [Hit(memory_id, -score) for memory_id, score in _best(self._chosen, scores, depth) if score > 0]

    def shares(self, query: str, memory_ids: Sequence[int]) -> list[float]:
        """Return which share of a query the words of some memories are, by their rarity."""
        search, ids = self._search(query), np.array(sorted(memory_ids), np.int64)
        of_ids = dict(
            zip(ids.tolist(), search.shares(search.held(self._view.table.rows_of(ids))).tolist(), strict=True)
        )
        return [of_ids[memory_id] for memory_id in memory_ids]

    def is_unknown(self, query: str) -> bool:
        """Tell whether no memory contains a word of a query."""
        return self._search(query).is_unknown

    def max_score(self, query: str) -> float:
        """Return the BM25 score of a memory of mean length that holds each word of the query once."""
        return self._search(query).max_score()

    def vector(self, vector: Vector, depth: int) -> Ranking:
        """Search the vectors."""
        return [Hit(memory_id, 1.0 - cosine) for memory_id, cosine in _nearest(self._chosen, vector, depth)]

    def _search(self, query: str) -> TextSearch:
        return TextSearch(self._view, analyse(query), self._parameters, Collections((), True))


def _nearest(among: Chosen, vector: Vector, depth: int) -> list[tuple[int, float]]:
    search = VectorSearch(among.view, lambda: vector)
    similarities = search.similarities(among)
    likely = np.flatnonzero(similarities >= -bound(-similarities, depth) - 2 * search.error)
    exact = np.full(len(similarities), -np.inf)
    exact[likely] = np.nan_to_num(search.exact(among.rows[likely]), nan=-np.inf)
    return [(memory_id, cosine) for memory_id, cosine in _best(among, exact, depth) if cosine > -np.inf]


def _best(among: Chosen, scores: Floats, depth: int) -> list[tuple[int, float]]:
    at = np.lexsort((-among.ids, -scores))[:depth]
    return list(zip(among.ids[at].tolist(), scores[at].tolist(), strict=True))


def nearest_vectors(memory: RobotMemory, arguments: Mapping[str, Any]) -> list[int]:
    """Return what the vector search of an open memory finds for the arguments of a recall: ids, nearest first."""
    request = RecallRequest(**{"n": _N, **arguments})
    vector = memory.parts.embedder.embed_query(request.query)
    with memory.parts.tables.reading() as view:
        query = parse_query(memory.parameters, request, decay=memory.decay())
        hits = _nearest(Chosen(view, select(view, query.conditions)), vector, scoring.blend_depth(request.n))
    return [memory_id for memory_id, _ in hits[: request.n]]


def fuse(method: str, text: Ranking, vector: Ranking, max_score: float) -> Scores:
    """Fuse two rankings as recall does by the parameter `fusion`: `scores` or `rrf`."""
    ids = [*dict.fromkeys(hit.memory_id for hit in (*text, *vector))]
    if method == "scores":
        bm25, distances = {hit.memory_id: -hit.measure for hit in text}, dict[int, float](vector)
        words = np.array([bm25.get(memory_id, 0.0) for memory_id in ids])
        cosines = 1.0 - np.array([distances.get(memory_id, np.nan) for memory_id in ids])
        scores = scoring.blend(words, cosines, _WEIGHTS, max_score)
    else:
        ranks = [{hit.memory_id: rank for rank, hit in enumerate(ranking, start=1)} for ranking in (text, vector)]
        by_words, by_meaning = (np.array([of_ids.get(memory_id, 0) for memory_id in ids]) for of_ids in ranks)
        scores = scoring.reciprocal_rank_fusion(by_words, by_meaning, _WEIGHTS, 60)
    return dict(zip(ids, scores.tolist(), strict=True))


@contextmanager
def plainer_words(*, without_stop_words: bool, stems: bool) -> Iterator[None]:
    """Index and query words without a list of stop words, or without stemming."""
    before = {name: vars(tokens)[name] for name in ("STOP_WORDS", "stem")}
    omitted = stop_words.STOP_WORDS if without_stop_words else frozenset()
    cached = (tokens.indexed_text, vars(tokens)["_indexed_word"], vars(tokens)["_stem"], analyse)
    vars(tokens).update(STOP_WORDS=omitted, stem=stemmer.stem if stems else str)
    for function in cached:
        function.cache_clear()
    try:
        yield
    finally:
        vars(tokens).update(before)
        for function in cached:
            function.cache_clear()


def stems(text: str) -> set[str]:
    """Return the words of a text as they are indexed."""
    return set(tokens.query_words(text))


def indexed_words(text: str) -> list[str]:
    """Return the words of a text as the text index has them, each as often as it stands."""
    return tokens.indexed_text(text).split()


def text_statistics(path: Path, words: Sequence[str], collections: Iterable[str]) -> Iterator[tuple[str, Statistics]]:
    """Count words in each of some collections of a file, as BM25 knows them; `*` is all of them together."""
    with (
        closing(Database(Parameters(db_path=str(path)), read_only=True)) as database,
        Tables(database).reading() as view,
    ):
        texts = view.table.words
        for collection in collections:
            names = Collections(() if collection == "*" else (collection,), True)
            mask = names.mask(view) & view.table.present.all
            counts = {word: texts.find([word]).count(mask) for word in words}
            found = {word: count for word, count in counts.items() if count}
            memories = int(np.count_nonzero(mask))
            yield collection, Statistics(memories, int(texts.lengths[mask].sum()) / max(memories, 1), found)


def load_model(model: str) -> Embedder:
    """Load an embedding model."""
    return FastEmbedEmbedder(model)


def query_vector(embedder: Embedder, query: str) -> Vector:
    """Return the vector of a query as a memory computes it."""
    profile = profile_of(embedder.name)
    vector: Vector = profile.comparable(embedder.embed_one(profile.query_prefix + query)[np.newaxis], [query])[0]
    return vector


def passage_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts as a memory computes them."""
    profile = profile_of(embedder.name)
    return profile.comparable(embedder.embed_batch([profile.passage_prefix + text for text in texts]), texts)


def find_model(name: str) -> str:
    """Return the folder of an embedding model given by name or path; empty if there is none, or none is named."""
    return str(find_folder(name) or "") if name else ""


def describe_model(model: str) -> dict[str, Any]:
    """Return what another program needs to load the same model."""
    files = inspect(Path(model))
    return {"folder": model, "onnx": files.onnx, "dim": files.dim, "cls_pooling": files.cls_pooling}


def whole_words(model: str) -> list[str]:
    """Return the words of the vocabulary of a model that are one piece of it, in lower case, most common first."""
    tokenizer = Path(model) / "tokenizer.json"
    if tokenizer.exists():
        vocabulary: dict[str, int] = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        return sorted(vocabulary, key=vocabulary.__getitem__)
    processor = SentencePieceProcessor(model_file=str(Path(model) / PIECES))
    pieces = map(processor.id_to_piece, range(processor.get_piece_size()))
    return list(dict.fromkeys(piece[1:].lower() for piece in pieces if piece.startswith(_SPACE)))
