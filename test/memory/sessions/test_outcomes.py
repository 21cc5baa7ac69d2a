"""Memories recalled in successful sessions rank higher, by a bounded amount."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import Kind, Parameters, RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.scoring import Weights, apply_steps, rrf_depth, scoring_steps
from robotmem_ros.memory.storage import Database, rows
from robotmem_ros.memory.storage.rows import read_traits
from robotmem_ros.memory.storage.snapshot import Transaction

from ..conftest import OpenMemory


def outcomes(memory: RobotMemory) -> dict[int, tuple[float, float]]:
    """Return the sums of the outcomes and of the shares of each memory."""
    memory.flush()
    with memory.parts.database.snapshot() as snapshot:
        rows = snapshot.rows("SELECT memory_id, total, weight FROM memory_outcomes")
        return {memory_id: (total, weight) for memory_id, total, weight in rows}


def episode(memory: RobotMemory, memory_id: int, outcome: float | None) -> None:
    """Run a session in which one memory is recalled."""
    session = memory.start_session().session_id
    assert len(memory.recall(context_filter={"id": memory_id})) == 1
    memory.end_session(session, outcome)


def test_memories_recalled_in_successful_episodes_rank_higher(memory: RobotMemory) -> None:
    # Equals stand newest first, so the second one leads until the first one has helped.
    first, second = (memory.learn("grasp the glass at its rim").memory_id for _ in range(2))
    memory.flush()
    assert [found.id for found in memory.recall("glass rim", fold=False)] == [second, first]
    episode(memory, first, 1.0)
    assert [found.id for found in memory.recall("glass rim", fold=False)] == [first, second]
    for _ in range(2):
        episode(memory, first, 0.0)
    assert [found.id for found in memory.recall("glass rim", fold=False)] == [second, first]


def test_only_what_was_recalled_while_the_session_was_open_shares_in_its_outcome(memory: RobotMemory) -> None:
    ids = [memory.learn(text).memory_id for text in ("before", "during", "after", "unrated", "other place")]
    lab = memory.learn("lathe", collection="lab").memory_id
    memory.recall("before")
    session = memory.start_session().session_id
    memory.recall(context_filter={"id": ids[1]})
    memory.recall(context_filter={"id": ids[1]})
    memory.recall(context_filter={"id": lab}, collection="lab")
    memory.end_session(session, 0.75)
    memory.recall(context_filter={"id": ids[2]})
    episode(memory, ids[3], None)
    assert outcomes(memory) == {ids[1]: (0.75, 1)}
    episode(memory, ids[1], 0.25)
    assert outcomes(memory) == {ids[1]: (1.0, 2)}
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.row("SELECT count(*) FROM session_recalls") == (0,), "they ended"


def test_a_memory_shares_in_an_outcome_by_its_best_rank(memory: RobotMemory) -> None:
    ids = [memory.learn(f"fact {number}", observed_at=number).memory_id for number in range(3)]
    session = memory.start_session().session_id
    assert [found.id for found in memory.recall(kinds="fact")] == ids[::-1]
    assert [found.id for found in memory.recall(before=2, after=0)] == ids[1::-1]
    memory.end_session(session, 0.5)
    assert outcomes(memory) == {ids[2]: (0.5, 1.0), ids[1]: (0.5, 1.0), ids[0]: (0.25, 0.5)}


def test_the_outcomes_of_concurrent_sessions_all_count(memory: RobotMemory) -> None:
    memory_id = memory.learn("grasp the glass at its rim").memory_id
    one, other = memory.start_session().session_id, memory.start_session().session_id
    memory.recall("glass")
    memory.end_session(one, 1.0)
    memory.end_session(other, 0.5)
    assert outcomes(memory) == {memory_id: (1.5, 2)}


def test_a_weight_of_zero_disables_outcomes(open_memory: OpenMemory) -> None:
    memory = open_memory(outcome_weight=0.0)
    first, second = (memory.learn("grasp the glass at its rim").memory_id for _ in range(2))
    episode(memory, first, 1.0)
    memory.flush()
    assert [found.id for found in memory.recall("glass rim", fold=False)] == [second, first]


@given(
    scores=st.lists(st.floats(0.0, 1.0), max_size=50),
    sessions=st.integers(1, 10**6),
    bound=st.floats(0.0, 0.5),
)
def test_the_weight_follows_its_formula_and_is_bounded(scores: list[float], sessions: int, bound: float) -> None:
    database = Database(Parameters(db_path=":memory:"))
    totals = [(number, score * sessions, sessions) for number, score in enumerate(scores, start=1)]

    def fill(transaction: Transaction) -> None:
        for _ in range(len(scores) + 1):
            rows.insert(transaction, NewMemory(Kind.FACT, "text", "default", 1, "map", ""))
        transaction.executemany("INSERT INTO memory_outcomes VALUES (?, ?, ?)", totals)

    database.write(fill).result()
    steps, ids = scoring_steps(Parameters(outcome_weight=bound)), range(1, len(scores) + 2)
    with database.snapshot() as snapshot:
        weights = np.ones(len(ids))
        traits = read_traits(snapshot, ids)
    database.close()
    apply_steps(weights, {one - 1: traits[one] for one in traits}, steps)
    *weights, without_outcome = weights.tolist()
    assert without_outcome == 1.0
    assert all(1 - bound <= weight <= 1 + bound for weight in weights)
    expected = [1 + bound * (2 * (score * sessions + 1) / (sessions + 2) - 1) for score in scores]
    assert weights == pytest.approx(expected)


@given(
    n=st.integers(1, 100),
    k=st.integers(1, 1000),
    real=st.floats(0.1, 10.0),
    contradicted=st.floats(0.1, 1.0),
    bound=st.floats(0.0, 0.5),
)
def test_a_memory_that_no_search_returned_cannot_reach_the_best_n_by_its_weight(
    n: int, k: int, real: float, contradicted: float, bound: float
) -> None:
    parameters = Parameters(fusion="rrf", real_weight=real, contradicted_weight=contradicted, outcome_weight=bound)
    depth = rrf_depth(n, k, Weights(0.5, 0.5), scoring_steps(parameters))
    outside = max(real, 1.0) * (1 + bound) * 2 / (k + 1 + depth)
    nth_best_at_least = min(real, 1.0) * contradicted * (1 - bound) / (k + n)
    assert outside < nth_best_at_least
    assert Parameters().outcome_weight <= 0.5
