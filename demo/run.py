#!/usr/bin/env python3
"""Play a recorded patrol into a real memory node, and let a planner ask about it.

make demo           asks, prints the answers beside the truth, and ends; exit code 1 if an answer is not the truth
make demo KEEP=1    leaves the node running until Ctrl-C, and shows its memory in a browser
make demo FLEET=1   three robots share what they know, while their network and their database fail
python3 demo/run.py --ask "red mug"    asks the memory node of this shell's ROS_DOMAIN_ID
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import closing
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

try:
    from demo.console import PORT, console
    from demo.memory_node import MemoryNode, free_domain, memory_node
    from demo.planner import DemoError, Planner
    from demo.questions import questions
    from demo.record_patrol import Truth, record
    from demo.stages import play, put, say
    from robotmem_ros.memory import Parameters, RobotMemory
    from robotmem_ros.replay import Bag, Replay, ReplayConfig
    from robotmem_ros.srv import Recall
except ImportError as cause:
    sys.exit(f"demo: {cause}. `make demo` sets everything up; or put it into this shell with `. scripts/env.sh`.")

_DESCRIPTION = "Play a recorded patrol into a memory node and ask about it."


def main() -> int:
    """Run the demo; the exit code is 0 if all answers are the truth."""
    parser = argparse.ArgumentParser(description=_DESCRIPTION)
    parser.add_argument("--fleet", action="store_true", help="three robots that share what they know by PostgreSQL")
    parser.add_argument("--keep", action="store_true", help="leave the nodes running until Ctrl-C")
    parser.add_argument("--ask", metavar="TEXT", help="only ask the memory node that runs on ROS_DOMAIN_ID")
    options = parser.parse_args()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal can show Chinese
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        return _ask(options.ask) if options.ask else _demo(with_fleet=options.fleet, keep=options.keep)
    except DemoError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _demo(*, with_fleet: bool, keep: bool) -> int:
    with tempfile.TemporaryDirectory(prefix="robotmem-demo-") as name:
        folder = Path(name)
        # Nothing may stay behind, logs of ROS included.
        os.environ["ROS_LOG_DIR"] = name
        truth = record(folder / "patrol")
        size = sum(file.stat().st_size for file in (folder / "patrol").iterdir())
        minutes = (truth.end - truth.events[0].stamp) / 60e9
        say(f"patrol   {len(truth.events)} perceptions in {minutes:.1f} minutes, recorded in {size / 1e3:.0f} kB")
        if with_fleet:
            return _fleet(folder, truth, keep=keep)
        return _robot(folder, truth, keep=keep)


def _fleet(folder: Path, truth: Truth, *, keep: bool) -> int:
    try:
        from demo.fleet import show_fleet
    except ImportError as cause:
        raise DemoError(f"{cause}; `make setup` installs what a fleet needs") from cause
    return show_fleet(folder, truth, keep=keep)


def _robot(folder: Path, truth: Truth, *, keep: bool) -> int:
    start, domain = time.monotonic(), free_domain()
    with memory_node(folder, domain) as node:
        with closing(Planner(domain, node.check)) as planner:
            planner.wait_for_node(seconds=30.0)
            seconds = time.monotonic() - start
            say(f"node     memory_node, process {node.process.pid}, ROS domain {domain}, active after {seconds:.1f} s")
            play(planner, folder / "patrol", len(truth.events))
            _import_places(folder / "patrol", node.database)
            wrong = put(planner, questions(truth))
        verdict = f"answers that are NOT THE TRUTH: {wrong}" if wrong else "all answers are the truth"
        say(f"{verdict}; {time.monotonic() - start:.1f} s")
        if keep:
            _stay(node, domain)
        else:
            say(f"console  `make demo KEEP=1` shows this memory in a browser, at http://127.0.0.1:{PORT}/")
    return 1 if wrong else 0


def _import_places(recording: Path, database: Path) -> None:
    """Import the map of the house and the path of the robot, as another program beside the node."""
    start = time.monotonic()
    config = ReplayConfig(Parameters(), ())
    with Bag(recording) as bag, RobotMemory(database, embedding_model="", session_maintenance=False) as memory:
        replay = Replay(bag, config, memory)
        replay.run()
        memory.flush()
        replay.finish()
        grid = memory.maps.grid()
        if grid is None:
            raise DemoError(f"the map was not stored: {replay.result().map or 'the recording has none'}")
        size, points = f"{grid.width} x {grid.height} cells", len(memory.maps.path())
    say(f"map      {size}, path of {points} points, imported in {time.monotonic() - start:.1f} s beside the node")


def _ask(text: str) -> int:
    with closing(Planner(None)) as planner:
        planner.wait_for_node(seconds=10.0)
        response, milliseconds = planner.recall(Recall.Request(query=text))
    for memory in response.memories:
        print(f"{memory.score:.2f}  {memory.content}  {memory.context}")
    print(f"{response.error or response.mode}, {milliseconds:.1f} ms")
    return 0 if response.success else 1


def _stay(node: MemoryNode, domain: int) -> None:
    call = "ros2 service call /memory/recall robotmem_ros/srv/Recall '{query: red mug}'"
    without_ros2 = "python3 demo/run.py --ask 'red mug'"
    say(f"The node stays until Ctrl-C; its database is {node.database}. In another shell:")
    say(f"  . scripts/env.sh; export ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST")
    say(f"  {call if shutil.which('ros2') else without_ros2}")
    try:
        files = ("--db", str(node.database), "--areas-file", str(node.folder / "areas.yaml"))
        with console(node.folder, *files) as address:
            say(address)
            node.process.wait()
    except KeyboardInterrupt:
        return
    node.check()


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
