"""Contexts and metadata: JSON objects that are stored as text."""

from __future__ import annotations

import json
from typing import Any

from ..errors import MALFORMED, StorageError


def parsed_object(name: str, stored: str) -> dict[str, Any]:
    """Parse a JSON object; `name` says which, such as `context of memory 7`.

    Raises:
        StorageError: it is damaged.
    """
    try:
        parsed: dict[str, Any] = json.loads(stored)
    except MALFORMED as cause:
        raise StorageError(f"read the {name}", cause) from cause
    return parsed
