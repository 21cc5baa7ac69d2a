"""The tools as JSON, for agents that do not speak MCP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .schema import json_schema
from .tool import Tool


def hints(tool: Tool) -> dict[str, bool]:
    """Return the hints of a tool, by their names in MCP."""
    return {
        "readOnlyHint": not tool.writes, "destructiveHint": tool.destructive, "idempotentHint": tool.idempotent,
        "openWorldHint": False,
    }  # fmt: skip


def as_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return tools with name, description and input schema, as a message API takes them, and their hints and examples.

    Raises:
        MissingPackageError: pydantic is not installed.
    """
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input_schema": json_schema(tool),
            "annotations": hints(tool),
            "input_examples": [dict(example) for example in tool.examples],
        }
        for tool in tools
    ]


def as_functions(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Return tools as functions of a chat completion.

    Raises:
        MissingPackageError: pydantic is not installed.
    """
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": json_schema(tool)},
        }
        for tool in tools
    ]
