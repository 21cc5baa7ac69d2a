"""What makes two labels one: they are kept as they were given, and compared by their key."""

from __future__ import annotations

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=4096)
def label_key(label: str) -> str:
    """What a label is compared by, whatever its case, its spaces, and how its accents are encoded."""
    # Canonical caseless matching of the Unicode Standard (3.13, D145), composed so that it is short.
    folded = unicodedata.normalize("NFD", label).casefold()
    return unicodedata.normalize("NFC", " ".join(folded.split()))
