"""Create the virtual environments of the peers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers import chroma, emem, lancedb, qdrant_edge, robotmem, sqlite_vec, zvec

VECTOR_STORES = {
    "zvec": zvec, "qdrant-edge": qdrant_edge, "lancedb": lancedb, "emem": emem, "chroma": chroma,
    "sqlite-vec": sqlite_vec,
}  # fmt: skip
WITH_WORDS = ("zvec", "qdrant-edge", "lancedb")
"""Those that search words too."""


def of_vector_stores(folder: Path) -> Path:
    """Return the interpreter of the environment of all vector stores, which has matplotlib too."""
    requirements = [store.REQUIREMENT for store in VECTOR_STORES.values()]
    return _create(
        folder / "scale",
        [*requirements, "numpy", "matplotlib"],
        "sqlite_vec, chromadb, lancedb, emem.store, zvec, qdrant_edge, matplotlib",
    )


def of_robotmem(folder: Path) -> Path:
    """Return the interpreter of the environment of the published robotmem."""
    name = robotmem.REQUIREMENT.replace("==", "-")
    return _create(folder / name, [robotmem.REQUIREMENT], "robotmem, fastembed, sqlite_vec")


def _create(folder: Path, requirements: Sequence[str], imports: str) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"creating an environment for {', '.join(requirements)} in {folder}; once, some minutes", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run([python, "-c", f"import {imports}"], check=False, capture_output=True).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "--disable-pip-version-check", *requirements], check=True)
    return python
