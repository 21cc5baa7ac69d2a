"""Tell which texts a model reads, by their script: any two texts that it cannot read are nearly the same to it."""

from __future__ import annotations

import re

_LATIN_ALONE = re.compile(
    r"all-minilm|all-mpnet|-en(-|$)|-english|mxbai-embed-large|nomic-embed-text(?!-v2)", re.IGNORECASE
)
"""Names of models that read English, and with it whatever is written in Latin script; others are taken to read all."""
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uff21-\uff5a]")


def reads(model: str, text: str) -> bool:
    """Return whether a model reads a text: half of its letters or more, if it has any."""
    if text.isascii() or not _LATIN_ALONE.search(model):
        return True
    return 2 * len(_OTHER_SCRIPT.findall(text)) <= sum(map(str.isalpha, text))
