"""Draw panels of lines by any interpreter that has matplotlib; it runs this file by its path, without our package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple


class Panel(NamedTuple):
    """Lines and axes by the keywords of matplotlib; a line has its data as `x` and `y`."""

    lines: Sequence[dict[str, Any]]
    axes: dict[str, Any]


def plot(panels: Sequence[Panel], columns: int, file: Path, python: str | Path = sys.executable) -> bool:
    """Draw panels into a file by an interpreter; return False if that one has no matplotlib."""
    if subprocess.run([python, "-c", "import matplotlib"], check=False, capture_output=True).returncode != 0:
        return False
    request = json.dumps({"panels": panels, "columns": columns, "file": str(file)})
    subprocess.run([python, __file__], input=request, text=True, check=True)
    return True


def main() -> None:
    """Draw what stdin asks for."""
    request = json.load(sys.stdin)
    panels, columns = request["panels"], request["columns"]
    import_module("matplotlib").use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    rows = -(-len(panels) // columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(4 + 4 * columns, 4 * rows), squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (lines, properties) in zip(grid.flat, panels, strict=False):
        for line in lines:
            axes.plot(line.pop("x"), line.pop("y"), **line)
        axes.set(**properties)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(request["file"], dpi=110)


if __name__ == "__main__":
    main()
