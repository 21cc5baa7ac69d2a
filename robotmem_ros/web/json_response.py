"""JSON of any text, and of numbers that JSON has."""

from __future__ import annotations

import json
import math

from starlette.responses import JSONResponse

from ..memory.errors import shown

_LONGEST = 200


class SafeJSONResponse(JSONResponse):
    """A JSON response that cannot fail: half a character (a lone surrogate) is written as its escape."""

    def render(self, content: object) -> bytes:
        """Return the bytes of a value."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def told(value: object) -> object:
    """Return a bad value as an error tells it: itself if it is short and JSON has it, else its beginning as text."""
    if value is None or isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    return value if isinstance(value, str) and len(value) <= _LONGEST else shown(value)
