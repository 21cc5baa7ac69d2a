"""What tells two lessons apart however alike their words are: numbers, negation, outcome.

"12.5 N holds the glass" and "15 N holds the glass" are two lessons, and so are "the rug stops the robot" and "the rug
does not stop the robot". Merging them would lose one of them, so only lessons with the same distinction are compared.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_NUMBER = re.compile(
    r"(?<![\w.])([-+]?\d+(?:[.,]\d+)?)\s*"
    r"(m/s|rad/s|deg/s|km/h|°c|n·m|nm|mm|cm|km|kg|ms|hz|khz|kpa|pa|bar|px|rad|deg(?:rees?)?|sec(?:onds?)?|min(?:utes?)?|"
    r"percent|newtons?|met(?:er|re)s?|[nmsgvawch%°](?![a-z]))?",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:no|not|never|none|nothing|without|cannot|unable|avoid|fail(?:s|ed|ing|ure)?|wrong|"
    r"slip(?:s|ped)?|drop(?:s|ped)?|lost|broke(?:n)?|crush(?:es|ed)?|unsafe|blocked)\b|n['’]t\b|"
    r"[不没無无未别勿非]|失败|错误|滑落|掉落",
    re.IGNORECASE,
)


class Distinction(NamedTuple):
    """What two lessons must have in common to be compared."""

    numbers: tuple[tuple[str, str], ...]
    """Every number with its unit, in order of size."""
    is_negative: bool
    """Whether it says that something is not so, or failed."""
    success: bool | None
    """`task.success` of its context."""


def distinction(content: str, context_json: str) -> Distinction:
    """The distinction of a lesson by its text and its context."""
    numbers = sorted((_normal(match[1]), (match[2] or "").lower()) for match in _NUMBER.finditer(content))
    return Distinction(tuple(numbers), _NEGATIVE.search(content) is not None, _success(context_json))


def _normal(number: str) -> str:
    return f"{float(number.replace(',', '.')):.12g}"


def _success(context_json: str) -> bool | None:
    task = json.loads(context_json).get("task")
    success = task.get("success") if isinstance(task, dict) else None
    return success if isinstance(success, bool) else None
