"""How well lessons that say one thing are told from those that do not: precision and recall on written pairs.

    python3 bench/quality_deduplication.py [--errors]

Of the first pairs every third is held out: nothing was tuned on it. The fresh ones were written later; the adversarial
ones were made to be taken wrongly, and tuned on. `--errors` shows what goes wrong of those that may be tuned on.
Without a model, the stage that compares meanings is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from robotmem_ros.memory.embedding.embedder import Embedder, ModelUnavailableError
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder
from robotmem_ros.memory.learning.deduplication import Limits, same_lesson
from robotmem_ros.memory.learning.wording import wording
from robotmem_ros.memory.parameters import Parameters

PAIRS = Path(__file__).with_name("quality") / "deduplication.tsv"
FRESH, ADVERSARIAL = (PAIRS.with_name(f"deduplication_{name}.tsv") for name in ("fresh", "adversarial"))
NEVER = ("number", "unit", "negation", "outcome")
"""The kinds of pairs of which none may be taken for one."""


class Pair(NamedTuple):
    """Two texts, and whether they are one lesson."""

    is_one: bool
    kind: str
    texts: tuple[str, str]
    held_out: bool


def read_pairs(file: Path = PAIRS) -> list[Pair]:
    """The labelled pairs in their order."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    return [Pair(row[0] == "same", row[1], (row[2], row[3]), index % 3 == 2) for index, row in enumerate(rows)]


def judge(embedder: Embedder | None) -> Callable[[Pair], str]:
    """Gives the method by which a pair is taken for one; empty when it is taken for two."""
    parameters = Parameters()
    limits = Limits(parameters.duplicate_jaccard, parameters.duplicate_cosine)

    def judged(pair: Pair) -> str:
        one, other = pair.texts
        cosine = None if embedder is None else float(embedder.embed_one(one) @ embedder.embed_one(other))
        match = same_lesson(wording(one), wording(other), cosine, limits)
        return match.method if match else ""

    return judged


def load_model() -> Embedder | None:
    """The default model, or None where it is not installed."""
    try:
        return FastEmbedEmbedder(os.environ.get("ROBOTMEM_MODEL", Parameters().embedding_model))
    except ModelUnavailableError as error:
        print(f"without a model: {error}", file=sys.stderr)
        return None


def main() -> int:
    """Measures and prints; 1 when a pair that may never be taken for one was."""
    parser = argparse.ArgumentParser(description="Precision and recall of deduplication.")
    parser.add_argument("--errors", action="store_true", help="show the pairs of the tuning set that go wrong")
    options = parser.parse_args()
    model, first, fresh, adversarial = load_model(), read_pairs(), read_pairs(FRESH), read_pairs(ADVERSARIAL)
    pairs = [*first, *fresh, *adversarial]
    forbidden = 0
    print("| deduplication | pairs | precision | recall | taken for one, wrongly |\n|---|---|---|---|---|")
    for name, embedder in (("with the model", model), ("words alone", None)):
        if name == "with the model" and model is None:
            continue
        found = dict(zip(pairs, map(judge(embedder), pairs), strict=True))
        _row(f"{name}: tuned on", [pair for pair in first if not pair.held_out], found)
        _row(f"{name}: held out", [pair for pair in first if pair.held_out], found)
        _row(f"{name}: fresh", fresh, found)
        _row(f"{name}: adversarial", adversarial, found)
        _row(f"{name}: all", pairs, found)
        forbidden += sum(bool(found[pair]) for pair in pairs if pair.kind in NEVER)
        if options.errors:
            for pair in [*(one for one in first if not one.held_out), *adversarial]:
                if bool(found[pair]) != pair.is_one:
                    print(f"{pair.kind} {found[pair]}: {' | '.join(pair.texts)}")
    print(f"\nNumbers, units, negations and outcomes that were merged: {forbidden} (none may be).")
    return 1 if forbidden else 0


def _row(name: str, pairs: Sequence[Pair], found: dict[Pair, str]) -> None:
    taken = [pair for pair in pairs if found[pair]]
    right = sum(pair.is_one for pair in taken)
    precision = right / len(taken) if taken else 1.0
    recall = right / sum(pair.is_one for pair in pairs)
    print(f"| {name} | {len(pairs)} | {precision:.3f} | {recall:.3f} | {len(taken) - right} |")


if __name__ == "__main__":
    raise SystemExit(main())
