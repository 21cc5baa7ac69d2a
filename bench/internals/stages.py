"""Run single stages of recall: the text search, the vector search, and the fusion of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.embedding import Embedder, Vector, Vectors
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder, find_folder, inspect
from robotmem_ros.memory.embedding.profile import profile_of
from robotmem_ros.memory.search import measures, scoring
from robotmem_ros.memory.search.attributes import AttributeIndex
from robotmem_ros.memory.search.candidates import find_candidates
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.search.text_index import TextIndex, TextReader, bm25
from robotmem_ros.memory.search.vector_index import VectorIndex
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.candidates import list_if_few
from robotmem_ros.memory.storage.followers import catch_up
from robotmem_ros.memory.storage.snapshot import Snapshot
from robotmem_ros.memory.text import stemmer, stop_words, tokens
from robotmem_ros.memory.text.analysis import analyse

__all__ = [
    "STOP_WORDS", "Embedder", "Ranking", "Scores", "Stages", "Vector", "Vectors",
    "describe_model", "find_model", "fuse", "indexed_words", "load_model", "nearest_vectors", "passage_vectors",
    "plainer_words", "profile_of", "query_vector", "stems", "text_statistics",
]  # fmt: skip


class Hit(NamedTuple):
    """A memory that a search found, with what the search measured: BM25 (lower is better) or cosine distance."""

    memory_id: int
    measure: float


Ranking = list[Hit]
"""Hits, best first."""
Scores = measures.Scores
STOP_WORDS = stop_words.ENGLISH
_WEIGHTS = scoring.Weights.of(Parameters())
_UNBOUNDED = 10**9
_POSTINGS = 1000
_N = 10


class Stages:
    """The stages on the memories of a file that nothing else has open."""

    @classmethod
    @contextmanager
    def open(cls, path: Path, *, postings: bool = False) -> Iterator[Stages]:
        """Open a file; with `postings` in RAM, as a memory has them some seconds after its start."""
        parameters = Parameters(db_path=str(path), embedding_model="")
        with closing(Database(parameters)) as database:
            index = TextIndex(database, _POSTINGS)
            vectors = VectorIndex(AttributeIndex(lambda: 0.0))
            if postings:
                catch_up(database, index)
            with database.snapshot() as snapshot:
                yield cls(parameters, snapshot, index.blocks if postings else (), vectors)

    def __init__(self, parameters: Parameters, snapshot: Snapshot, blocks: Any, vectors: VectorIndex) -> None:
        self._parameters, self._snapshot, self._blocks, self._vectors = parameters, snapshot, blocks, vectors
        self._unbounded = parameters.changed(text_candidates=_UNBOUNDED)
        query = parse_query(parameters, RecallRequest("any", _N), decay=Decay(0.0, now=0))
        self._candidates = find_candidates(snapshot, query.conditions)

    def text(self, query: str, depth: int, *, bounded: bool = True) -> Ranking:
        """Search the texts; if not `bounded`, without postings, and rank every memory that has a word of the query."""
        blocks, parameters = (self._blocks, self._parameters) if bounded else ((), self._unbounded)
        hits = TextReader(self._snapshot, blocks, analyse(query), parameters, ()).search(self._candidates, depth)
        return [Hit(*hit) for hit in zip(hits.ids.tolist(), (-hits.bm25).tolist(), strict=True)]

    def is_bounded(self, query: str) -> bool:
        """Tell whether `text` ranks only some of the memories that have a word of the query."""
        frequencies = bm25.read_statistics(self._snapshot, analyse(query).words, ()).frequencies
        return not self._blocks and sum(frequencies.values()) > self._parameters.text_candidates

    def shares(self, query: str, memory_ids: Sequence[int]) -> list[float]:
        """Return which share of a query the words of some memories are, by their rarity."""
        reader = TextReader(self._snapshot, (), analyse(query), self._unbounded, ())
        hits = reader.rank(memory_ids)
        shares = dict(zip(hits.ids.tolist(), reader.shares(hits.words).tolist(), strict=True))
        return [shares.get(memory_id, 0.0) for memory_id in memory_ids]

    def is_unknown(self, query: str) -> bool:
        """Tell whether no memory contains a word of a query."""
        return TextReader(self._snapshot, (), analyse(query), self._unbounded, ()).is_unknown

    def shared_words(self, query: str, memory_id: int) -> int:
        """Count the words of the query that a memory holds."""
        row = self._snapshot.row("SELECT content FROM memory_texts WHERE id = ?", (memory_id,))
        return len(set(tokens.query_words(query)) & set(row[0].split()))

    def max_score(self, query: str) -> float:
        """Return the BM25 score of a memory of mean length that holds each word of the query once."""
        return TextReader(self._snapshot, (), analyse(query), self._unbounded, ()).max_score()

    def vector(self, vector: Vector, depth: int) -> Ranking:
        """Search the vectors."""
        hits = self._vectors.search(self._snapshot, vector, self._candidates, depth)
        return [Hit(*hit) for hit in zip(hits.ids.tolist(), (1.0 - hits.cosine).tolist(), strict=True)]


def nearest_vectors(memory: RobotMemory, arguments: Mapping[str, Any]) -> list[int]:
    """Return what the vector search of an open memory finds for the arguments of a recall: ids, nearest first."""
    request = RecallRequest(**{"n": _N, **arguments})
    vector = memory.parts.embedders.current.embed_query(request.query)
    with memory.parts.database.snapshot() as snapshot:
        query = parse_query(memory.parameters, request, decay=memory.decay())
        candidates = list_if_few(snapshot, find_candidates(snapshot, query.conditions), _N)
        hits = memory.parts.vectors.search(snapshot, vector, candidates, scoring.blend_depth(request.n))
    ids: list[int] = hits.ids[: request.n].tolist()
    return ids


def fuse(method: str, text: Ranking, vector: Ranking, max_score: float) -> Scores:
    """Fuse two rankings as recall does by the parameter `fusion`: `scores` or `rrf`."""
    text_ids, vector_ids = ([hit.memory_id for hit in ranking] for ranking in (text, vector))
    if method == "scores":
        bm25, distances = (np.array([hit.measure for hit in ranking]) for ranking in (text, vector))
        hits = measures.Measures.of(text_ids, bm25=-bm25)
        hits = hits.join(measures.Measures.of(vector_ids, cosine=1.0 - distances))
        return hits.by_id(scoring.blend(hits, _WEIGHTS, max_score))
    return scoring.reciprocal_rank_fusion(text_ids, vector_ids, _WEIGHTS, 60)


@contextmanager
def plainer_words(*, without_stop_words: bool, stems: bool) -> Iterator[None]:
    """Index and query words without a list of stop words, or without stemming."""
    before = {name: vars(tokens)[name] for name in ("STOP_WORDS", "stem")}
    omitted = stop_words.STOP_WORDS if without_stop_words else frozenset()
    cached = (tokens.indexed_text, vars(tokens)["_indexed_word"], analyse)
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


def text_statistics(
    path: Path, words: Sequence[str], collections: Iterable[str]
) -> Iterator[tuple[str, bm25.Statistics]]:
    """Read what BM25 knows of words in each of some collections of a file; `*` is all of them together."""
    with closing(Database(Parameters(db_path=str(path)), read_only=True)) as database, database.snapshot() as reader:
        for collection in collections:
            yield collection, bm25.read_statistics(reader, words, () if collection == "*" else (collection,))


def load_model(model: str) -> Embedder:
    """Load an embedding model."""
    return FastEmbedEmbedder(model)


def query_vector(embedder: Embedder, query: str) -> Vector:
    """Return the vector of a query as a memory computes it."""
    role = profile_of(embedder.name).query
    vector: Vector = role.centred(embedder.embed_one(role.prefix + query)[np.newaxis], [query])[0]
    return vector


def passage_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts as a memory computes them."""
    role = profile_of(embedder.name).passage
    return role.centred(embedder.embed_batch([role.prefix + text for text in texts]), texts)


def find_model(name: str) -> str:
    """Return the folder of an embedding model given by name or path; empty if there is none, or none is named."""
    return str(find_folder(name) or "") if name else ""


def describe_model(model: str) -> dict[str, Any]:
    """Return what another program needs to load the same model."""
    files = inspect(Path(model))
    return {"folder": model, "onnx": files.onnx, "dim": files.dim, "cls_pooling": files.cls_pooling}
