"""Which sections of a parameter file a node reads, as rcl takes them."""

from __future__ import annotations

import pytest

from robotmem_ros.memory.config.parameter_file import Section, misnamed, sections


@pytest.mark.parametrize(
    ("section", "node", "reads"),
    [
        ("/**", "/memory", True),
        ("/**", "/robot1/arm/memory", True),
        ("memory", "/memory", True),
        ("/memory", "/memory", True),
        ("memory", "/robot1/memory", False),
        ("/*/memory", "/robot1/memory", True),
        ("/*/memory", "/memory", False),
        ("/**/memory", "/memory", True),
        ("/**/memory", "/a/b/memory", True),
        ("/*", "/memory", True),
        ("/*", "/a/memory", False),
        ("robot1/memory", "/robot1/memory", True),
        ("mem.ry", "/memory", False),
    ],
)
def test_a_section_is_read_by_the_nodes_that_its_name_fits(section: str, node: str, *, reads: bool) -> None:
    assert Section(section, {}).is_read_by(node) is reads


def test_namespaces_may_be_nested() -> None:
    content = {"robot1": {"memory": {"ros__parameters": {"n": 1}}, "amcl": {"ros__parameters": None}}, "note": 3}
    assert list(sections(content)) == [Section("robot1/memory", {"n": 1}), Section("robot1/amcl", {})]


def test_the_sections_of_other_nodes_are_no_mistake() -> None:
    content = {"/**": {"ros__parameters": {}}, "amcl": {"ros__parameters": {"autostart": True, "n": 1, "m": 2}}}
    assert misnamed(content, "/memory", {"autostart"}) == []
    robots: dict[str, object] = {"robot1/memory": {"ros__parameters": {}}, "robot2/memory": {"ros__parameters": {}}}
    assert misnamed(robots, "/robot2/memory", set()) == []
    assert len(misnamed(robots, "/memory", set())) == 2


@pytest.mark.parametrize("content", [None, 5, [], {}, {"a": 1}])
def test_what_has_no_sections_has_no_misnamed_ones(content: object) -> None:
    assert misnamed(content, "/memory", set()) == []
