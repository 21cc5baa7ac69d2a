"""Estimate how many tokens of a language model a text takes, rather too many than too few.

Tokenizers differ, and none is here. What they have in common: a short English word is one token, a long one a token for
each four letters; figures go in groups of three at most, here of two; each sign is one; what is not ASCII takes about
two tokens for three bytes of UTF-8 at most, so two for a Chinese character.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[\x21-\x7e]|\n|[^\x00-\x7f]+")


def estimate(text: str) -> int:
    """Return the estimate for a text."""
    return sum(_of_piece(piece) for piece in _PIECE.findall(text))


def _of_piece(piece: str) -> int:
    if not piece.isascii():
        return -(-len(piece.encode("utf-8", "replace")) * 2 // 3)
    if piece.isalpha():
        return -(-len(piece) // 4)
    return -(-len(piece) // 2) if piece.isdigit() else 1
