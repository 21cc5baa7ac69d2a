"""The values of a context by dot path, and the positions among them."""

from __future__ import annotations

import json

from robotmem_ros.memory.conditions.places import context_field
from robotmem_ros.memory.context_path import points, values_of


def test_values_are_addressed_by_dot_paths() -> None:
    context = {"a": {"b": 1, "c": {"d": None}}, "e": [1, {"f": 2}], "": 3, "g.h": 4, "i": {}, "名": "字", "$j": 5}
    assert dict(values_of(json.dumps(context))) == {
        "a": context["a"], "a.b": 1, "a.c": {"d": None}, "a.c.d": None, "e": [1, {"f": 2}], "i": {}, "名": "字",
        '""': 3, '"g.h"': 4, '"$j"': 5,
    }  # fmt: skip
    assert list(values_of("[1, 2]")) == []


def test_positions_are_arrays_of_two_or_three_numbers() -> None:
    spatial = {
        "two": [1, 2], "three": [1.5, -2, 3], "deep": {"er": [0, 0]}, "one": [1], "four": [1, 2, 3, 4],
        "text": ["1", "2"], "bool": [True, 1], "null": [None, 1], "nested": [[1, 2], [3, 4]], "a.b": [1, 2],
    }  # fmt: skip
    others = {"other": [1, 2], "x": [7, 8], "position": [3, 4], "context": {"position": [5, 6]}}
    context = json.dumps({"spatial": spatial, **others})
    assert {context_field(path): point for path, point in points(values_of(context))} == {
        "spatial.two": [1, 2], "spatial.three": [1.5, -2, 3], "spatial.deep.er": [0, 0],
        'spatial."a.b"': [1, 2], "other": [1, 2], "context.x": [7, 8], "context.position": [3, 4],
        "context.context.position": [5, 6],
    }  # fmt: skip
    for empty in ("[]", "{}", '{"spatial": [1]}', '{"spatial": null}'):
        assert list(points(values_of(empty))) == []
