"""How fast recordings are imported: the sample patrol of the demo, and any other; with the model and without."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import yaml

from robotmem_ros.memory import RobotMemory
from robotmem_ros.perception import load_presets
from robotmem_ros.replay import Bag, Replay, load_config


class Imported(NamedTuple):
    """One import."""

    bag: str
    how: str
    stored: int
    messages: int
    span: float
    """Seconds of the recording."""
    seconds: float
    """From opening the recording until all is committed and, with a model, has its vector."""


def measure_import(bag: Path, folder: Path, *, model: str, sampled: bool) -> Imported:
    """Imports all topics of a recording whose type has a preset, into a new file.

    `sampled` is as the presets say, else everything is stored. The model is loaded before.
    """
    how = f"{'sampled' if sampled else 'all'}, {'with the model' if model else 'no model'}"
    config = _config(bag, folder, sampled=sampled)
    database = folder / "import.db"
    for file in folder.glob("import.db*"):
        file.unlink()
    with RobotMemory(database, embedding_model=model) as memory:
        memory.warm_up()
        began = time.perf_counter()
        with Bag(bag) as opened:
            replay = Replay(opened, load_config(config, {"queue_policy": "block"}), memory)
            replay.run()
            memory.flush()
        seconds = time.perf_counter() - began
        result = replay.result()
    stored = sum(counts.stored for counts in result.counts.values())
    return Imported(bag.name, how, stored, result.read, result.span, seconds)


def _config(bag: Path, folder: Path, *, sampled: bool) -> Path:
    known = set(load_presets().types())
    with Bag(bag) as opened:
        topics = {name: topic.type_name for name, topic in opened.topics.items() if topic.type_name in known}
    values: dict[str, object] = {"perception_topics": [f"topic{number}" for number in range(len(topics))]}
    for number, (name, type_name) in enumerate(sorted(topics.items())):
        values[f"topic{number}"] = {"topic": name, "type": type_name, **({} if sampled else {"min_interval": 0.0})}
    path = folder / "import.yaml"
    path.write_text(yaml.safe_dump(values))
    return path
