"""Find the named entities and the quantities in a text.

Entities are files, identifiers, topics, modules, part numbers and places; quantities are numbers with their units and
the names of what they measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ..models import Decision
from ..yaml_file import Entry, read_yaml

QUANTITIES_FILE = Path(__file__).with_name("quantities.yaml")
ANY_KIND = "any"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_DIGIT = re.compile(r"\d")
_NUMBER = r"\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?"
_LOOK_BEHIND, _LOOK_AHEAD = 48, 24
_ASSIGNMENT = re.compile(rf"([A-Za-z_{_HAN}][\w{_HAN}./]*?)\s*(:=|=|:)(\s*)$")
_CLAUSE_END = re.compile(r"[,;.!?，。；！？、\n]\s*$|[,;!?，。；！？、\n]|\.\s")
_EXTENSIONS = (
    "py|pyi|c|cc|cpp|h|hpp|rs|go|js|ts|java|sh|yaml|yml|json|xml|toml|ini|cfg|conf|env|txt|md|rst|csv|urdf|xacro|sdf|"
    "launch|world|pgm|png|jpg|bag|mcap|db|db3|msg|srv|action|log|pt|onnx|stl|dae|service"
)
_FILE = re.compile(rf"(?<![\w/.@-])(?:~|\.{{1,2}})?/?(?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_EXTENSIONS})(?![\w])", re.ASCII)
_NO_NAME = "[坏修开关锁满空停放在的了是有没着正已被充需可不]"
"""With a verb a name ends: 3号门开着 tells of 3号门."""
_PATTERNS = (
    ("topic", re.compile(r"(?<![\w/.:~-])~?/[a-z][a-z0-9_]*(?:/[a-z0-9_]+)*(?![\w/.])", re.ASCII)),
    ("identifier", re.compile(r"(?<![\w./])_*[A-Za-z][A-Za-z0-9]*_\w*[A-Za-z0-9](?![\w/])", re.ASCII)),
    ("identifier", re.compile(r"(?<![\w./])(?:[A-Z][a-z0-9]+){2,}(?![\w/])", re.ASCII)),
    ("identifier", re.compile(r"(?<![\w./])[A-Za-z_]\w*(?=\(\))", re.ASCII)),
    ("module", re.compile(r"(?<![\w./])[a-z_]\w+(?:\.[a-z_]\w+)+(?![\w/(])", re.ASCII)),
    ("part number", re.compile(r"(?<![\w./-])(?=[A-Z0-9-]*\d)[A-Z]{1,6}[A-Z0-9]*-?[0-9]+[A-Za-z]?(?![\w/])", re.ASCII)),
    (
        "place",
        re.compile(
            r"(?<!\w)(?:room|dock|station|door|floor|aisle|shelf|gate|bay|lift|elevator|lab|zone|bin|rack)"
            r" (?:\d+[a-z]?|[A-Z])(?!\w)",
            re.ASCII,
        ),
    ),
    ("place", re.compile(rf"\d+[号號](?:(?!{_NO_NAME})[\u4e00-\u9fff]){{1,3}}|[A-Z]\d?[区區]")),
)
_CODE = re.compile(r"`[^`]+`|\w\(\)|(?<!\S)--\w+|\$\w+|\b[A-Z_]{3,}=\S", re.ASCII)
_MAX_NAMES = 16


class Scope(NamedTuple):
    """Names in a text."""

    files: tuple[str, ...]
    entities: tuple[str, ...]
    has_code: bool
    decisions: tuple[Decision, ...]


class Quantity(NamedTuple):
    """A number in a text."""

    name: str
    """Quantity that it is the value of; empty if the text names none, as in `dock 2`."""
    value: float
    upper: float | None
    """Other end of a range; None for a single number."""
    unit: str
    """As in the data file, such as `m/s`; empty for a plain number."""
    start: int
    end: int
    rule: str
    """Source of the name: `written` (name = value), `word` (a word beside it) or `unit`."""


@dataclass(frozen=True)
class Unit:
    """A unit and the quantity that it measures."""

    symbol: str
    kind: str
    factor: float
    """Factor to the base unit of its kind."""


@dataclass(frozen=True)
class _Vocabulary:
    units: Mapping[str, Unit]
    numbers: re.Pattern[str]
    exact: Mapping[str, Unit]
    lower: Mapping[str, Unit]
    words: re.Pattern[str]
    names: Mapping[str, tuple[str, str]]
    """Kind and name of a quantity by the word for it."""

    def unit(self, spelling: str) -> Unit | None:
        """Return the unit of a spelling; None if there is none."""
        symbol = " ".join(spelling.split())
        return self.exact.get(symbol) or self.lower.get(symbol.lower())


@lru_cache(maxsize=64)  # a fact is classified, and parsed as a statement
def scope(text: str) -> Scope:
    """Return the files and entities that a text names, each once, in order of kind and position."""
    files = tuple(dict.fromkeys(_FILE.findall(text)))[:_MAX_NAMES]
    rest = _FILE.sub(" ", text) if files else text
    entities: dict[str, str] = {}
    for kind, pattern in _PATTERNS:
        for entity in pattern.findall(rest):
            entities.setdefault(entity, kind)
    kinds = dict(list(entities.items())[:_MAX_NAMES])
    decisions = [Decision("scope_file", file, "scope.file path") for file in files]
    decisions += [Decision("scope_entity", entity, f"scope.{kind}") for entity, kind in kinds.items()]
    return Scope(files, tuple(kinds), _CODE.search(rest) is not None, tuple(decisions))


@lru_cache(maxsize=64)  # likewise
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text, in order. The text must be in compatibility form (NFKC)."""
    return tuple(_quantities(text)) if _DIGIT.search(text) else ()


