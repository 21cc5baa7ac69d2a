"""Classify a fact by rules: category, confidence, tags, scope, parameters. Values given by the caller win."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from ..models import CALLER, Decision, NewMemory
from ..text.entities import Quantity, Scope, quantities, scope
from ..text.stemmer import Reading, read
from ..validation import compact_json
from .rules import Rule, Rules, load_rules
from .taxonomy import Taxonomy, load_taxonomy


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
