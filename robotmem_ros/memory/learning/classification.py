"""Classify a fact by rules: category, confidence, tags, scope, parameters. Values given by the caller win.

Rules on the words of a text, and the taxonomy of tags with the rules that give each tag, are read from data files.
English phrases match word by word in all forms; `*` at the end of a word matches any ending. Chinese phrases match
anywhere, because Chinese has no spaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from ..models import CALLER, Decision, NewMemory
from ..storage.tag_rows import TagMeta
from ..text.entities import Quantity, Scope, quantities, scope
from ..text.letters import has_han
from ..text.normal_form import tag_key
from ..text.stemmer import Reading, read, stems
from ..validation import compact_json, expanded_path
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
    """An index of phrases by their first word, and those that are looked for in the whole text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], bool, str]]] = {}
        self._beginnings: dict[str, str] = {}
        """A space and what a word begins with, by the phrase."""
        self._han: dict[str, str] = {}
        for phrase in dict.fromkeys(phrases):
            self._add(phrase)

    def find(self, reading: Reading) -> set[str]:
        """Return the phrases that occur in a text."""
        words, han = f" {' '.join(reading.words)}", " ".join(reading.runs)
        phrases = {phrase for phrase, beginning in self._beginnings.items() if beginning in words}
        if han:
            phrases |= {phrase for phrase, characters in self._han.items() if characters in han}
        return phrases.union(self._english(reading))

    def _english(self, reading: Reading) -> Iterator[str]:
        forms = reading.stems
        for index, form in enumerate(forms, start=1):
            for rest, is_open, phrase in self._by_first.get(form, ()):
                end = index + len(rest)
                if forms[index:end] == rest or (is_open and _ends_openly(reading.words[index:end], rest)):
                    yield phrase

    def _add(self, phrase: str) -> None:
        if has_han(phrase):
            self._han[phrase] = "".join(phrase.split())
        elif phrase.endswith("*") and " " not in phrase:
            self._beginnings[phrase] = f" {phrase[:-1].lower()}"
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

    def holding(self, reading: Reading, features: frozenset[str]) -> list[Rule]:
        """Return the rules that hold for a text, in order."""
        phrases = self._index.find(reading)
        return [rule for rule in self.rules if rule.holds(reading, phrases, features)]


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
    built_in = _built_in_rules()
    return (
        _read_rules(read_yaml("rules_file", expanded_path("rules_file", user_file)), built_in)
        if user_file
        else built_in
    )


@cache
def _built_in_rules() -> Rules:
    empty = Rules({}, "observation", {}, 0.8, 0.3, 0.95, RuleSet(()), RuleSet(()))
    return _read_rules(read_yaml("rules_file", RULES_FILE), empty)


def _read_rules(root: Entry, base: Rules) -> Rules:
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


TAXONOMY_FILE = Path(__file__).with_name("taxonomy.yaml")
_TAG_KEYS = frozenset({"display_name", "categories"})


@dataclass(frozen=True)
class Taxonomy:
    """The tags and their rules."""

    meta: Mapping[str, TagMeta]
    """Dimensions and tags by name."""
    rules: Mapping[str, Rule]
    """The rule of each tag that has one."""
    categories: Mapping[str, frozenset[str]]
    """The categories that give each tag."""
    by_category: Mapping[str, tuple[str, ...]]
    """The tags of each category."""
    rule_set: RuleSet


def load_taxonomy(user_file: str = "") -> Taxonomy:
    """Load the package's taxonomy; a file of the user adds to or replaces it.

    Raises:
        InvalidFieldError: the file cannot be read, or an entry cannot be used; the error names both.
    """
    if not user_file:
        return _built_in_taxonomy()
    return _read_taxonomy(read_yaml("taxonomy_file", expanded_path("taxonomy_file", user_file)), _built_in_taxonomy())


@cache
def _built_in_taxonomy() -> Taxonomy:
    return _read_taxonomy(read_yaml("taxonomy_file", TAXONOMY_FILE), Taxonomy({}, {}, {}, {}, RuleSet(())))


