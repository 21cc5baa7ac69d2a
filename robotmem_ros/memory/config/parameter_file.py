"""Sections of a ROS parameter file: those that a node reads, and those that probably should be its own but are not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..errors import did_you_mean

KEY = "ros__parameters"


class Section(NamedTuple):
    """The parameters below one name of a node, such as "memory", "/robot1/memory" or "/**"."""

    node: str
    parameters: object

    def is_read_by(self, full_name: str) -> bool:
        """Tell whether a node with this name and namespace, such as "/memory", gets these parameters."""
        pattern = ""
        for token in self.node.strip("/").split("/"):
            pattern += "(/[^/]+)*" if token == "**" else "/" + re.escape(token).replace(r"\*", "[^/]*")
        return re.fullmatch(pattern, full_name) is not None


def sections(content: Mapping[Any, object], prefix: str = "") -> Iterator[Section]:
    """Yield the sections in the order of the file; namespaces may be nested."""
    for name, values in content.items():
        if not isinstance(values, Mapping):
            continue
        node = f"{prefix}{name}"
        if KEY in values:
            yield Section(node, values[KEY] or {})
        else:
            yield from sections(values, f"{node}/")


def misnamed(content: object, full_name: str, parameter_names: Collection[str]) -> list[str]:
    """Report sections of a file that the node ignores but was probably meant to read.

    A file may serve many nodes: another node's section is meant for this one if its name is alike, or if most of its
    keys are in `parameter_names`, those of this node, unless this node has its own section.
    """
    blocks = list(sections(content)) if isinstance(content, Mapping) else []
    if any("*" not in section.node and section.is_read_by(full_name) for section in blocks):
        return []
    foreign_blocks = [section for section in blocks if not section.is_read_by(full_name)]
    reports = []
    for section in foreign_blocks:
        near = did_you_mean(section.node.rpartition("/")[2], [full_name.rpartition("/")[2]])
        keys = section.parameters if isinstance(section.parameters, Mapping) else {}
        number = sum(key in parameter_names for key in keys)
        if near or 2 * number > len(keys):
            reports.append(f"section {section.node!r} is not for {full_name!r} and is ignored; name it {full_name!r}")
    if blocks and len(foreign_blocks) == len(blocks) and not reports:
        names = ", ".join(repr(section.node) for section in blocks)
        reports.append(f"it has no section for {full_name!r}, only for {names}")
    return reports
