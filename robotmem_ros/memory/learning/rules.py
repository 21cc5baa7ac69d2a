"""The rules of categories and of confidence: those of the package, and a file of one's own added to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..paths import expanded
from .data_file import Entry, read_data_file
from .rule import Rule, RuleSet, read_rule

RULES_FILE = Path(__file__).with_name("rules.yaml")
_SECTIONS = frozenset({"replace", "categories", "default", "confidence"})
_CONFIDENCE = frozenset({"base", "lowest", "highest", "signals"})
_WEIGHT = frozenset({"weight"})
_ADD = frozenset({"add"})


@dataclass(frozen=True)
class Rules:
    """What decides category and confidence."""

    categories: Mapping[str, Mapping[str, Rule]]
    """The rules of each category by name, in the order of precedence."""
    default: str
    """The category of what no rule holds for."""
    signals: Mapping[str, Rule]
    """What raises or lowers the confidence, by its weight."""
    base: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class CompiledRules:
    """Rules, ready to be tried."""

    rules: Rules
    categories: RuleSet
    signals: RuleSet


def load_rules(own_file: str = "") -> CompiledRules:
    """The package's rules, with those of a file of one's own added or put in their place.

    Raises:
        InvalidFieldError: the file cannot be read, or an entry cannot be used; the error names both.
    """
    if not own_file:
        return _built_in()
    rules = _read(read_data_file("rules_file", expanded("rules_file", own_file)), _built_in().rules)
    return _compiled(rules)


@cache
def _built_in() -> CompiledRules:
    empty = Rules({}, "observation", {}, 0.8, 0.3, 0.95)
    return _compiled(_read(read_data_file("rules_file", RULES_FILE), empty))


def _compiled(rules: Rules) -> CompiledRules:
    of_categories = (rule for by_name in rules.categories.values() for rule in by_name.values())
    return CompiledRules(rules, RuleSet(of_categories), RuleSet(rules.signals.values()))


def _read(root: Entry, known: Rules) -> Rules:
    parts = root.parts(_SECTIONS)
    replace = "replace" in parts and parts["replace"].flag()
    categories = {} if replace else {name: dict(rules) for name, rules in known.categories.items()}
    if "categories" in parts:
        for category, entry in parts["categories"].items():
            added = {name: _category_rule(category, name, part) for name, part in entry.items()}
            categories[category] = {**categories.get(category, {}), **added}
    default = parts["default"].text() if "default" in parts else known.default
    confidence = parts["confidence"].parts(_CONFIDENCE) if "confidence" in parts else {}
    signals = {} if replace else dict(known.signals)
    if "signals" in confidence:
        signals |= {name: _signal(name, part) for name, part in confidence["signals"].items()}
    bounds = {
        name: confidence[name].number(0.0, 1.0) if name in confidence else getattr(known, name)
        for name in ("base", "lowest", "highest")
    }
    if not bounds["lowest"] <= bounds["base"] <= bounds["highest"]:
        raise parts["confidence"].wrong("must have lowest <= base <= highest")
    return Rules(categories, default, signals, **bounds)


def _category_rule(category: str, name: str, entry: Entry) -> Rule:
    parts = entry.parts()
    weight = parts["weight"].number(0.0, 100.0) if "weight" in parts else 1.0
    return read_rule(f"{category}.{name}", entry, weight, _WEIGHT)


def _signal(name: str, entry: Entry) -> Rule:
    parts = entry.parts()
    if "add" not in parts:
        raise entry.wrong("needs `add`, what it adds to the confidence")
    return read_rule(f"confidence.{name}", entry, parts["add"].number(-1.0, 1.0), _ADD)
