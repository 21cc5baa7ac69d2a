"""Measure recall on a robot's episodes: queries that need the session, queries without a result, and what to know next.

The set in `bench/data/episodes` was written by hand, by somebody who had not seen the scoring: `sessions.jsonl`
(context, outcome), `episodes.jsonl` (their memories in order, `offset` in seconds from the start), `cases.jsonl`
(queries whose result only its episode explains), `unanswerable.jsonl`, `answerable.jsonl`, and `lessons.jsonl`
(sessions to come, with the facts that would help: grade 2 for the task, 1 for the place). All memories are stored in
one collection, beside those of `bench/data/recall`. Half of the episodes are the split `tune`. The other half, `last`,
is for one look when nothing is to be changed any more.

What to know next is measured after sessions that name their task and place, and after sessions that all have one
context, so that only their memories say what they are about. The new session names task, place and objects in its
context, or in perceptions only. "helpful" is the share of the offered facts, "found" the share of the helpful ones that
are offered.

Intervals are 95 % bootstrap intervals; whole episodes are drawn, since queries about one episode resemble each other.
"""

from __future__ import annotations

import argparse
import copy
import math
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.data import DATA, read_records
from bench.internals.stages import Embedder, load_model
from bench.options import add_model
from bench.table import markdown, show
from robotmem_ros.memory import RobotMemory

FOLDER = DATA / "episodes"
_N = 10
MEASURES = ("hit@1, %", "hit@5, %", "hit@10, %", "MRR")
_BOUNDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_LOSING, _EMPTY = ("answerable", "needs its episode", "both"), ("far", "in-domain", "near", "all")
_SAMPLES = 10_000
_QUANTILES = (5, 25, 50, 75, 95)
_SECOND = 1_000_000_000
_START, _SHIFT = 1_760_000_000 * _SECOND, 6 * 3600 * _SECOND
"""When the first session begins, and the time from the start of a session to that of the next one."""

_QUERY_TIME = _START + 100 * _SHIFT
"""When all is recalled, days after the last session."""

_COMMON_CONTEXT = {"robot": "robot_1"}
_Record = dict[str, Any]
_Ids = dict[str, int]
_WITH, _WITHOUT = "sessions given", "without sessions"


class RankedCase(NamedTuple):
    """A case, and the rank of the first relevant memory: from 1, infinite if it is not among the results."""

    case: _Record
    rank: float

    @property
    def measures(self) -> tuple[float, float, float, float]:
        """Return hit@1, hit@5, hit@10 and the reciprocal rank."""
        return float(self.rank <= 1), float(self.rank <= 5), float(self.rank <= _N), 1 / self.rank


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", choices=("tune", "last"), default="tune", help="half of the set to measure on")
    parser.add_argument("--misses", action="store_true", help="list the cases without a relevant memory in the results")
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    with closing(load_model(options.model)) as embedder, tempfile.TemporaryDirectory() as folder:
        cases, answerable, unanswerable, lessons = (
            [record for record in read_records(FOLDER / f"{name}.jsonl") if record["split"] == options.split]
            for name in ("cases", "answerable", "unanswerable", "lessons")
        )
        cases_by_way: dict[str, list[RankedCase]] = {}
        for way in (_WITHOUT, _WITH):
            path = Path(folder) / f"{way}.db"
            ids = store(path, embedder, sessions=way == _WITH)
            # Looked at in copies, so that no measurement changes what the next one finds.
            with opened_copy(path, embedder) as memory:
                cases_by_way[way] = [_rank(memory, ids, case) for case in cases]
        path_of_shared = Path(folder) / "shared.db"
        common = path_of_shared, store(path_of_shared, embedder, sessions=True, shared_context=_COMMON_CONTEXT)
        print(f"{len(ids)} memories, split {options.split}, {len(cases)} queries that need their episode, n={_N}\n")
        print(markdown(("memories stored", "queries", *MEASURES), [*_case_rows(cases_by_way)]), end="\n\n")
        if options.misses:
            print("Not among the results, with sessions given:")
            for case, rank in cases_by_way[_WITH]:
                if math.isinf(rank):
                    print(f"  {case['link']}: {case['query']} ({', '.join(case['relevant'])})")
            print()
        print("Queries with and without a right result, with sessions given; `score` is that of the first result:\n")
        with opened_copy(path, embedder) as memory:
            head = ("queries", "number", "with results, %", f"hit@{_N}, %", *(f"score p{q}" for q in _QUANTILES))
            show(head, _score_rows(memory, ids, answerable, unanswerable))
            print("Queries that lose their right result, and queries without one that come back empty, in %:\n")
            head = ("min_relevance", *(f"lost: {name}" for name in _LOSING), *(f"empty: {name}" for name in _EMPTY))
            show(head, _relevance_rows(memory, ids, answerable, cases, unanswerable))
        print("What to know next time: facts that a new session is offered when it ends:\n")
        show(
            ("sessions before", "new one", "number", "offered", "helpful, %", "first, %", "found, %", "nDCG"),
            _lesson_rows({"task and place": (path, ids), "one context for all": common}, embedder, lessons),
        )


