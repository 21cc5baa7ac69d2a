"""Measure the profile of a model on the texts of a memory: the means of its vectors, its curve and its bounds.

A model shows how it spreads cosines by pairs of texts that have nothing to do with each other. The default profile was
fitted to one whose cosines of such pairs have a mean of 0.11 and a standard deviation of 0.1; the curve of another one
is moved and stretched until such a pair is as relevant by it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RobotMemoryError
from ..new_file import new_file
from ..validation import expanded_path
from ..yaml_file import yaml_text
from .embedder import Embedder
from .profile import OWN_PROFILES, Curve, Profile, profile_of, unit

MAX_TEXTS = 2000
MIN_TEXTS = 100
UNRELATED_MEAN, UNRELATED_SPREAD = 0.106, 0.097
"""Of the cosines of all pairs of the English texts of `python3 -m bench recall`, by all-MiniLM-L6-v2."""
_MAX_SIMILAR = 0.99
_CONE = 0.5
"""Length of a mean from which it is subtracted: that of vectors in all directions is nearly 0."""


class CalibrationError(RobotMemoryError):
    """A model cannot be measured on these texts."""


def calibrate(embedder: Embedder, texts: Sequence[str]) -> Profile:
    """Measure a model on texts.

    Raises:
        CalibrationError: there are fewer than `MIN_TEXTS` different ones that the model reads.
        ModelUnavailableError: the model gives no vectors.
    """
    known = profile_of(embedder.name)
    read = [text for text in dict.fromkeys(texts) if known.reads(text)][:MAX_TEXTS]
    if len(read) < MIN_TEXTS:
        msg = f"{len(read)} different texts are read by {embedder.name!r}; at least {MIN_TEXTS} are needed"
        raise CalibrationError(msg)
    raw_vectors = unit(embedder.embed_batch([known.passage_prefix + text for text in read]))
    mean = raw_vectors.mean(axis=0)
    centred = replace(known, mean=mean if float(np.linalg.norm(mean)) >= _CONE else None, latin_mean=None)
    vectors = centred.comparable(raw_vectors, read)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(read), 1)]
    spread, middle = float(cosines.std()), float(cosines.mean())
    stretch = UNRELATED_SPREAD / spread
    reference = Profile()
    slope = reference.curve.cosine * stretch
    curve = Curve(
        cosine=slope,
        share=reference.curve.share,
        bias=reference.curve.bias + reference.curve.cosine * UNRELATED_MEAN - slope * middle,
        unknown_discount=reference.curve.unknown_discount / stretch,
        spread=spread,
    )
    by_spread = 1.0 - (1.0 - reference.similar_cosine) / stretch
    similar = min(max(by_spread, reference.similar_cosine), _MAX_SIMILAR)  # a wrong link is worse than none
    return replace(
        centred, dimension=vectors.shape[1], curve=curve, similar_cosine=similar, min_relevance=reference.min_relevance
    )


def save(profile: Profile, model: str) -> str:
    """Write a profile of a model into the folder of own profiles; return the name that stands for both.

    Raises:
        OSError: the file cannot be written.
    """
    text = yaml_text(_content(profile))
    name = f"{model}@{zlib.crc32(text.encode()):08x}"
    folder = expanded_path("profile", OWN_PROFILES)
    folder.mkdir(parents=True, exist_ok=True)
    # One of that name has this content.
    with suppress(FileExistsError), new_file(folder / f"{Path(name).name.replace(':', '_')}.yaml") as file:
        file.write(text.encode())
    profile_of.cache_clear()
    return name


def _content(profile: Profile) -> dict[str, Any]:
    return {
        **{name: [*values] for name in ("languages", "scripts") if (values := getattr(profile, name))},
        "dimension": profile.dimension,
        **{name: prefix.strip() for name in ("query_prefix", "passage_prefix") if (prefix := getattr(profile, name))},
        **({"projection": profile.projection} if profile.projection else {}),
        **({} if profile.mean is None else {"mean": " ".join(f"{number:.5f}" for number in profile.mean)}),
        "curve": {name: round(value, 4) for name, value in vars(profile.curve).items()},
        "similar_cosine": round(profile.similar_cosine, 4),
        "min_relevance": profile.min_relevance,
    }