def _read_taxonomy(root: Entry, base: Taxonomy) -> Taxonomy:
    parts = root.parts(frozenset({"replace", "dimensions"}))
    replace = "replace" in parts and parts["replace"].flag()
    meta: dict[str, TagMeta] = {} if replace else dict(base.meta)
    rules: dict[str, Rule] = {} if replace else dict(base.rules)
    categories: dict[str, frozenset[str]] = {} if replace else dict(base.categories)
    if "dimensions" not in parts:
        raise root.wrong("needs `dimensions`, with the tags of each")
    for dimension_name, entry in parts["dimensions"].items():
        dimension = tag_key(dimension_name)
        fields = entry.parts(frozenset({"display_name", "tags"}))
        meta[dimension] = TagMeta(dimension, None, _display_name(dimension, fields, meta))
        for name, part in fields["tags"].items() if "tags" in fields else ():
            tag = tag_key(name)
            if tag in meta and meta[tag].parent != dimension:
                raise part.wrong(f"is a tag of {meta[tag].parent} already" if meta[tag].parent else "is a dimension")
            keys = part.parts(RULE_KEYS | _TAG_KEYS)
            meta[tag] = TagMeta(tag, dimension, _display_name(tag, keys, meta))
            category_names = keys["categories"].elements() if "categories" in keys else ()
            categories[tag] = frozenset(element.text() for element in category_names)
            rules.pop(tag, None)
            if RULE_KEYS & set(keys):
                rules[tag] = read_rule(f"tag.{tag}", part, extra_keys=_TAG_KEYS)
            elif not categories[tag]:
                raise part.wrong("would never be given; give `any`, `pattern`, `has` or `categories`")
    return Taxonomy(meta, rules, categories, _by_category(categories), RuleSet(rules.values()))


def _display_name(name: str, fields: Mapping[str, Entry], meta: Mapping[str, TagMeta]) -> str:
    if "display_name" in fields:
        return fields["display_name"].text()
    return meta[name].display_name if name in meta else name.replace("_", " ").capitalize()


def _by_category(by_tag: Mapping[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    tags_by_category: dict[str, list[str]] = {}
    for tag, categories in by_tag.items():
        for category in sorted(categories):
            tags_by_category.setdefault(category, []).append(tag)
    return {category: tuple(tags) for category, tags in tags_by_category.items()}


def category(holding: Sequence[Rule], order: Sequence[str], default: str) -> Decision:
    """Return the category with the greatest sum of weights, and its rules; of equals, the first of `order`."""
    votes: dict[str, list[Rule]] = {}
    for rule in holding:
        votes.setdefault(rule.name.partition(".")[0], []).append(rule)
    if not votes:
        return Decision("category", default, "default")
    best = min(votes, key=lambda name: (-sum(rule.weight for rule in votes[name]), order.index(name)))
    return Decision("category", best, " + ".join(rule.name for rule in votes[best]))


def confidence(holding: Sequence[Rule], rules: Rules) -> Decision:
    """Compute the confidence: base + weights of the signals, limited to lowest and highest; in [0, 1]."""
    total = rules.base + sum(rule.weight for rule in holding)
    estimate = round(min(max(total, rules.lowest), rules.highest), 6)
    reasons = " + ".join(f"{rule.name} ({rule.weight:+.2f})" for rule in holding)
    return Decision("confidence", f"{estimate:g}", reasons or "default")


def tags(holding: Sequence[Rule], category: str, taxonomy: Taxonomy) -> list[Decision]:
    """Return a decision for each tag, in alphabetical order."""
    rule_by_tag = {rule.name.removeprefix("tag."): rule.name for rule in holding}
    for tag in taxonomy.by_category.get(category, ()):
        of_category = f"category {category}"
        rule_by_tag[tag] = f"{rule_by_tag[tag]} + {of_category}" if tag in rule_by_tag else of_category
    return [Decision("tag", tag, rule_by_tag[tag]) for tag in sorted(rule_by_tag)]


_MAX_PARAMETERS = 32


def physical_parameters(numbers: Sequence[Quantity]) -> tuple[dict[str, dict[str, object]], list[Decision]]:
    """Return the parameters by name, and how each got its name. A range has `min` and `max` instead of `value`.

    A number without a unit is a parameter only if its name is written with it, as in `max_retries=3`. A second value
    of one name is called `<name>_2`.
    """
    parameters: dict[str, dict[str, object]] = {}
    decisions = []
    for number in numbers:
        if not number.name or len(parameters) >= _MAX_PARAMETERS:
            continue
        name, count = number.name, 1
        while name in parameters:
            count += 1
            name = f"{number.name}_{count}"
        value: dict[str, object] = {"value": _plain(number.value)}
        if number.upper is not None:
            value = {"min": _plain(number.value), "max": _plain(number.upper)}
        parameters[name] = {**value, "unit": number.unit}
        text = " to ".join(f"{number:g}" for number in (number.value, number.upper) if number is not None)
        decisions.append(Decision(f"params.{name}", f"{text} {number.unit}".strip(), f"parameter.{number.rule}"))
    return parameters, decisions


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


_READ = 4000
"""Number of characters that are read: the first words of a fact say what it is."""
SCOPE_FIELDS = {"scope_file": "scope_files", "scope_entity": "scope_entities"}
"""The field of a decision about one name, and the field of a memory for all such names."""
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "i'd", "my", "me", "myself"})