def opened_copy(path: Path, embedder: Embedder | None) -> RobotMemory:
    """Open a copy of a stored set, with a model or by words alone."""
    # A copy of the embedder, too, since a memory closes its own.
    copied = shutil.copy(path, path.with_name("copy.db"))
    return RobotMemory(copied, embedder=copy.copy(embedder), embedding_model="", clock=lambda: _QUERY_TIME)


def store(path: Path, embedder: Embedder, *, sessions: bool, shared_context: Mapping[str, Any] | None = None) -> _Ids:
    """Store the distractors, and one episode after the other; return the id of each memory in the database."""
    now = _START
    ids: _Ids = {}
    episodes = read_records(FOLDER / "episodes.jsonl")
    with RobotMemory(path, embedder=copy.copy(embedder), clock=lambda: now) as memory:

        def keep(items: Sequence[_Record], context: Mapping[str, Any] | None, outcome: float | None) -> None:
            nonlocal now
            begin = now
            session = memory.start_session(shared_context or context).session_id if sessions else None
            for item in items:
                now = begin + item.get("offset", 0) * _SECOND
                ids[item["id"]] = _save(memory, item, session)
            if session:
                memory.end_session(session, outcome)

        for name, items in _grouped(read_records(DATA / "recall" / "corpus.jsonl")).items():
            keep(items, {"place": name}, None)
        for number, session in enumerate(read_records(FOLDER / "sessions.jsonl"), start=1):
            now = _START + number * _SHIFT
            items = [item for item in episodes if item["session"] == session["id"]]
            keep(items, session["context"], session["outcome"])
        memory.flush()
    return ids


def _grouped(items: Sequence[_Record]) -> dict[str, list[_Record]]:
    names = dict.fromkeys(item["session"] for item in items)
    return {name: [item for item in items if item["session"] == name] for name in names}


def _save(memory: RobotMemory, item: Mapping[str, Any], session: str | None) -> int:
    if item.get("kind") == "fact":
        return memory.learn(item["content"], session_id=session, category=item.get("category")).memory_id
    # Not as objects, since an object keeps the text of its first sighting alone.
    return memory.save_perception(
        item["content"], session_id=session, label=item.get("label"), pose=item.get("position"), as_object=False
    ).memory_id


def _rank(memory: RobotMemory, ids: _Ids, case: _Record) -> RankedCase:
    relevant = {ids[item] for item in case["relevant"]}
    ranks = (
        rank
        for rank, hit in enumerate(memory.recall(case["query"], n=_N, min_relevance=0.0), start=1)
        if hit.id in relevant
    )
    return RankedCase(case, next(ranks, math.inf))


def _case_rows(cases_by_way: Mapping[str, Sequence[RankedCase]]) -> Iterator[tuple[str, ...]]:
    for way, cases in cases_by_way.items():
        yield way, str(len(cases)), *with_intervals(cases, [case.measures for case in cases])
    before, after = cases_by_way[_WITHOUT], cases_by_way[_WITH]
    gains = [tuple(np.subtract(a.measures, b.measures)) for b, a in zip(before, after, strict=True)]
    yield "difference", str(len(after)), *with_intervals(after, gains)
    groups: dict[str, Callable[[_Record], bool]] = {
        f"{key} {value}": lambda case, key=key, value=value: case[key] == value  # type: ignore[misc]
        for key in ("link", "language")
        for value in dict.fromkeys(case.case[key] for case in after)
    }
    for name, belongs in groups.items():
        selection = [case for case in after if belongs(case.case)]
        yield f"{_WITH}, {name}", str(len(selection)), *with_intervals(selection, [case.measures for case in selection])


def with_intervals(cases: Sequence[RankedCase], values: Sequence[tuple[float, ...]]) -> Iterator[str]:
    """Yield a cell for each measure: its mean, and the bounds of its interval."""
    table = np.array(values)
    names = [case.case["episode"] for case in cases]
    of_episode = [np.array([name == episode for name in names]) for episode in dict.fromkeys(names)]
    sums = np.array([table[rows].sum(axis=0) for rows in of_episode])
    counts = np.array([rows.sum() for rows in of_episode])
    samples = np.random.default_rng(1).integers(len(counts), size=(_SAMPLES, len(counts)))
    means = sums[samples].sum(axis=1) / counts[samples].sum(axis=1, keepdims=True)
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    for name, *numbers in zip(MEASURES, table.mean(axis=0), low, high, strict=True):
        scale, digits = (1, 3) if name == "MRR" else (100, 1)
        yield "{} ({} to {})".format(*(f"{scale * number:.{digits}f}" for number in numbers))


