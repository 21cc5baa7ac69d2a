"""The MCP server: the tools, resources and prompts of a toolbox, on whatever transport."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from ..memory.config.parameters import Parameters
from ..memory.errors import RobotMemoryError
from . import prompts, resources
from .tool import MissingPackageError, Tool, hints, json_schema
from .toolbox import Answer, Toolbox

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerMiddleware
    from mcp.server.lowlevel import Server

_LOG = logging.getLogger(__name__)
_AT_ONCE = 4
"""Calls that work at the same time; the others wait for them within their time limit."""
_RESOURCE_LIMIT = 30.0
"""Seconds that a resource or a prompt may take."""
INSTRUCTIONS = f"""\
This is the long-term memory of a robot: facts that were learned, and what was perceived, with place and time.
Before you plan or act, call digest with the task and the place, and recall for details: act on what is known, not on
guesses. Read what matters in full with get_memories.
After each step that taught something, call learn: what worked, with the numbers, what failed and why. Save what you see
with save_perception. Put a task of several steps between start_session and end_session with its outcome.
If a memory proves wrong, update or forget it.
Positions are metres in the memory frame. Times may be ISO 8601 or relative (`3 minutes ago`, `yesterday 14:00`,
`3 分钟前`), by the robot's clock; without a zone they are in the zone of this machine.
{prompts.NO_ORDERS}"""
T = TypeVar("T")


def build(toolbox: Toolbox, version: str) -> Server[Any]:
    """Return the server.

    Raises:
        MissingPackageError: mcp is not installed.
    """
    try:
        import mcp_types as types
        from mcp.server.lowlevel import Server
    except ImportError:
        raise MissingPackageError("mcp") from None
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def call_tool(context: object, params: types.CallToolRequestParams) -> Any:
        limit = toolbox.time_limit(params.name)
        try:
            answer = await _within(limit, limiter, lambda: toolbox.call(params.name, params.arguments))
        except TimeoutError:
            answer = _too_late(toolbox, params.name, limit)
        return _result(answer)

    async def read_resource(context: object, params: types.ReadResourceRequestParams) -> Any:
        contents = await _or_error(limiter, lambda: resources.read(toolbox.desk(), params.uri))
        return types.ReadResourceResult.model_validate({"contents": contents})

    async def get_prompt(context: object, params: types.GetPromptRequestParams) -> Any:
        text = await _or_error(limiter, lambda: prompts.write(toolbox.desk(), params.name, params.arguments or {}))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(messages=[message])

    server: Server[Any] = Server(
        "robotmem",
        version=version,
        title="Robot memory",
        instructions=INSTRUCTIONS,
        on_list_tools=_listing(
            types.ListToolsResult, tools=lambda: [_tool(tool, toolbox.parameters) for tool in toolbox.tools]
        ),
        on_call_tool=call_tool,
        on_list_resources=_listing(types.ListResourcesResult, resources=lambda: resources.RESOURCES),
        on_list_resource_templates=_listing(
            types.ListResourceTemplatesResult, resourceTemplates=lambda: [resources.MEMORY]
        ),
        on_read_resource=read_resource,
        on_list_prompts=_listing(types.ListPromptsResult, prompts=lambda: prompts.PROMPTS),
        on_get_prompt=get_prompt,
    )
    server.middleware.append(_malformed_as_results(toolbox))
    return server


def _listing(result: type[types.Result], **entries: Callable[[], Sequence[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a handler of a request for a list, which has one page."""

    async def answer(context: object, params: object) -> types.Result:
        return result.model_validate({name: make() for name, make in entries.items()})

    return answer


def _malformed_as_results(toolbox: Toolbox) -> ServerMiddleware[Any]:
    """Answer a malformed call with a result that tells a model what to write, before the library refuses it.

    Arguments that came as a JSON text are read.
    """

    async def middleware(ctx: Any, call_next: Any) -> Any:
        params = ctx.params
        if ctx.method != "tools/call" or not isinstance(params, Mapping):
            return await call_next(ctx)
        name, arguments = params.get("name"), params.get("arguments")
        if isinstance(arguments, str):
            with suppress(ValueError, RecursionError):
                arguments = json.loads(arguments or "{}")
        if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
            return _result(toolbox.call(name, arguments))
        return await call_next(replace(ctx, params={**params, "arguments": arguments or {}}))

    return middleware


def _result(answer: Answer) -> types.CallToolResult:
    import mcp_types as types

    content = types.TextContent(text=answer.text)
    return types.CallToolResult(content=[content], structured_content=answer.value, is_error=answer.is_error)


def _tool(tool: Tool, parameters: Parameters) -> dict[str, Any]:
    return {
        "name": tool.name, "title": tool.title, "description": tool.description,
        "inputSchema": json_schema(tool, parameters), "annotations": hints(tool),
    }  # fmt: skip


async def _within(seconds: float, limiter: anyio.CapacityLimiter, work: Callable[[], T]) -> T:
    with anyio.fail_after(seconds):
        # SQLite and the writer cannot be interrupted: what takes too long goes on alone and keeps its place until then.
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)


async def _or_error(limiter: anyio.CapacityLimiter, work: Callable[[], T]) -> T:
    """Do what has no result for errors: they are errors of the protocol, with a sentence of ours."""
    from mcp import MCPError
    from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

    try:
        return await _within(_RESOURCE_LIMIT, limiter, work)
    except TimeoutError:
        raise MCPError(INTERNAL_ERROR, f"it took longer than {_RESOURCE_LIMIT:g} s; try again later") from None
    except RobotMemoryError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    except Exception as error:
        _LOG.exception("a resource or a prompt failed")
        raise MCPError(INTERNAL_ERROR, f"unexpected {type(error).__name__}; the server's log has it") from None


def _too_late(toolbox: Toolbox, name: str, limit: float) -> Answer:
    text = f"{name}: no answer within {limit:g} s"
    if any(tool.name == name and tool.writes for tool in toolbox.tools):
        text += "; what it was to change may still be changed, so look before you try again"
    return Answer(f"{text}; the machine is busy or the file is locked", is_error=True)