def unit_named(symbol: str) -> Unit | None:
    """Return the unit with this symbol; None if there is none."""
    return _vocabulary().units.get(symbol)


def _quantities(text: str) -> Iterator[Quantity]:
    vocabulary = _vocabulary()
    for match in vocabulary.numbers.finditer(text):
        if match["low"].count(".") > 1:
            continue  # a version
        value = _value(match["sign"], match["low"])
        upper = None if match["high"] is None else _value("", match["high"])
        unit = vocabulary.unit(match["unit"]) if match["unit"] else None
        name, rule = _name(vocabulary, text, match.start(), match.end(), unit)
        if unit is not None and unit.symbol == "°" and name == "temperature":
            unit = vocabulary.unit("°C")
        yield Quantity(name, value, upper, unit.symbol if unit else "", match.start(), match.end(), rule)


def _value(sign: str, digits: str) -> float:
    # 1,200 has a comma between thousands, 12,5 one for a point.
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    whole, *parts = digits.replace(",", ".").split(".")
    number = float(f"{whole}.{parts[0]}" if parts else whole)
    return -number if sign in ("-", "−") else number


def _name(vocabulary: _Vocabulary, text: str, start: int, end: int, unit: Unit | None) -> tuple[str, str]:
    before = text[max(0, start - _LOOK_BEHIND) : start]
    assignment = _ASSIGNMENT.search(before)
    if assignment and (assignment[2] != ":" or unit or ("_" in assignment[1] and assignment[3])):
        return _standard_name(vocabulary, assignment[1]), "written"
    if unit is None:
        return "", ""
    # A degree measures an angle or a temperature.
    kinds = {unit.kind, ANY_KIND} | ({"temperature"} if unit.symbol == "°" else set())
    last = None
    for end_of_clause in _CLAUSE_END.finditer(before):
        last = end_of_clause
    for nearby, nearest_last in ((before[last.end() if last else 0 :], True), (text[end : end + _LOOK_AHEAD], False)):
        fitting = [
            vocabulary.names[match[0].lower()][1]
            for match in vocabulary.words.finditer(nearby)
            if vocabulary.names[match[0].lower()][0] in kinds
        ]
        if fitting:
            return fitting[-1 if nearest_last else 0], "word"
    return unit.kind, "unit"


def _standard_name(vocabulary: _Vocabulary, spelling: str) -> str:
    name = re.sub(rf"[^\w{_HAN}]+", "_", spelling).strip("_")
    return vocabulary.names[name.lower()][1] if name.lower() in vocabulary.names else name


@cache
def _vocabulary() -> _Vocabulary:
    parts = read_yaml("quantities", QUANTITIES_FILE).parts(frozenset({"units", "quantities"}))
    units: dict[str, Unit] = {}
    exact: dict[str, Unit] = {}
    lower: dict[str, Unit] = {}
    for symbol, entry in parts["units"].items():
        fields = entry.parts(frozenset({"quantity", "factor", "exact", "names"}))
        unit = Unit(symbol, fields["quantity"].text(), fields["factor"].number(0.0, 1e12))
        units[symbol] = unit
        exact |= dict.fromkeys(_texts(fields.get("exact")), unit)
        lower |= dict.fromkeys(map(str.lower, _texts(fields.get("names"))), unit)
    names = {
        word.lower(): (kind, name)
        for kind, group in parts["quantities"].items()
        for name, entry in group.items()
        for word in _texts(entry)
    }
    return _Vocabulary(units, _number_pattern(exact, lower), exact, lower, _word_pattern(names), names)


def _texts(entry: Entry | None) -> list[str]:
    return [] if entry is None else [element.text() for element in entry.elements()]


def _number_pattern(exact: Mapping[str, Unit], lower: Mapping[str, Unit]) -> re.Pattern[str]:
    spellings = [(name, True) for name in exact] + [(name, False) for name in lower]
    spellings.sort(key=lambda entry: -len(entry[0]))
    units = "|".join(_unit_pattern(name, is_exact=is_exact) for name, is_exact in spellings)
    # A number is not part of a word or of a longer number: XK4711, 10:15.
    return re.compile(
        rf"(?<![A-Za-z0-9_.])(?<!\d[:-])(?P<sign>(?<![A-Za-z0-9)])[-−])?(?P<low>{_NUMBER})(?![A-Za-z_]*\d*_)"
        rf"(?:\s*(?:-|–|~|to|至|到)\s*(?P<high>{_NUMBER}))?(?:[ \u00a0]?(?P<unit>{units}))?(?![A-Za-z0-9_]*\d)(?!:\d)"
    )


def _unit_pattern(name: str, *, is_exact: bool) -> str:
    pattern = re.escape(name).replace(r"\ ", r"\s+")
    pattern = pattern if is_exact else f"(?i:{pattern})"
    return pattern + (r"(?![A-Za-z_])" if name[-1].isascii() and name[-1].isalpha() else "")


def _word_pattern(names: Mapping[str, tuple[str, str]]) -> re.Pattern[str]:
    longest_first = sorted(names, key=lambda word: -len(word))
    latin = "|".join(re.escape(word) for word in longest_first if word.isascii())
    chinese = "|".join(re.escape(word) for word in longest_first if not word.isascii())
    return re.compile(rf"(?i:(?<![a-z])(?:{latin})(?![a-z]))|{chinese}")