def _score_rows(
    memory: RobotMemory, ids: _Ids, answerable: Sequence[_Record], unanswerable: Sequence[_Record]
) -> Iterator[tuple[str, ...]]:
    hits = statistics.fmean(_rank(memory, ids, case).rank <= _N for case in answerable)
    yield _score_row(memory, "answerable", answerable, f"{100 * hits:.1f}")
    for distance in dict.fromkeys(case["distance"] for case in unanswerable):
        selection = [case for case in unanswerable if case["distance"] == distance]
        yield _score_row(memory, f"unanswerable, {distance}", selection, "")
    yield _score_row(memory, "unanswerable", unanswerable, "")


def _score_row(memory: RobotMemory, name: str, cases: Sequence[_Record], hits: str) -> tuple[str, ...]:
    scores = [result[0].score for case in cases if (result := memory.recall(case["query"], n=_N)).memories]
    quantiles = (f"{value:.3f}" for value in np.percentile(scores, _QUANTILES)) if scores else ("",) * len(_QUANTILES)
    return name, str(len(cases)), f"{100 * len(scores) / len(cases):.1f}", hits, *quantiles


def _relevance_rows(
    memory: RobotMemory,
    ids: _Ids,
    answerable: Sequence[_Record],
    cases: Sequence[_Record],
    unanswerable: Sequence[_Record],
) -> Iterator[tuple[str, ...]]:
    groups = [[case for case in group if _rank(memory, ids, case).rank <= _N] for group in (answerable, cases)]
    groups.append([*groups[0], *groups[1]])
    groups += [[case for case in unanswerable if name in (case["distance"], "all")] for name in _EMPTY]
    best = [[_best_relevance(memory, case) for case in group] for group in groups]
    default = memory.min_relevance
    for bound in sorted({*_BOUNDS, default}):
        mark = " (default)" if bound == default else ""
        yield f"{bound:g}{mark}", *(below(group, bound) for group in best)


def _best_relevance(memory: RobotMemory, case: _Record) -> float:
    return max((hit.relevance for hit in memory.recall(case["query"], n=_N, min_relevance=0.0)), default=0.0)


def below(relevances: Sequence[float], bound: float) -> str:
    """Return how many are below a bound, in percent."""
    return f"{100 * sum(relevance < bound for relevance in relevances) / max(len(relevances), 1):.1f}"


class Offer(NamedTuple):
    """The grades of the facts that a session was offered, in their order (0: does not help), and of all that help."""

    grades: tuple[int, ...]
    helpful: tuple[int, ...]

    @property
    def ndcg(self) -> float:
        """Return the discounted gain of the offer, divided by that of the best offer of as many facts."""
        best = sorted(self.helpful, reverse=True)[: max(len(self.grades), 1)]
        return _gain(self.grades) / _gain(best)


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _offer(path: Path, embedder: Embedder, ids: _Ids, lesson: _Record, *, in_context: bool) -> Offer:
    grade_of = {ids[item["id"]]: item["grade"] for item in lesson["helpful"]}
    context = lesson["context"]
    with opened_copy(path, embedder) as memory:
        session = memory.start_session({**_COMMON_CONTEXT, **context} if in_context else _COMMON_CONTEXT).session_id
        for thing in () if in_context else (context["task"], context["place"], *context["objects"]):
            memory.save_perception(thing, session_id=session)
        facts = memory.end_session(session).proactive
    return Offer(tuple(grade_of.get(fact.id, 0) for fact in facts), tuple(grade_of.values()))


def _lesson_rows(
    ways: Mapping[str, tuple[Path, _Ids]], embedder: Embedder, lessons: Sequence[_Record]
) -> Iterator[tuple[str, ...]]:
    for name, (path, ids) in ways.items():
        for source, in_context in (("context", True), ("perceptions", False)):
            offered = [_offer(path, embedder, ids, lesson, in_context=in_context) for lesson in lessons]
            yield name, source, *_offer_cells(offered)


def _offer_cells(offered: Sequence[Offer]) -> Iterator[str]:
    facts = sum(len(offer.grades) for offer in offered)
    helpful = sum(grade > 0 for offer in offered for grade in offer.grades)
    first = statistics.fmean(any(offer.grades[:1]) for offer in offered)
    shares = (helpful / max(facts, 1), first, helpful / sum(len(offer.helpful) for offer in offered))
    yield from (str(len(offered)), str(facts), *(f"{100 * share:.1f}" for share in shares))
    yield f"{statistics.fmean(offer.ndcg for offer in offered):.3f}"
