"""A rule: what must stand in a text for it to hold; and all rules of a kind, tried at once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .data_file import Entry
from .phrases import PhraseIndex, why_no_phrase
from .reading import Reading

FEATURES = frozenset(
    {"measurement", "number", "parameter", "path", "code", "identifier", "question", "first_person", "context"}
)
"""What a text can have beside words, for `has`."""
RULE_KEYS = frozenset({"any", "also", "unless", "has", "pattern"})


@dataclass(frozen=True)
class Rule:
    """Holds when `any` or the pattern is in the text, `also` too, all of `has`, and nothing of `unless`."""

    name: str
    any: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    has: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    weight: float = 1.0

    def holds(self, reading: Reading, found: set[str], features: frozenset[str]) -> bool:
        """Whether it holds for a text in which these phrases and features were found."""
        if not self.has <= features or not found.isdisjoint(self.unless):
            return False
        if self.also and found.isdisjoint(self.also):
            return False
        if not self.any and self.pattern is None:
            return True
        if not found.isdisjoint(self.any):
            return True
        return self.pattern is not None and self.pattern.search(reading.text) is not None


class RuleSet:
    """Rules in their order, with the index of their phrases."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: Sequence[Rule] = tuple(rules)
        self._index = PhraseIndex(
            phrase for rule in self.rules for group in (rule.any, rule.also, rule.unless) for phrase in group
        )
        # Places of the rules that a phrase can make hold, and of those that can hold without any.
        self._by_phrase: defaultdict[str, list[int]] = defaultdict(list)
        self._by_themselves: list[int] = []
        for place, rule in enumerate(self.rules):
            for phrase in rule.any:
                self._by_phrase[phrase].append(place)
            if rule.pattern is not None or not rule.any:
                self._by_themselves.append(place)

    def holding(self, reading: Reading, features: frozenset[str]) -> list[Rule]:
        """The rules that hold for a text, in their order."""
        found = self._index.found(reading)
        places = {place for phrase in found for place in self._by_phrase.get(phrase, ())}.union(self._by_themselves)
        tried = (self.rules[place] for place in sorted(places))
        return [rule for rule in tried if rule.holds(reading, found, features)]


def read_rule(name: str, entry: Entry, weight: float = 1.0, extra_keys: frozenset[str] = frozenset()) -> Rule:
    """A rule of a data file.

    Raises:
        InvalidFieldError: something in it cannot be used, or it asks for nothing.
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
        problem = why_no_phrase(element.value)
        if problem:
            raise element.wrong(problem)
        phrases.append(" ".join(str(element.value).split()))
    return tuple(dict.fromkeys(phrases))


def _feature(entry: Entry) -> str:
    if entry.value not in FEATURES:
        raise entry.wrong(f"is unknown; there are {', '.join(sorted(FEATURES))}")
    return str(entry.value)


def _pattern(entry: Entry) -> re.Pattern[str]:
    try:
        return re.compile(entry.text())
    except re.error as cause:
        raise entry.wrong(f"is no regular expression: {cause}") from None
