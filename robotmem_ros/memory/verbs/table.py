"""Know each verb by its path: what it takes, returns and does, as its owner declares it, and how doors tell its result.

A verb that is declared is here: doors make of this table what they do not say otherwise.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from types import NoneType
from typing import Any, get_origin, get_type_hints

from ..argument import Verbs, arguments_of
from ..display import json_values
from .written import MapVerbs, MemoryVerbs, NoteVerbs, SessionVerbs, TagVerbs

OWNERS: Mapping[str, type[Verbs]] = {
    "": MemoryVerbs, "maps": MapVerbs, "notes": NoteVerbs, "sessions": SessionVerbs, "tags": TagVerbs,
}  # fmt: skip
"""Classes of verbs by the name of the part of a memory that has them."""
_FIELDS = {
    "doctor": "findings", "look": "gone", "maps.path": "points", "object_history": "sightings",
    "sessions.latest": "sessions", "tags.all": "tags",
    "forget": "forgotten", "restore": "restored", "tags.add": "added", "update": "updated",
}  # fmt: skip
"""Names of results that are lists, and of what was done by verbs that return nothing, unless the verb is the name."""
_CHANGING = frozenset({
    "doctor", "forget", "learn", "look", "purge", "restore", "save_perception", "sessions.consolidate", "sessions.end",
    "sessions.start", "tags.add", "tags.remove", "tags.rename", "update",
})  # fmt: skip


@dataclass(frozen=True)
class Verb:
    """A verb of a memory."""

    owner: str
    """The part of a memory that has it, such as `tags`; empty for the memory itself."""
    name: str

    @property
    def path(self) -> str:
        """Return its name as an attribute of a memory, such as `tags.add`."""
        return f"{self.owner}.{self.name}".lstrip(".")

    @property
    def request(self) -> Any:
        """Return the dataclass of its arguments."""
        return self._types[0]

    @property
    def result(self) -> Any:
        """Return the type of its result."""
        return self._types[1]

    @cached_property
    def _types(self) -> tuple[Any, Any]:
        request, result = get_type_hints(OWNERS[self.owner])[f"_{self.name}"].__args__
        return request, result or NoneType

    @property
    def about(self) -> str:
        """Return what it does, in a sentence."""
        text = str(getattr(OWNERS[self.owner], self.name).__doc__).partition("\n\n")[0]
        return f"{' '.join(text.split()).partition('. ')[0].rstrip('.')}."

    @property
    def is_list(self) -> bool:
        """Tell whether its result is a list, and no record with fields of its own."""
        return get_origin(self.result) is tuple

    @property
    def changes(self) -> bool:
        """Tell whether it may change the memory."""
        return self.path in _CHANGING

    @property
    def field(self) -> str:
        """Return the name under which a result that has none of its own is returned."""
        return _FIELDS.get(self.path, self.name)

    def call(self, memory: Any, arguments: Mapping[str, Any]) -> Any:
        """Call it of a memory, or of a client of one."""
        return attrgetter(self.path)(memory)(**arguments)

    def to_json(self, result: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a result as JSON can hold it: a record, a list under its name, or what a verb was done to."""
        if self.result is NoneType:
            return {self.field: arguments[arguments_of(self.request)[0].name]}
        if self.is_list:
            return {self.field: json_values(result)}
        properties = (name for name, entry in inspect.getmembers(type(result)) if isinstance(entry, property))
        values = {name: getattr(result, name) for name in properties if not hasattr(result, f"{name}_json")}
        return {**json_values(result), **{name: value for name, value in values.items() if _is_plain(value)}}


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


VERBS: Mapping[str, Verb] = {
    verb.path: verb
    for owner, written in OWNERS.items()
    for name in vars(written)
    if not name.startswith("_")
    for verb in [Verb(owner, name)]
}
"""All verbs by their paths."""
