"""Read rules on the words of a text from data files, and find those that hold: for categories, confidence and tags.

The phrases of all rules are found at once, in a time that does not grow with their number. English phrases match word
by word in all forms; `*` at the end of a word matches any ending. Chinese phrases match anywhere, because Chinese has
no spaces.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..text.letters import has_han
from ..text.stemmer import Reading, read, stems
from ..validation import expanded_path
from ..yaml_file import Entry, read_yaml

FEATURES = frozenset(
    {"measurement", "number", "parameter", "path", "code", "identifier", "question", "first_person", "context"}
)
"""Features of a text besides its words, for `has`."""
RULE_KEYS = frozenset({"any", "also", "unless", "has", "pattern"})
_SHORTEST_PREFIX = 3


@dataclass(frozen=True)
class Rule:
    """A rule: it holds if a text has one of `any` or the pattern, one of `also`, all of `has`, none of `unless`."""

    name: str
    any: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    has: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    weight: float = 1.0

    def holds(self, reading: Reading, phrases: set[str], features: frozenset[str]) -> bool:
        """Return whether the rule holds for a text in which these phrases and features were found."""
        if not self.has <= features or not phrases.isdisjoint(self.unless):
            return False
        if self.also and phrases.isdisjoint(self.also):
            return False
        if not self.any and self.pattern is None:
            return True
        if not phrases.isdisjoint(self.any):
            return True
        return self.pattern is not None and self.pattern.search(reading.text) is not None


class _PhraseIndex:
    """An index of phrases by their first word, prefix or character."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], bool, str]]] = {}
        self._by_prefix: dict[str, list[str]] = {}
        self._han: dict[str, str] = {}
        for phrase in dict.fromkeys(phrases):
            self._add(phrase)
        # Lengths of phrases by first character, so that most characters, which begin none, cost one look-up.
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for phrase in self._han:
            lengths[phrase[0]].add(len(phrase))
        self._han_lengths = {first: tuple(sorted(of_first)) for first, of_first in lengths.items()}

        starts: defaultdict[str, set[int]] = defaultdict(set)
        for prefix in self._by_prefix:
            starts[prefix[:_SHORTEST_PREFIX]].add(len(prefix))
        self._prefix_lengths = {start: tuple(sorted(of_start)) for start, of_start in starts.items()}

    def find(self, reading: Reading) -> set[str]:
        """Return the phrases that occur in a text."""
        return {*self._english(reading), *self._beginnings(reading), *self._chinese(reading)}

    def _english(self, reading: Reading) -> Iterator[str]:
        forms = reading.stems
        for index, form in enumerate(forms, start=1):
            for rest, is_open, phrase in self._by_first.get(form, ()):
                end = index + len(rest)
                if forms[index:end] == rest or (is_open and _ends_openly(reading.words[index:end], rest)):
                    yield phrase

    def _beginnings(self, reading: Reading) -> Iterator[str]:
        for word in reading.words if self._by_prefix else ():
            for length in self._prefix_lengths.get(word[:_SHORTEST_PREFIX], ()):
                yield from self._by_prefix.get(word[:length], ())

    def _chinese(self, reading: Reading) -> Iterator[str]:
        for run in reading.runs if self._han else ():
            for start, first in enumerate(run):
                for length in self._han_lengths.get(first, ()):
                    phrase = self._han.get(run[start : start + length])
                    if phrase is not None:
                        yield phrase

    def _add(self, phrase: str) -> None:
        if has_han(phrase):
            self._han["".join(phrase.split())] = phrase
        elif phrase.endswith("*") and " " not in phrase:
            self._by_prefix.setdefault(phrase[:-1].lower(), []).append(phrase)
        else:
            first, *rest = read(phrase).stems
            is_open = phrase.endswith("*")
            if is_open:
                rest[-1] = phrase.rsplit(maxsplit=1)[-1].lower()
            self._by_first.setdefault(first, []).append((tuple(rest), is_open, phrase))


