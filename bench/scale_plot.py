"""Draws the medians over the sizes; runs in the peers' environment, where matplotlib is.

python scale_plot.py <points.json> <plot.png>
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_SHOWN = (
    "hybrid recall", "with a 5 % filter", "with a 1-in-100,000 filter", "nearest object with label and text",
    "nearest object without text", "time window",
)  # fmt: skip


def main() -> None:
    """Writes the plot."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    points = json.loads(Path(sys.argv[1]).read_text())
    figure, axes = pyplot.subplots(2, 3, figsize=(14, 8), sharex=True)
    lines = sorted({(point["system"], point["world"]) for point in points}, key=lambda line: (line[0] != "ours", line))
    for axis, sort in zip(axes.flat, _SHOWN, strict=True):
        for index, (system, world) in enumerate(lines):
            line = sorted(
                (point["size"], point["p50"])
                for point in points
                if (point["system"], point["world"], point["sort"]) == (system, world, sort)
            )
            if line:
                ours = system == "ours"
                axis.plot(
                    *zip(*line, strict=True), marker="o", color=f"C{index}", linewidth=2.5 if ours else 1.2,
                    label=f"{system}, {world}" if ours else system,
                )  # fmt: skip
        axis.set(title=sort, xscale="log", yscale="log", xlabel="memories", ylabel="p50, ms")
        axis.grid(visible=True, which="major", alpha=0.3)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=len(labels))
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
