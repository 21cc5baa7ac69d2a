"""Each verb that is a service, declared once: the node serves this table, and clients call by it.

What a row leaves out follows from the verb: the request has a field for each argument, and the response one for each
attribute of the result, by the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any

from robotmem_ros import srv

from ..memory.verbs.table import VERBS as TABLE
from . import responses
from .fields import fill
from .requests import Clock, arguments_of, correction_of, fill_correction, fill_perception, fill_request
from .responses import read, read_field


@dataclass(frozen=True)
class Verb:
    """A verb, and how its arguments and its result come into messages and back."""

    path: str
    """Its name as an attribute of a memory, such as `sessions.start`."""
    service: Any
    arguments: Callable[[Any, Clock], dict[str, Any]] = arguments_of
    """Reads a request into arguments."""
    fill_request: Callable[[Any, Any], Any] = fill_request
    """Fills a request with the arguments of a verb."""
    fill_response: Callable[[Any, Any], object] = fill
    """Fills a response with a result."""
    read: Callable[[Any, Any], Any] | None = None
    """Reads a response into a result, with the request of the verb; by default by the type of the result."""
    field: str = ""
    """The field that is the result."""

    @cached_property
    def name(self) -> str:
        """Return the name of the service: `get_memories` for `GetMemories`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.service.__name__).lower()

    def into(self, response: Any, result: object) -> None:
        """Fill a response with the result."""
        if self.field:
            fill(response, **{self.field: result})
        else:
            self.fill_response(response, result)

    def result(self, request: Any, response: Any) -> Any:
        """Return the result that a response has."""
        if self.read is not None:
            return self.read(request, response)
        if self.field:
            return read_field(self._kind, response, self.field)
        return None if self._kind is NoneType else read(self._kind, response)

    @property
    def _kind(self) -> Any:
        return TABLE[self.path].result


def _service_of(path: str) -> str:
    return re.sub(r"(?:^|[._])([a-z])", lambda letter: letter[1].upper(), path)


_ROWS = (
    Verb("learn", srv.Learn, read=responses.learned_fact),
    Verb("save_perception", srv.SavePerception, fill_request=fill_perception, read=responses.stored_perception),
    Verb("recall", srv.Recall, fill_response=responses.fill_found, read=responses.recall_result),
    Verb("timeline", srv.Timeline),
    Verb("get_memories", srv.GetMemories, read=responses.memories_in_full),
    Verb("counts", srv.List, fill_response=responses.fill_counts, read=responses.counts),
    Verb("tags.all", srv.ListTags, field="tags"),
    Verb("tags.add", srv.AddTag),
    Verb("tags.rename", srv.RenameTag),
    Verb("tags.remove", srv.RemoveTag),
    Verb("forget", srv.Forget),
    Verb("look", srv.Look, field="gone"),
    Verb("restore", srv.Restore),
    Verb("update", srv.Update, arguments=correction_of, fill_request=fill_correction),
    Verb("object_history", srv.ObjectHistory, field="sightings"),
    Verb("events", srv.GetEvents),
    Verb("maps.approach", srv.Approach, fill_response=responses.fill_approach, read=responses.approach),
    Verb("data", srv.GetData, read=responses.data),
    Verb("sessions.start", srv.StartSession),
    Verb("sessions.end", srv.EndSession, fill_response=responses.fill_report, read=responses.report),
    Verb("sessions.consolidate", srv.Consolidate, read=responses.consolidation),
    Verb("doctor", srv.Doctor, field="findings"),
)
_PATHS = {verb.path for verb in _ROWS}
VERBS = (
    *_ROWS,
    *(
        Verb(path, getattr(srv, _service_of(path)), field=verb.field if verb.is_list else "")
        for path, verb in TABLE.items()
        if path not in _PATHS and hasattr(srv, _service_of(path))
    ),
)
"""All verbs that are services: those above, and by themselves those after which a service is named."""
LONG_VERBS = ("backup", "learn_many", "purge", "save_many", "sessions.consolidate")
"""Paths of the verbs that the action `~/work` does, with feedback, and until it is cancelled."""
