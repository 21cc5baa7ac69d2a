"""How well lessons are classified: the accuracy on labelled sentences, and what a memory costs.

    python3 bench/quality_classification.py [--errors]

Of the first sentences every third is held out: the rules were not tuned on it, though one hand wrote both, and knew
them. `more` and `second` are in other words and were used to extend the rules; nothing was ever tuned on `fresh` and
`last`, of which the last ones were first measured when the rules were done. `--errors` shows what goes wrong of those
that may be tuned on.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from robotmem_ros.memory.learning.classification import Classifier, load_classifier
from robotmem_ros.memory.new_memory import new_fact
from robotmem_ros.memory.parameters import Parameters

SENTENCES = Path(__file__).with_name("quality") / "classification.tsv"
MORE, SECOND, FRESH, LAST = (
    SENTENCES.with_name(f"classification_{name}.tsv") for name in ("more", "second", "fresh", "last")
)
_ROUNDS = 5


class Sentence(NamedTuple):
    """A labelled sentence."""

    category: str
    text: str
    held_out: bool


def read_sentences(file: Path = SENTENCES) -> list[Sentence]:
    """The labelled sentences in their order."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    return [Sentence(category, text, index % 3 == 2) for index, (category, text) in enumerate(rows)]


def category_of(classifier: Classifier, text: str) -> str:
    """The category that the rules give a text."""
    return classifier.classified(new_fact(Parameters(), now=lambda: 1, insight=text)).category


def milliseconds_each(classifier: Classifier, texts: Sequence[str]) -> list[float]:
    """What each classification takes, with what it finds besides the category."""
    facts = [new_fact(Parameters(), now=lambda: 1, insight=text) for text in texts]
    times = []
    for fact in facts * _ROUNDS:
        began = time.perf_counter()
        classifier.classified(fact)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Accuracy of classification.")
    parser.add_argument("--errors", action="store_true", help="show the sentences of the tuning set that go wrong")
    options = parser.parse_args()
    classifier = load_classifier()
    first, more, second, fresh, last = (read_sentences(file) for file in (SENTENCES, MORE, SECOND, FRESH, LAST))
    everything = [*first, *more, *second, *fresh, *last]
    found = {one: category_of(classifier, one.text) for one in everything}
    if options.errors:
        for one in [*(one for one in first if not one.held_out), *more, *second]:
            if found[one] != one.category:
                print(f"{one.category} -> {found[one]}: {one.text}")
    print("| classification | sentences | right | accuracy |\n|---|---|---|---|")
    _row("first, tuned on", [one for one in first if not one.held_out], found)
    _row("first, held out", [one for one in first if one.held_out], found)
    _row("more, tuned on", more, found)
    _row("second, tuned on", second, found)
    _row("fresh, never tuned on", fresh, found)
    _row("last, never tuned on", last, found)
    _row("all English", [one for one in everything if not _is_chinese(one.text)], found)
    _row("all Chinese", [one for one in everything if _is_chinese(one.text)], found)
    _row("all", everything, found)
    wrong = Counter(one.category for one in everything if found[one] != one.category)
    print(f"\nMissed most: {', '.join(f'{name} {count}' for name, count in wrong.most_common(5)) or 'none'}.")
    times = sorted(milliseconds_each(classifier, [one.text for one in everything]))
    print(
        f"A memory takes {statistics.median(times):.3f} ms, 99 of 100 at most {times[len(times) * 99 // 100]:.3f} ms."
    )
    return 0


def _row(name: str, sentences: Sequence[Sentence], found: dict[Sentence, str]) -> None:
    right = sum(found[one] == one.category for one in sentences)
    print(f"| {name} | {len(sentences)} | {right} | {right / len(sentences):.3f} |")


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


if __name__ == "__main__":
    raise SystemExit(main())