@dataclass(frozen=True)
class Classifier:
    """A classifier of facts by rules. Safe to use from several threads."""

    rules: Rules
    taxonomy: Taxonomy

    def classify(self, new: NewMemory) -> NewMemory:
        """Fill in what the caller of a fact left open, and note each decision with the rule that made it."""
        reading = read(new.content[:_READ])
        numbers = quantities(reading.text)
        names = scope(reading.original)
        features = _features(reading, numbers, names, has_context=new.context != "{}")
        decisions = self._decide(new, reading, features)
        decisions += [decision for decision in names.decisions if SCOPE_FIELDS[decision.field] not in new.given]
        decisions += [Decision(name, getattr(new, name), CALLER) for name in SCOPE_FIELDS.values() if name in new.given]
        context, parameter_decisions = _with_parameters(new.context, numbers)
        return replace(
            new,
            category=decisions[0].value,
            confidence=new.confidence if "confidence" in new.given else float(decisions[1].value),
            tags=tuple(decision.value for decision in decisions if decision.field == "tag" and decision.value),
            scope_files=new.scope_files if "scope_files" in new.given else "\n".join(names.files),
            scope_entities=new.scope_entities if "scope_entities" in new.given else "\n".join(names.entities),
            context=context,
            decisions=(*decisions, *parameter_decisions),
        )

    def _decide(self, new: NewMemory, reading: Reading, features: frozenset[str]) -> list[Decision]:
        rules = self.rules
        if "category" in new.given:
            found_category = Decision("category", new.category, CALLER)
        else:
            holding = rules.category_set.holding(reading, features)
            found_category = category(holding, [*rules.categories], rules.default)
        if "confidence" in new.given:
            found_confidence = Decision("confidence", f"{new.confidence:g}", CALLER)
        else:
            found_confidence = confidence(rules.signal_set.holding(reading, features), rules)
        if "tags" in new.given:
            return [found_category, found_confidence, *tags_given(new.tags)]
        holding = self.taxonomy.rule_set.holding(reading, features)
        return [found_category, found_confidence, *tags(holding, found_category.value, self.taxonomy)]


def tags_given(tags: Sequence[str] | None) -> list[Decision]:
    """Return the decisions of a caller about tags: none for None, one with an empty tag for no tags."""
    return [] if tags is None else [Decision("tag", tag, CALLER) for tag in tags or ("",)]


def load_classifier(rules_file: str = "", taxonomy_file: str = "") -> Classifier:
    """Load the classifier of the package's rules and taxonomy, extended by files of the user.

    Raises:
        InvalidFieldError: a file cannot be used; the error names the file, the entry and what is wrong.
    """
    return Classifier(load_rules(rules_file), load_taxonomy(taxonomy_file))


def classifier_loader(rules_file: str, taxonomy_file: str) -> Callable[[], Classifier]:
    """Return a function that loads the classifier once, when it is first called; with files of the user at once.

    Raises:
        InvalidFieldError: a file cannot be used.
    """
    load = cache(partial(load_classifier, rules_file, taxonomy_file))
    if rules_file or taxonomy_file:
        load()
    return load


def _features(reading: Reading, numbers: Sequence[Quantity], names: Scope, *, has_context: bool) -> frozenset[str]:
    present = {
        "measurement": any(number.unit for number in numbers),
        "number": bool(numbers),
        "parameter": any(number.rule == "written" for number in numbers),
        "path": bool(names.files),
        "code": names.has_code,
        "identifier": any("_" in entity for entity in names.entities),
        "question": "?" in reading.text,
        "first_person": not _FIRST_PERSON.isdisjoint(reading.words) or "我" in reading.text,
        "context": has_context,
    }
    return frozenset(name for name, holds in present.items() if holds)


def _with_parameters(context: str, numbers: Sequence[Quantity]) -> tuple[str, list[Decision]]:
    parameters, decisions = physical_parameters(numbers)
    content = json.loads(context)
    if not parameters or "params" in content:
        return context, []
    return compact_json({**content, "params": parameters}), decisions
