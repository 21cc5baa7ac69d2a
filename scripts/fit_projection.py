#!/usr/bin/env python3
"""Fit the matrix that brings the vectors of a model nearer to those of another one, the teacher, on texts of WordNet.

A ridge regression W tells the vectors that the teacher gives texts from those of the model. With vectors x and y of
the model, the projection P makes their product half their own and half that of what W tells of them:

    (x P) (y P)^T = (x y^T + c x W (y W)^T) / 2,  c so that W W^T / c has the trace of the identity

A teacher of one language teaches all that the model reads, if the model gives a text and its translation like vectors.

apt-get install wordnet-base; python3 scripts/fit_projection.py /usr/share/wordnet MODEL TEACHER OUT.npy
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder  # noqa: E402
from robotmem_ros.memory.embedding.profile import profile_of, unit  # noqa: E402

_KINDS = {"definition": 7000, "example": 11000, "word": 4000}
"""Numbers of texts."""
_RIDGE = 1e-4
_BATCH = 256
Floats = npt.NDArray[np.float32]


def read_texts(folder: Path) -> list[str]:
    """Choose texts of WordNet, the same each time."""
    texts = [text for part in ("noun", "verb", "adj", "adv") for text in _texts_of(folder / f"data.{part}")]
    chooser = random.Random(1)
    chosen = (chooser.sample([text for of, text in texts if of == kind], count) for kind, count in _KINDS.items())
    return list(dict.fromkeys(text for some in chosen for text in some))


def _texts_of(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        if not line.startswith("  "):  # the licence
            data, gloss = line.split(" | ", 1)
            fields = data.split()
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            yield from (("word", re.sub(r"\(.*\)", "", word).replace("_", " ")) for word in words)
            yield from (("example", example) for example in re.findall(r'"([^"]{12,140})"', gloss))
            yield "definition", re.sub(r';?\s*".*', "", gloss).strip()[:160]


def embed(model: str, texts: list[str]) -> Floats:
    """Return the vectors of passages as they are compared without a projection."""
    embedder, profile = FastEmbedEmbedder(model), replace(profile_of(model), projection="")
    batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
    rows = np.vstack([embedder.embed_batch([profile.passage_prefix + text for text in batch]) for batch in batches])
    return unit(profile.comparable(rows, texts))


def fit(vectors: Floats, taught: Floats) -> Floats:
    """Return the projection of a model with these vectors, of shape (n, dimension), for those of the teacher."""
    identity = np.eye(vectors.shape[1])
    told = vectors.T.astype(np.float64) @ vectors / len(vectors) + _RIDGE * identity
    weights = np.linalg.solve(told, vectors.T.astype(np.float64) @ taught / len(vectors))
    product = weights @ weights.T
    values, axes = np.linalg.eigh((identity + product * (len(identity) / np.trace(product))) / 2)
    projection: Floats = (axes * np.sqrt(values) @ axes.T).astype(np.float32)
    return projection


def main(folder: str, model: str, teacher: str, out: str) -> None:
    """Fit a projection, and write it as numbers of 16 bits."""
    texts = read_texts(Path(folder))
    np.save(out, fit(embed(model, texts), embed(teacher, texts)).astype(np.float16))


if __name__ == "__main__":
    main(*sys.argv[1:])
