"""Measure how well facts are classified, on labelled sentences, and the time each takes.

Of the first sentences every third is held out: the rules were not tuned on it, though one hand wrote both, and knew
them. `more` and `second` are in other words and were used to extend the rules; nothing was ever tuned on `fresh` and
`last`; the last ones were first measured when the rules were done.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.data import read_table
from bench.internals.learning import Classifier, as_fact, load_classifier
from bench.table import show

FIRST, FRESH = "classification/first", "classification/fresh"
_MORE_SETS = {"more": "tuned on", "second": "tuned on", "fresh": "never tuned on", "last": "never tuned on"}
_ROUNDS = 5


class Sentence(NamedTuple):
    """A labelled sentence."""

    category: str
    text: str
    held_out: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--errors", action="store_true", help="show what goes wrong of those that may be tuned on")


def run(options: argparse.Namespace) -> None:
    classifier = load_classifier()
    first = read_sentences(FIRST)
    groups = {
        "first, tuned on": [sentence for sentence in first if not sentence.held_out],
        "first, held out": [sentence for sentence in first if sentence.held_out],
        **{f"{name}, {usage}": read_sentences(f"classification/{name}") for name, usage in _MORE_SETS.items()},
    }
    everything = [sentence for group in groups.values() for sentence in group]
    results = {sentence: category_of(classifier, sentence.text) for sentence in everything}
    if options.errors:
        tuned = [group for name, group in groups.items() if name.endswith(", tuned on")]
        for sentence in (sentence for group in tuned for sentence in group):
            if results[sentence] != sentence.category:
                print(f"{sentence.category} -> {results[sentence]}: {sentence.text}")
    groups |= {
        "all English": [sentence for sentence in everything if not _is_chinese(sentence.text)],
        "all Chinese": [sentence for sentence in everything if _is_chinese(sentence.text)],
        "all": everything,
    }
    show(("classification", "sentences", "right", "accuracy"), _rows(groups, results))
    wrong = Counter(sentence.category for sentence in everything if results[sentence] != sentence.category)
    print(f"Missed most: {', '.join(f'{name} {count}' for name, count in wrong.most_common(5)) or 'none'}.")
    times = sorted(_milliseconds_each(classifier, [sentence.text for sentence in everything]))
    print(f"A fact takes {statistics.median(times):.3f} ms, 99 of 100 at most {times[len(times) * 99 // 100]:.3f} ms.")


def read_sentences(name: str = FIRST) -> list[Sentence]:
    """Return the labelled sentences in their order."""
    return [Sentence(category, text, index % 3 == 2) for index, (category, text) in enumerate(read_table(name))]


def category_of(classifier: Classifier, text: str) -> str:
    """Return the category that the rules give a text."""
    return classifier.classify(as_fact(text)).category


def _milliseconds_each(classifier: Classifier, texts: Sequence[str]) -> Iterator[float]:
    for fact in [as_fact(text) for text in texts] * _ROUNDS:
        start = time.perf_counter()
        classifier.classify(fact)
        yield (time.perf_counter() - start) * 1e3


def _rows(groups: dict[str, list[Sentence]], results: dict[Sentence, str]) -> Iterator[tuple[str, ...]]:
    for name, sentences in groups.items():
        right = sum(results[sentence] == sentence.category for sentence in sentences)
        yield name, str(len(sentences)), str(right), f"{right / len(sentences):.3f}"


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)
