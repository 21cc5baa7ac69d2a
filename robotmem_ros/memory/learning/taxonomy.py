"""Read the taxonomy of tags from data files: dimensions, their tags, and the rules that give each tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..storage.tag_rows import TagMeta
from ..text.normal_form import tag_key
from ..validation import expanded_path
from ..yaml_file import Entry, read_yaml
from .rules import RULE_KEYS, Rule, RuleSet, read_rule

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
        return _built_in()
    return _read(read_yaml("taxonomy_file", expanded_path("taxonomy_file", user_file)), _built_in())


@cache
def _built_in() -> Taxonomy:
    return _read(read_yaml("taxonomy_file", TAXONOMY_FILE), Taxonomy({}, {}, {}, {}, RuleSet(())))


def _read(root: Entry, base: Taxonomy) -> Taxonomy:
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
