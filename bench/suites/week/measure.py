"""Tell weeks to what answers, ask on the way and at the end, and compare with the truth."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.worlds.week import DAY, HOUR, MINUTE, MONDAY, World
from bench.worlds.week.life import LIVING
from bench.worlds.week.truth import Truth, is_near

from .answers import Answers

_ASKED = 150
"""Questions of a kind, at most."""
_HOURS = (10.0, 13.0, 16.0, 19.0)
"""Of the day, at which it is asked what is believed, as in the evening: what moves when is no part of a probability."""
_EVENING = round(22.25 * HOUR)
_LATE = MINUTE
"""By how much the time of a last sighting may be wrong."""
_TENTHS = 10


@dataclass
class Score:
    """What was right of what was asked, in one week or several."""

    right: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    """By the kind of question."""
    counts: Counter[str] = field(default_factory=Counter)
    """What was too much, of each kind, and of how many evenings and comparisons of two of them."""
    bins: defaultdict[int, list[tuple[float, bool]]] = field(default_factory=lambda: defaultdict(list))
    """Probabilities that were given, by tenths, each with whether the thing was there."""

    def add(self, kind: str, is_right: bool) -> None:
        """Count the answer to a question."""
        self.right[kind] += is_right
        self.asked[kind] += 1

    def share(self, kind: str) -> float:
        """Return the share of right answers, NaN if nothing was asked."""
        return self.right[kind] / self.asked[kind] if self.asked[kind] else float("nan")

    def merge(self, other: Score) -> None:
        """Add another score to this one."""
        self.right += other.right
        self.asked += other.asked
        self.counts += other.counts
        for number, pairs in other.bins.items():
            self.bins[number] += pairs


def measure(world: World, truth: Truth, answers: Answers, seed: int) -> Score:
    """Tell a week, and ask."""
    score = Score()
    messages = list(world.messages)

    def tell_until(time: int) -> None:
        told = [message for message in messages if message.arrived < time]
        del messages[: len(told)]
        answers.tell(told, time)
        _ask_for_beliefs(truth, answers, score, time)

    for day in range(world.days):
        for hour in _HOURS:
            tell_until(MONDAY + day * DAY + round(hour * HOUR))
        evening = MONDAY + day * DAY + _EVENING
        tell_until(evening)
        _ask_of_evening(truth, answers, score, evening, is_first=day == 0)
    dice = random.Random(f"questions {seed}")
    for kind, questions in (
        ("where", truth.where_at(dice, _ASKED)),
        ("gone", truth.gone_at(dice, _ASKED)),
        ("any time", truth.any_time(dice, _ASKED)),
    ):
        for question in questions:
            score.add(kind, question.is_answered_by(answers.where_at(question.label, question.time)))
    for usual in truth.usually():
        score.add("usually", is_near(answers.usually(usual.label, usual.hour, world.days), usual.place))
    places = defaultdict(list)
    for belief in answers.believed():
        places[belief.label].append(belief.position)
    for label, place in truth.findable(evening):
        score.add("found", any(is_near(place, other) for other in places[label]))
    return score


def _ask_of_evening(truth: Truth, answers: Answers, score: Score, now: int, *, is_first: bool) -> None:
    for seen in truth.last_seen(now):
        answer = answers.last_seen(seen.label)
        is_right = answer is not None and abs(answer.time - seen.time) <= _LATE and is_near(answer.place, seen.place)
        score.add("last seen", is_right)
    for belief in answers.believed():
        if not truth.is_there(belief.label, belief.position, now):
            if belief.label in LIVING:
                score.counts["persons"] += 1
            elif truth.could_know(belief.label, belief.position, now):
                score.counts["ghosts"] += 1
    score.counts["evenings"] += 1
    if not is_first:
        _ask_for_changes(truth, answers, score, now)


def _ask_for_beliefs(truth: Truth, answers: Answers, score: Score, now: int) -> None:
    for belief in answers.beliefs():
        number = min(int(belief.probability * _TENTHS), _TENTHS - 1)
        score.bins[number].append((belief.probability, truth.is_there(belief.label, belief.position, now)))


def _ask_for_changes(truth: Truth, answers: Answers, score: Score, now: int) -> None:
    since = now - DAY
    told = [change for change in answers.changed_since(since) if change.label not in LIVING]
    for change in truth.changes(since, now):
        score.add(
            "changes",
            any(
                (other.label, other.came) == (change.label, change.came) and is_near(other.place, change.place)
                for other in told
            ),
        )
    score.counts["too many"] += sum(not truth.is_change(change, since, now) for change in told)
    score.counts["comparisons"] += 1


def reliability(score: Score) -> Iterator[tuple[float, float, int]]:
    """Yield the mean probability that was given, the share that was there, and their number, of each tenth."""
    for _, pairs in sorted(score.bins.items()):
        given, there = zip(*pairs, strict=True)
        yield sum(given) / len(given), sum(there) / len(there), len(pairs)
