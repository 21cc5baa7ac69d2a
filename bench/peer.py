"""The published robotmem as a peer: an environment of its own outside of the repository, and a process in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.measure import Asked
from bench.questions import Question
from bench.world import WorldMemory
from robotmem_ros.memory.embedding.model_files import inspect

REQUIREMENT = "robotmem==0.1.3"
DEFAULT_ENVIRONMENT = Path("~/.cache/robotmem_ros/bench") / REQUIREMENT.replace("==", "-")
_ADAPTER = Path(__file__).resolve().with_name("peer_robotmem.py")


def prepare(folder: Path) -> Path:
    """The interpreter of the peer's environment, which is made first where it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making an environment for {REQUIREMENT} in {folder}; once, about a minute", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    found = subprocess.run([python, "-c", "import robotmem, fastembed, sqlite_vec"], check=False, capture_output=True)
    if found.returncode != 0:
        subprocess.run(
            [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "on", REQUIREMENT],
            check=True,
        )
    return python


class Peer:
    """robotmem in its own process; ended with its input."""

    def __init__(self, python: Path, work: Path, model: Path) -> None:
        files = inspect(model)
        self._model = {
            "folder": str(model),
            "onnx": files.onnx,
            "dim": files.dim,
            "cls_pooling": files.cls_pooling,
        }
        # Its own interpreter sees its own packages only, and its home is not the user's.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment["ROBOTMEM_HOME"] = str(work / "peer_home")
        with (work / "peer.log").open("ab") as log:
            self._child = subprocess.Popen(
                [python, _ADAPTER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                text=True,
            )
        self._log = work / "peer.log"

    def open(self, database: Path) -> None:
        """Opens a database; the model is loaded with the first one.

        Raises:
            RuntimeError: its vector search is off, so that there would be nothing to compare.
        """
        if not self._call("open", {"db_path": str(database), **self._model})["vectors"]:
            raise RuntimeError("the peer's interpreter cannot load sqlite-vec; use the distribution's own python3")

    def load(self, memories: Path, vectors: Path, progress: Callable[[int], None]) -> tuple[float, int]:
        """Learns the world with given vectors; the seconds that took and how many memories were kept."""
        answer = self._call("load", {"memories": str(memories), "vectors": str(vectors)}, progress)
        return answer["seconds"], answer["created"]

    def learn(self, memories: Sequence[WorldMemory], *, similar: bool) -> tuple[float, int]:
        """Learns memories, the model included; `similar` is whether it looks for similar ones first, as published."""
        answer = self._call("learn", {"memories": list(map(as_json, memories)), "similar": similar})
        return answer["seconds"], answer["created"]

    def save(self, memories: Sequence[WorldMemory]) -> float:
        """Saves perceptions, the model included; the seconds that took."""
        return float(self._call("save", {"memories": list(map(as_json, memories))})["seconds"])

    def ask(self, question: Question) -> Asked:
        """Answers one question; the time is that of the call within the peer's process."""
        answer = self._call("recall", {"arguments": question.arguments()})
        return Asked(answer["seconds"], tuple(answer["contents"]))

    def close_database(self) -> None:
        """Closes the database, so that its files are whole."""
        self._call("close", {})

    def end(self) -> None:
        """Ends the process."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(30)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _call(
        self, verb: str, arguments: dict[str, Any], progress: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
        self._child.stdin.flush()
        while line := self._child.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if "progress" not in answer:
                return answer
            if progress is not None:
                progress(answer["progress"])
        raise RuntimeError(f"the peer ended: {self._log.read_text()[-2000:]}")


def as_json(memory: WorldMemory) -> dict[str, Any]:
    """A memory as the peer's process gets it."""
    return {"content": memory.content, "context": memory.context}
