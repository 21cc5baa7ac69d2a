"""How long a recall takes and how often it is right: ours in process, ours through the service, the peer, in turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure import Answerer, Asked, Series, added, ask_in_turns
from bench.node import Client, Service
from bench.peer import Peer
from bench.questions import Question, conditional_questions, nearest_questions, plain_questions
from bench.world import World
from robotmem_ros.memory import RobotMemory

IN_PROCESS, SERVICE, PEER = "in process", "service", "robotmem"
EMPTY, LEAST = "empty service", "least service"
NEAREST = 60
_WARM_UP = 20
_SEED = 7


class InProcess:
    """Our memory in this process."""

    def __init__(self, memory: RobotMemory) -> None:
        self._memory = memory

    def ask(self, question: Question) -> Asked:
        """Answers one question and says how long that took."""
        arguments = question.arguments()
        began = time.perf_counter()
        answer = self._memory.recall(**arguments)
        return Asked(time.perf_counter() - began, tuple(memory.content for memory in answer))


@dataclass(frozen=True)
class Recalls:
    """The answers of each system to each set of questions."""

    plain: dict[str, Series]
    conditional: dict[str, Series]
    nearest: dict[str, Series]
    conditional_questions: Sequence[Question]
    nearest_questions: Sequence[Question]

    def adds(self, service: str) -> float:
        """Median of what a service adds to the same recall in process, in milliseconds."""
        return added(self.plain[service], self.plain[IN_PROCESS])

    def adds_conditional(self, service: str) -> float:
        """The same with filter and spatial sort."""
        return added(self.conditional[service], self.conditional[IN_PROCESS])


def measure_recall(memory: RobotMemory, client: Client, peer: Peer, world: World, *, questions: int) -> Recalls:
    """Asks every system the same questions, so many of each sort, after a warm-up. No question is asked twice."""
    systems: dict[str, Answerer] = {
        IN_PROCESS: InProcess(memory),
        SERVICE: Service(client, "memory/recall"),
        PEER: peer,
        EMPTY: Service(client, "empty/answer"),
        LEAST: Service(client, "least/answer"),
    }
    plain = plain_questions(questions + _WARM_UP, _SEED)
    conditional = conditional_questions(world, questions + _WARM_UP, _SEED)
    nearest = nearest_questions(world, NEAREST, _SEED)
    ask_in_turns(systems, plain[questions:])
    ask_in_turns(systems, conditional[questions:])
    print(f"  {questions} questions of words alone", flush=True)
    plain_series = ask_in_turns(systems, plain[:questions])
    print(f"  {questions} questions with filter and spatial sort", flush=True)
    conditional_series = ask_in_turns(systems, conditional[:questions])
    print(f"  {NEAREST} questions for the nearest", flush=True)
    nearest_series = ask_in_turns(systems, nearest)
    return Recalls(plain_series, conditional_series, nearest_series, conditional[:questions], nearest)
