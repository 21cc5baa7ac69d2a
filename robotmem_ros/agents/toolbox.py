"""Open a memory for agents and call tools on it: check arguments, read times, answer every error with a sentence."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..fleet.scope import open_memory
from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from ..memory.errors import RobotMemoryError, did_you_mean, shown
from .desk import CollectionInUse, Desk, RobotClock
from .prompts import NO_ORDERS
from .tool import Tool, check_arguments
from .tools import BY_NAME, TOOLS
from .views import View

_LOG = logging.getLogger(__name__)
_PATIENCE = 20.0
"""Seconds that a recall waits for the model: less than a tool may take."""
_LONGEST_ANSWER = 200_000
"""Characters: about what fits into the context of a model."""


@contextmanager
def opened(path: Path, parameters: Mapping[str, object], *, read_only: bool) -> Iterator[Toolbox]:
    """Open a memory with these parameters, and yield its tools.

    A collection that the parameters do not name is taken from the file, see `CollectionInUse`.

    Raises:
        DatabaseUnusableError: the file cannot be opened.
        InvalidFieldError: a parameter cannot be used.
        StorageError: the file cannot be read.
    """
    # Sessions that expire and budgets are the node's to look after.
    options: dict[str, Any] = {"session_maintenance": False, **parameters}
    clock = RobotClock()
    with open_memory(path, clock=clock, patience=_PATIENCE, read_only=read_only, source="agent", **options) as memory:
        in_use = CollectionInUse(is_fixed="collection" in parameters)
        yield Toolbox(memory, clock, in_use, read_only=read_only)


@dataclass(frozen=True)
class Answer:
    """Answer to a call."""

    text: str
    """Text for a model to read; JSON, if the tool returned values."""
    value: Mapping[str, object] | None = None
    """Values that the tool returned, if it did not return text."""
    is_error: bool = False


class Toolbox:
    """The tools on one memory. Safe to use from several threads.

    Args:
        memory: The memory, opened with this clock.
        clock: The robot's clock.
        in_use: Finds the collection.
        read_only: Whether there are only the tools that change nothing.
    """

    def __init__(
        self,
        memory: RobotMemory,
        clock: RobotClock,
        in_use: CollectionInUse,
        *,
        read_only: bool = False,
    ) -> None:
        self._memory, self._clock, self._in_use, self._read_only = memory, clock, in_use, read_only

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Return the tools that can be called."""
        return tuple(tool for tool in TOOLS if not (self._read_only and tool.writes))

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of the memory."""
        return self._memory.parameters

    def time_limit(self, name: str) -> float:
        """Return the seconds that a call may take."""
        return BY_NAME[name].time_limit if name in BY_NAME else Tool.time_limit

    def wait_for_model(self) -> None:
        """Wait until the embedding model is loaded or cannot be, so that the first answer is as good as the next."""
        self._memory.wait_for_model()

    def desk(self) -> Desk:
        """Return what tools work on now.

        Raises:
            StorageError: the database could not be read.
        """
        self._clock.refresh(self._memory)
        self._in_use.follow(self._memory)
        view = View(self._clock(), self._memory.parameters.memory_frame)
        return Desk(self._memory, view, is_simulated=self._clock.is_simulated, read_only=self._read_only)

    def call(self, name: object, arguments: object) -> Answer:
        """Call a tool; whatever goes wrong is an answer."""
        try:
            result = self._result(name, {} if arguments is None else arguments)
            if isinstance(result, str):
                return Answer(_sendable(result))
            text = json.dumps(result, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except RobotMemoryError as error:
            return Answer(_sendable(str(error)), is_error=True)
        except Exception as error:
            # A mistake of ours: it is for the log, not for a model.
            _LOG.exception("%s failed", shown(name))
            kind = type(error).__name__
            return Answer(f"{shown(name)} failed with an unexpected {kind}; the server's log has it", is_error=True)
        if len(text) > _LONGEST_ANSWER:
            reason = f"the answer would have {len(text):,} characters, more than {_LONGEST_ANSWER:,}"
            return Answer(f"{name}: {reason}; ask for fewer memories", is_error=True)
        text = _sendable(text)
        return Answer(text, json.loads(text))

    def _result(self, name: object, arguments: object) -> object:
        tool = self._tool(name)
        if not isinstance(arguments, Mapping):
            raise CallError(f"arguments: {shown(arguments)} must be a JSON object of the arguments of {tool.name}")
        values = check_arguments(tool, arguments, self.parameters)
        result = tool.run(self.desk(), values)
        return {"note": NO_ORDERS, **result} if tool.quotes and isinstance(result, dict) else result

    def _tool(self, name: object) -> Tool:
        tool = BY_NAME.get(name) if isinstance(name, str) else None
        if tool is None:
            names = [tool.name for tool in self.tools]
            guess = did_you_mean(name, names) if isinstance(name, str) else ""
            raise CallError(f"tool: {shown(name)} is unknown{guess}; there are {', '.join(names)}")
        if tool.writes and self._read_only:
            raise CallError(f"{tool.name}: the memory is open read-only here, so nothing can be changed; only look")
        return tool


def _sendable(text: str) -> str:
    # Text in a damaged file may hold half a character.
    return text.encode("utf-8", "replace").decode("utf-8")


class CallError(RobotMemoryError):
    """A tool cannot be called."""