def _ends_openly(words: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    if len(words) != len(rest):
        return False
    return words[-1].startswith(rest[-1][:-1]) and stems(words[:-1]) == rest[:-1]


class RuleSet:
    """Rules in order, with the index of their phrases."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: Sequence[Rule] = tuple(rules)
        self._index = _PhraseIndex(
            phrase for rule in self.rules for group in (rule.any, rule.also, rule.unless) for phrase in group
        )
        # Positions of the rules that hold by a phrase, and of those that can hold without one.
        self._by_phrase: defaultdict[str, list[int]] = defaultdict(list)
        self._by_themselves: list[int] = []
        for place, rule in enumerate(self.rules):
            for phrase in rule.any:
                self._by_phrase[phrase].append(place)
            if rule.pattern is not None or not rule.any:
                self._by_themselves.append(place)

    def holding(self, reading: Reading, features: frozenset[str]) -> list[Rule]:
        """Return the rules that hold for a text, in order."""
        phrases = self._index.find(reading)
        places = {place for phrase in phrases for place in self._by_phrase.get(phrase, ())}.union(self._by_themselves)
        candidates = (self.rules[place] for place in sorted(places))
        return [rule for rule in candidates if rule.holds(reading, phrases, features)]


def read_rule(name: str, entry: Entry, weight: float = 1.0, extra_keys: frozenset[str] = frozenset()) -> Rule:
    """Read a rule of a data file.

    Raises:
        InvalidFieldError: an entry cannot be used, or the rule has no condition.
    """
    parts = entry.parts(RULE_KEYS | extra_keys)
    groups = {key: _phrases(parts[key]) for key in ("any", "also", "unless") if key in parts}
    has = frozenset(_feature(element) for element in parts["has"].elements()) if "has" in parts else frozenset()
    pattern = _pattern(parts["pattern"]) if "pattern" in parts else None
    if not (groups.get("any") or has or pattern):
        raise entry.wrong("would always hold; give `any`, `pattern` or `has`")
    return Rule(name, has=has, pattern=pattern, weight=weight, **groups)


def _phrases(entry: Entry) -> tuple[str, ...]:
    phrases = []
    for element in entry.elements():
        problem = _why_no_phrase(element.value)
        if problem:
            raise element.wrong(problem)
        phrases.append(" ".join(str(element.value).split()))
    return tuple(dict.fromkeys(phrases))


def _why_no_phrase(phrase: object) -> str:
    # Empty if nothing is wrong with it.
    if not isinstance(phrase, str):
        return "must be text; words such as no, on and true want quotes"
    if phrase.endswith("*"):
        core = phrase[:-1].split()[-1] if phrase[:-1].split() else ""
        good = core.isalnum() and len(core) >= _SHORTEST_PREFIX and not has_han(core)
        return "" if good else f"is no beginning of a word of {_SHORTEST_PREFIX} letters or more"
    reading = read(phrase)
    return "" if reading.words or reading.runs else "has no word in it"


def _feature(entry: Entry) -> str:
    if entry.value not in FEATURES:
        raise entry.wrong(f"is unknown; there are {', '.join(sorted(FEATURES))}")
    return str(entry.value)


def _pattern(entry: Entry) -> re.Pattern[str]:
    try:
        return re.compile(entry.text())
    except re.error as cause:
        raise entry.wrong(f"is no regular expression: {cause}") from None


RULES_FILE = Path(__file__).with_name("rules.yaml")
_SECTIONS = frozenset({"replace", "categories", "default", "confidence"})
_CONFIDENCE = frozenset({"base", "lowest", "highest", "signals"})
_WEIGHT = frozenset({"weight"})
_ADD = frozenset({"add"})


@dataclass(frozen=True)
class Rules:
    """The rules for category and confidence."""

    categories: Mapping[str, Mapping[str, Rule]]
    """The rules of each category by name, in the order of precedence."""
    default: str
    """The category if no rule holds."""
    signals: Mapping[str, Rule]
    """The rules that raise or lower the confidence by their weight."""
    base: float
    lowest: float
    highest: float
    category_set: RuleSet
    signal_set: RuleSet


def load_rules(user_file: str = "") -> Rules:
    """Load the package's rules; a file of the user adds to or replaces them.

    Raises:
        InvalidFieldError: the file cannot be read, or an entry cannot be used; the error names both.
    """
    built_in = _built_in()
    return _read(read_yaml("rules_file", expanded_path("rules_file", user_file)), built_in) if user_file else built_in


@cache
def _built_in() -> Rules:
    empty = Rules({}, "observation", {}, 0.8, 0.3, 0.95, RuleSet(()), RuleSet(()))
    return _read(read_yaml("rules_file", RULES_FILE), empty)


def _read(root: Entry, base: Rules) -> Rules:
    parts = root.parts(_SECTIONS)
    replace = "replace" in parts and parts["replace"].flag()
    categories = {} if replace else {name: dict(rules) for name, rules in base.categories.items()}
    if "categories" in parts:
        for category, entry in parts["categories"].items():
            rules = {name: _category_rule(category, name, part) for name, part in entry.items()}
            categories[category] = {**categories.get(category, {}), **rules}
    default = parts["default"].text() if "default" in parts else base.default
    confidence = parts["confidence"].parts(_CONFIDENCE) if "confidence" in parts else {}
    signals = {} if replace else dict(base.signals)
    if "signals" in confidence:
        signals |= {name: _signal(name, part) for name, part in confidence["signals"].items()}
    bounds = {
        name: confidence[name].number(0.0, 1.0) if name in confidence else getattr(base, name)
        for name in ("base", "lowest", "highest")
    }
    if not bounds["lowest"] <= bounds["base"] <= bounds["highest"]:
        raise parts["confidence"].wrong("must have lowest <= base <= highest")
    category_rules = RuleSet(rule for by_name in categories.values() for rule in by_name.values())
    return Rules(
        categories, default, signals, **bounds, category_set=category_rules, signal_set=RuleSet(signals.values())
    )


def _category_rule(category: str, name: str, entry: Entry) -> Rule:
    parts = entry.parts()
    weight = parts["weight"].number(0.0, 100.0) if "weight" in parts else 1.0
    return read_rule(f"{category}.{name}", entry, weight, _WEIGHT)


def _signal(name: str, entry: Entry) -> Rule:
    parts = entry.parts()
    if "add" not in parts:
        raise entry.wrong("needs `add`, the change of the confidence")
    return read_rule(f"confidence.{name}", entry, parts["add"].number(-1.0, 1.0), _ADD)
