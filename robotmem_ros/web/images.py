"""Tell images that a browser may be given from everything else, by their first bytes."""

from __future__ import annotations

_TYPES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str:
    """Return the media type of an image; empty for what is none, such as SVG, which can hold scripts."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _TYPES if data.startswith(begin)), "")
