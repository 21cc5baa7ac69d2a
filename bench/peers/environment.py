"""Create the virtual environments of the peers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers import chroma, emem, lancedb, robotmem, sqlite_vec

VECTOR_STORES = {"sqlite-vec": sqlite_vec, "chroma": chroma, "lancedb": lancedb, "emem": emem}


def of_vector_stores(folder: Path) -> Path:
    """Return the interpreter of the environment of all vector stores, which has matplotlib too."""
    requirements = [store.REQUIREMENT for store in VECTOR_STORES.values()]
    return _create(
        folder / "scale",
        [*requirements, "numpy", "matplotlib"],
        "sqlite_vec, chromadb, lancedb, emem.store, matplotlib",
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
