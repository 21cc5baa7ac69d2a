"""Run commands of `robotmem` that lines of the standard input give as JSON, and print how each ended.

A line is `{"commands": [[WORD, ...], ...], "read": [FILE.db, ...]}`. It is answered by `ok`, by `named` if a command
refused what it got, or by `raw` with the traceback. The files to read must be readable: a refusal there is raw, too.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from robotmem_ros.cli.main import main as run_command
from robotmem_ros.memory import RobotMemory, open_memory


def answer(request: dict[str, Any]) -> str:
    """Run the commands of one request, then read what they may have stored."""
    is_refused = False
    for command in request["commands"]:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            try:
                is_refused |= run_command(command) != 0
            except SystemExit as end:
                is_refused |= end.code not in {0, None}
    for path in request["read"]:
        read_all(Path(path))
    return "named" if is_refused else "ok"


def read_all(path: Path) -> None:
    """Read a file in every way, and write to it: nothing that was stored may keep that from working."""
    if not path.exists():
        return
    notes = path.with_name("notes")
    folders: dict[str, Any] = {"notes_folders": [str(notes)]} if notes.exists() else {}
    with open_memory(path, embedding_model="", **folders) as memory:
        memory.flush()
        memory.save_perception("a red box", label="box", pose=(1.0, 2.0, 0.0))
        read_memory(memory)
        memory.retain()


def read_memory(memory: RobotMemory) -> None:
    """Read a memory in every way."""
    memory.recall("red box lamp", n=50, include_unconfirmed=True, count_usage=False)
    memory.recall(labels=["lamp", "box"], spatial_sort=(1, 2, 0), n=50, count_usage=False)
    memory.objects(include_unconfirmed=True)
    page = memory.timeline(n=100, include_forgotten=True)
    memory.get_memories([entry.id for entry in page], include_forgotten=True)
    memory.counts("labels")
    memory.density()
    memory.changes_since()
    memory.status()
    memory.doctor()


def main() -> None:
    """Answer requests until the standard input ends."""
    logging.disable(logging.CRITICAL)
    # Commands set the standard streams up, which cannot be done to one that was read.
    output = os.dup(sys.stdout.fileno())
    for line in os.fdopen(os.dup(sys.stdin.fileno())):
        try:
            text = answer(json.loads(line))
        except BaseException:
            text = f"raw {traceback.format_exc()[-600:]!r}"
        os.write(output, f"{text}\n".encode())


if __name__ == "__main__":
    main()
