"""Count the tokens of notes as the memory estimates them."""

from __future__ import annotations

from robotmem_ros.memory.notes.splitting import count

__all__ = ["count"]
