"""Time the import of recordings: the sample patrol of the demo and any other, with the model and without."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from bench.options import add_model
from bench.table import show
from demo.record_patrol import record
from robotmem_ros.memory import RobotMemory
from robotmem_ros.perception import load_presets
from robotmem_ros.replay import Bag, Replay, load_config

_HEAD = ("recording", "stored is", "messages", "stored", "seconds", "messages/s", "times real time")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bag", type=Path, nargs="+", default=[], help="more recordings to import")
    add_model(parser, required=False)


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-") as folder:
        show(_HEAD, _rows(options, Path(folder)))


def _rows(options: argparse.Namespace, work: Path) -> Iterator[tuple[str, ...]]:
    record(work / "patrol")
    for bag in (work / "patrol", *options.bag):
        for sampled in (True, False):
            for model in dict.fromkeys(("", options.model)):
                yield _import(bag, work, model=model, sampled=sampled)


def _import(bag: Path, work: Path, *, model: str, sampled: bool) -> tuple[str, ...]:
    # All topics with a preset for their type, into a new file. The model is loaded before, and all is committed and has
    # its vector at the end.
    config = _config(bag, work, sampled=sampled)
    for file in work.glob("import.db*"):
        file.unlink()
    with RobotMemory(work / "import.db", embedding_model=model) as memory:
        memory.warm_up()
        start = time.perf_counter()
        with Bag(bag) as recording:
            replay = Replay(recording, load_config(config, {"queue_policy": "block"}), memory)
            replay.run()
            memory.flush()
        seconds = time.perf_counter() - start
        result = replay.result()
    count = sum(counts.stored_count for counts in result.counts.values())
    way = f"{'sampled' if sampled else 'all'}, {'with the model' if model else 'no model'}"
    return (
        bag.name, way, str(result.read), str(count), f"{seconds:.2f}", f"{result.read / seconds:,.0f}",
        f"{result.span / seconds:,.0f}",
    )  # fmt: skip


def _config(bag: Path, work: Path, *, sampled: bool) -> Path:
    preset_types = set(load_presets())
    with Bag(bag) as recording:
        topics = {name: topic.type_name for name, topic in recording.topics.items() if topic.type_name in preset_types}
    values: dict[str, object] = {"perception_topics": [f"topic{number}" for number in range(len(topics))]}
    for number, (name, type_name) in enumerate(sorted(topics.items())):
        values[f"topic{number}"] = {"topic": name, "type": type_name, **({} if sampled else {"min_interval": 0.0})}
    path = work / "import.yaml"
    path.write_text(yaml.safe_dump(values))
    return path
