"""Benchmarks of robotmem_ros: `python3 -m bench` lists the suites, `python3 -m bench SUITE --help` explains one.

- `suites/`: what is measured; a file each, or a folder
- `worlds/`: memories and queries, made from a seed
- `peers/`: other stores, each in a process and a separate virtual environment
- `ros/`: the node in a separate process, and what talks to it
- `internals/`: all that uses parts of robotmem_ros without a public interface
- `data/`: labelled sentences, pairs and queries
- `results/`: reports of runs

Beside these: what suites share. This file imports nothing of ours, since the processes of peers load it too.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository. Processes of the benchmarks run here, and so measure the source beside them."""
