"""Select what to know the next time: the facts that fit what a session was about.

    worth = fit * confidence now * (1 + outcome) / 2
    fit = (relevance + 3 * evidence + 5 * likeness) / 9

A session is about the texts of its context and of its memories: what was learned, perceived and recalled in it.
`relevance` is that of the fact to these texts; `evidence` is the mean of the three greatest relevances in the session
of the fact, perceptions included; `likeness` is the share of that session's context that this session is about:

    likeness = sum of idf(w) over the words of its context that are in these texts / (1 + sum over all of its words)
    idf(w) = ln(1 + (N - n + 0.5) / (n + 0.5)),  where n of N sessions of the collection have w in their contexts

so what all sessions share says nothing. A fact outside any session is its own evidence. A session without an outcome
counts as 0.5. The weights were chosen on the written sessions of `bench episodes`.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ..conditions.decay import DEFAULT_CONFIDENCE, Decay
from ..models import Session
from ..search.result import Hit, RecallResult
from ..storage import session_rows
from ..storage.rows import read, statuses
from ..storage.snapshot import Snapshot
from ..text import tokens
from ..validation import has_word

EVIDENCE, LIKENESS = 3.0, 5.0
"""The weights of evidence and likeness beside that of relevance, which is 1."""
UNRATED = 0.5
LEAST_FIT, LEAST_SHARE = 0.05, 0.7
"""Facts that fit less, or are worth less than this share of the best one, are not offered."""
_BEST = 3
_LATEST = 1000
"""Number of sessions whose contexts are compared, the latest ones."""
_ALIKE = 5
"""Number of sessions with the most similar contexts whose facts are all considered."""
_RECALL_SIZE = 100
_MEMORIES, _LETTERS = 10, 2000

Recall = Callable[..., RecallResult]
"""The verb `recall` of a memory."""


class Subject(NamedTuple):
    """Subject of a session."""

    session: Session
    texts: tuple[str, ...]
    """The texts of its context as one, and those of its memories as one, if there are any."""


class Fact(NamedTuple):
    """A fact that may be offered."""

    id: int
    session_id: str
    confidence: float


class Findings(NamedTuple):
    """Results of recalls about a session."""

    relevance: Mapping[int, float]
    """Relevance of memories by their ids."""
    evidence: Mapping[str, float]
    """Evidence of sessions by their ids."""
    facts: frozenset[Fact]


def subject(snapshot: Snapshot, session: Session) -> Subject:
    """Read what a session is about; what was recalled in it is forgotten when it ends.

    What most sessions have in their contexts, such as the name of the robot, says nothing.
    """
    sessions = session_rows.other_ended(snapshot, session, _LATEST)
    counts = Counter(value for ended in sessions for value in set(_values(ended.context_json)))
    values = dict.fromkeys(value for value in _values(session.context_json) if 2 * counts[value] <= len(sessions))
    memories = dict.fromkeys(session_rows.subject_texts(snapshot, session, _MEMORIES))
    texts = ("\n".join(text for _, text in values if text), "\n".join(memories))
    return Subject(session, tuple(text[:_LETTERS] for text in texts if has_word(text[:_LETTERS])))


def find(about: Subject, recall: Recall) -> Findings:
    """Recall what has to do with a session; not within a snapshot, since a database in RAM has one connection."""
    relevance: defaultdict[int, float] = defaultdict(float)
    session_of: dict[int, str] = {}
    facts: set[Fact] = set()
    for text in about.texts:
        of_text = partial(
            recall, text, _RECALL_SIZE, collection=about.session.collection,
            excluded_session_ids=about.session.session_id, count_usage=False,
            time_words=False, min_relevance=0.0,  # a text is long, and what fits too little is left out below
        )  # fmt: skip
        sure = of_text(min_confidence=DEFAULT_CONFIDENCE, kinds="fact")
        facts |= {Fact(memory.id, memory.session_id, memory.confidence) for memory in sure.memories}
        for hit in (*of_text(min_confidence=0.0), *sure):
            relevance[hit.id] = max(relevance[hit.id], hit.relevance)
            session_of[hit.id] = hit.memory.session_id
    of_session: defaultdict[str, list[float]] = defaultdict(list)
    for memory_id, session_id in session_of.items():
        of_session[session_id].append(relevance[memory_id])
    evidence = {session_id: sum(sorted(relevances)[-_BEST:]) / _BEST for session_id, relevances in of_session.items()}
    return Findings(relevance, evidence, frozenset(facts))


def proactive(snapshot: Snapshot, about: Subject, findings: Findings, decay: Decay, n: int) -> tuple[Hit, ...]:
    """Return at most `n` facts of the collection from outside a session, best first; the score of the best is 1.0."""
    fits = _fits(snapshot, about, findings, decay, n)
    outcomes = session_rows.outcomes(snapshot, {fact.session_id for fact in fits})
    worth = {
        fact.id: fit * fact.confidence * (1 + outcomes.get(fact.session_id, UNRATED)) / 2
        for fact, fit in fits.items()
        if fit >= LEAST_FIT
    }
    best = sorted(worth, key=lambda memory_id: (-worth[memory_id], -memory_id))[:n]
    best = [memory_id for memory_id in best if worth[memory_id] >= LEAST_SHARE * worth[best[0]]]
    memories = read(snapshot, best, decay)
    return tuple(Hit(memories[memory_id], worth[memory_id] / worth[best[0]]) for memory_id in best)


def _fits(snapshot: Snapshot, about: Subject, findings: Findings, decay: Decay, n: int) -> Mapping[Fact, float]:
    likeness = likenesses(about, session_rows.other_ended(snapshot, about.session, _LATEST))
    # Since the recall some may have been withdrawn or deleted.
    now = statuses(snapshot, [fact.id for fact in findings.facts])
    facts = {fact for fact in findings.facts if now.get(fact.id, ("",))[0] == "active"}
    for session_id in sorted(likeness, key=lambda session_id: -likeness[session_id])[:_ALIKE]:
        surest = session_rows.surest_facts(
            snapshot, session_id, about.session.collection, decay, threshold=DEFAULT_CONFIDENCE, n=n
        )
        facts |= {Fact(fact.id, session_id, fact.confidence) for fact in surest}

    def fit(fact: Fact) -> float:
        relevance = findings.relevance.get(fact.id, 0.0)
        evidence = findings.evidence.get(fact.session_id, 0.0) if fact.session_id else relevance
        like = likeness.get(fact.session_id, 0.0)
        return (relevance + EVIDENCE * evidence + LIKENESS * like) / (1 + EVIDENCE + LIKENESS)

    return {fact: fit(fact) for fact in facts}


def likenesses(about: Subject, sessions: Iterable[session_rows.EndedSession]) -> dict[str, float]:
    """Return the likeness of sessions to a subject by the words of their contexts, in [0, 1)."""
    words = {session.session_id: context_words(session.context_json) for session in sessions}
    counts = Counter(word for session_words in words.values() for word in session_words)
    idf = {word: math.log(1 + (len(words) - n + 0.5) / (n + 0.5)) for word, n in counts.items()}
    subject_words = context_words(about.session.context_json).union(*map(tokens.query_words, about.texts))
    return {
        session_id: sum(map(idf.__getitem__, common & subject_words)) / (1 + sum(map(idf.__getitem__, common)))
        for session_id, common in words.items()
    }


def context_words(context_json: str) -> frozenset[str]:
    """Return the words of the texts of a context, and its other values with their paths."""
    return frozenset(
        word
        for path, text in _values(context_json)
        for word in (tokens.query_words(text) if text is not None else [path])
    )


def _values(context_json: str) -> Iterator[tuple[str, str | None]]:
    """Yield the texts of a context, and its other values as `path=value` without a text."""

    def walk(value: object, path: str) -> Iterator[tuple[str, str | None]]:
        if isinstance(value, dict):
            for name, item in value.items():
                yield from walk(item, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            for item in value:
                yield from walk(item, path)
        else:
            yield f"{path}={json.dumps(value)}", value if isinstance(value, str) else None

    return walk(json.loads(context_json), "")
