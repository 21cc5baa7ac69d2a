"""What is kept of a fact beside its memory: why it is what it is, how often it was learned, what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

CALLER, REPETITION = "caller", "repetition"
"""What decided where no rule did: who gave it with the fact or a correction, or when the fact was learned again."""


class Decision(NamedTuple):
    """One thing that was decided about a memory when it was learned."""

    field: str
    """`category`, `confidence`, `tag`, `scope_file`, `scope_entity`, or a path such as `params.grip_force`."""
    value: str
    rule: str
    """The name of the rule that decided; several are joined by ` + `. `caller`: it was given; `repetition`: when the
    fact was learned again."""

    @property
    def is_given(self) -> bool:
        """Whether a caller decided it, and not a rule."""
        return self.rule in {CALLER, REPETITION}


class Repetition(NamedTuple):
    """A fact that was learned again."""

    repeated_at: int
    """Nanoseconds since the epoch, by the wall clock."""
    session_id: str
    content: str
    """The words of the repetition."""
    method: str
    """`exact`, `jaccard` or `cosine`."""
    similarity: float
    confidence_before: float
    observed_before: int
    """When it was observed last before: nanoseconds since the epoch, by the robot's clock."""
    gave: Mapping[str, object]
    """What its caller gave with it, by the names of the fields."""


class Contradiction(NamedTuple):
    """A fact that contradicts another one."""

    memory_id: int
    reason: str
    """In what, such as `force: 12.5 N, now 15 N`."""
    content: str
    is_newer: bool
    """Whether it is the one to believe."""
