"""What the demos do and show: a patrol goes into a node, and questions are put to it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tabulate import tabulate

from demo.planner import DemoError, Planner
from demo.questions import Question
from robotmem_ros.msg import MemoryStatus

_SPEED = 100.0
_HEAD = ("question", "answer", "score", "distance", "mode", "time", "the recording's truth", "")
_WIDTHS = [20, 29, None, None, None, None, 25, None]


def play(
    planner: Planner,
    recording: Path,
    count: int,
    *,
    between: range | None = None,
    progress: Callable[[int], None] = lambda number: None,
) -> None:
    """Play so many perceptions, all of a recording or those of a time, and wait until the node has embedded them all.

    `progress` is called with the number of each.

    Raises:
        DemoError: the node did not store all.
    """

    def tell(number: int, total: int) -> None:
        show(f"playing  {number} of {total}, {_SPEED:.0f} times as fast", last=number == total)
        progress(number)

    planner.play(recording, speed=_SPEED, progress=tell, between=between)
    planner.wait_until(lambda: _is_stored(planner.status, count), seconds=30.0, purpose="all is stored and embedded")
    status = planner.status
    vectors = "all with vectors" if not status.pending_vectors else f"no vectors: {status.reason}"
    show(f"stored   {status.stored} of {count}, {vectors}; queries run on {status.mode}", last=True)


def _is_stored(status: MemoryStatus, count: int) -> bool:
    """Tell whether all is stored, and embedded if there is a model.

    Raises:
        DemoError: perceptions were dropped.
    """
    if status.dropped:
        raise DemoError(f"{status.dropped} perceptions were dropped: {', '.join(status.drop_reasons)}")
    show(f"stored   {status.stored} of {count}, {status.pending_vectors} wait for their vectors")
    hopeless = status.mode != "hybrid" and status.reason and "being loaded" not in status.reason
    return bool(status.stored == count and (status.pending_vectors == 0 or hopeless))


def put(planner: Planner, questions: Sequence[Question]) -> int:
    """Ask, print the answers, and return how many are not the truth."""
    rows, wrong = [], 0
    for question in questions:
        response, milliseconds = planner.recall(question.request)
        true = question.holds(response)
        wrong += not true
        first = response.memories[0] if response.memories else None
        rows.append(
            (
                question.words,
                question.answer(response),
                f"{first.score:.2f}" if first else "-",
                _metres(first.distance) if first else "-",
                response.mode or "-",
                f"{milliseconds:.1f} ms",
                question.truth if true else f"NOT SO: {question.truth}",
                "✓" if true else "✗",
            )
        )
    print(f"\n{tabulate(rows, _HEAD, tablefmt='grid', maxcolwidths=_WIDTHS, disable_numparse=True)}\n")
    return wrong


def _metres(distance: float) -> str:
    return "-" if math.isnan(distance) else f"{distance:.2f} m"


def show(line: str, *, last: bool = False) -> None:
    """Print a line that the next one replaces on a terminal; elsewhere print only the last one."""
    if sys.stdout.isatty():
        print(f"\r\033[K{line}", end="\n" if last else "", flush=True)
    elif last:
        say(line)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)
