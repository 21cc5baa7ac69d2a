#!/usr/bin/env python3
"""Play a recorded patrol into a real memory node, and let a planner ask about it.

make demo           asks, prints the answers beside the truth, and ends; exit code 1 if an answer is not the truth
make demo KEEP=1    leaves the node running until Ctrl-C, and shows its memory in a browser
python3 demo/run.py --ask "red mug"    asks the memory node of this shell's ROS_DOMAIN_ID
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

try:
    from tabulate import tabulate

    from demo.console import PORT, console
    from demo.planner import DemoError, Planner
    from demo.questions import Question, questions
    from demo.record_patrol import Truth, record
    from robotmem_ros.memory import Parameters, RobotMemory
    from robotmem_ros.msg import MemoryStatus
    from robotmem_ros.replay import Bag, Replay, ReplayConfig
    from robotmem_ros.srv import Recall
except ImportError as cause:
    sys.exit(f"demo: {cause}. `make demo` sets everything up; or put it into this shell with `. scripts/env.sh`.")

_SPEED = 100.0
_HEAD = ("question", "answer", "score", "distance", "mode", "time", "the recording's truth", "")
_WIDTHS = [20, 29, None, None, None, None, 25, None]
_DESCRIPTION = "Play a recorded patrol into a memory node and ask about it."


def main() -> int:
    """Run the demo; the exit code is 0 if all answers are the truth."""
    parser = argparse.ArgumentParser(description=_DESCRIPTION)
    parser.add_argument("--keep", action="store_true", help="leave the node running until Ctrl-C")
    parser.add_argument("--ask", metavar="TEXT", help="only ask the memory node that runs on ROS_DOMAIN_ID")
    options = parser.parse_args()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal can show Chinese
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        return _ask(options.ask) if options.ask else _demo(keep=options.keep)
    except DemoError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _demo(*, keep: bool) -> int:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="robotmem-demo-") as name:
        folder, domain = Path(name), _free_domain()
        truth = record(folder / "patrol")
        size = sum(file.stat().st_size for file in (folder / "patrol").iterdir())
        minutes = (truth.end - truth.events[0].stamp) / 60e9
        _say(f"patrol   {len(truth.events)} perceptions in {minutes:.1f} minutes, recorded in {size / 1e3:.0f} kB")
        # Nothing may stay behind, logs of ROS included.
        os.environ["ROS_LOG_DIR"] = name
        with _memory_node(folder, domain) as node:
            with closing(Planner(domain, lambda: _check(node, folder))) as planner:
                _fill(planner, folder / "patrol", truth, node, domain)
                _import_places(folder / "patrol", folder / "memory.db")
                wrong = _put(planner, questions(truth))
            verdict = f"answers that are NOT THE TRUTH: {wrong}" if wrong else "all answers are the truth"
            _say(f"{verdict}; {time.monotonic() - start:.1f} s")
            if keep:
                _stay(node, folder, domain)
            else:
                _say(f"console  `make demo KEEP=1` shows this memory in a browser, at http://127.0.0.1:{PORT}/")
    return 1 if wrong else 0


def _fill(planner: Planner, recording: Path, truth: Truth, node: subprocess.Popen[bytes], domain: int) -> None:
    """Play the recording, and wait until the node has stored and embedded all of it."""
    start = time.monotonic()
    planner.wait_for_node(seconds=30.0)
    seconds = time.monotonic() - start
    _say(f"node     memory_node, process {node.pid}, ROS domain {domain}, active after {seconds:.1f} s")
    speed = f"{_SPEED:.0f} times as fast"
    planner.play(recording, speed=_SPEED, progress=lambda n, of: _show(f"playing  {n} of {of}, {speed}", last=n == of))
    planner.wait_until(lambda: _is_stored(planner.status, truth), seconds=30.0, purpose="all is stored and embedded")
    status = planner.status
    vectors = "all with vectors" if not status.pending_vectors else f"no vectors: {status.reason}"
    _show(f"stored   {status.stored} of {len(truth.events)}, {vectors}; queries run on {status.mode}", last=True)


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
    _say(f"map      {size}, path of {points} points, imported in {time.monotonic() - start:.1f} s beside the node")


def _is_stored(status: MemoryStatus, truth: Truth) -> bool:
    """Tell whether all is stored, and embedded if there is a model.

    Raises:
        DemoError: perceptions were dropped.
    """
    if status.dropped:
        raise DemoError(f"{status.dropped} perceptions were dropped: {', '.join(status.drop_reasons)}")
    _show(f"stored   {status.stored} of {len(truth.events)}, {status.pending_vectors} wait for their vectors")
    hopeless = status.mode != "hybrid" and status.reason and "being loaded" not in status.reason
    return bool(status.stored == len(truth.events) and (status.pending_vectors == 0 or hopeless))


def _put(planner: Planner, questions: list[Question]) -> int:
    """Ask, print the answers, and return how many are not the truth."""
    rows, wrong = [], 0
    for question in questions:
        response, milliseconds = planner.recall(question.request)
        true = question.holds(response)
        wrong += not true
        first = response.memories[0] if response.memories else None
        rows.append(
            (
                question.words,
                question.answer(response),
                f"{first.score:.2f}" if first else "-",
                _metres(first.distance) if first else "-",
                response.mode or "-",
                f"{milliseconds:.1f} ms",
                question.truth if true else f"NOT SO: {question.truth}",
                "✓" if true else "✗",
            )
        )
    print(f"\n{tabulate(rows, _HEAD, tablefmt='grid', maxcolwidths=_WIDTHS, disable_numparse=True)}\n")
    return wrong


def _ask(text: str) -> int:
    with closing(Planner(None)) as planner:
        planner.wait_for_node(seconds=10.0)
        response, milliseconds = planner.recall(Recall.Request(query=text))
    for memory in response.memories:
        print(f"{memory.score:.2f}  {memory.content}  {memory.context}")
    print(f"{response.error or response.mode}, {milliseconds:.1f} ms")
    return 0 if response.success else 1


def _stay(node: subprocess.Popen[bytes], folder: Path, domain: int) -> None:
    call = "ros2 service call /memory/recall robotmem_ros/srv/Recall '{query: red mug}'"
    without_ros2 = "python3 demo/run.py --ask 'red mug'"
    _say(f"The node stays until Ctrl-C; its database is {folder / 'memory.db'}. In another shell:")
    _say(f"  . scripts/env.sh; export ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST")
    _say(f"  {call if shutil.which('ros2') else without_ros2}")
    try:
        with console(folder) as address:
            _say(address)
            node.wait()
    except KeyboardInterrupt:
        return
    _check(node, folder)


@contextmanager
def _memory_node(folder: Path, domain: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a memory node with an empty database in a separate process; end it by SIGINT in any case.

    Raises:
        DemoError: there is no such program, or it did not end well.
    """
    program = shutil.which("memory_node")
    if program is None:
        raise DemoError("memory_node is not on the PATH: run `make demo`, or `. scripts/env.sh` first")
    parameters = {"db_path": folder / "memory.db", "status_period": 0.1}
    arguments = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    with (folder / "node.log").open("wb") as log:
        # A separate session: a Ctrl-C in the terminal is for the demo, which then ends the node.
        node = subprocess.Popen(
            [program, "--ros-args", *arguments],
            env={**os.environ, "ROS_DOMAIN_ID": str(domain)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield node
        finally:
            code = _end(node)
    if code != 0:
        raise DemoError(f"the memory node ended with code {code}:\n{_last_words(folder)}")


def _end(node: subprocess.Popen[bytes]) -> int:
    # A second Ctrl-C must not leave the node behind.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        node.send_signal(number)
        try:
            return node.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            continue
    return node.wait()


def _check(node: subprocess.Popen[bytes], folder: Path) -> None:
    if node.poll() is not None:
        raise DemoError(f"the memory node ended by itself:\n{_last_words(folder)}")


def _last_words(folder: Path) -> str:
    return "\n".join((folder / "node.log").read_text(errors="replace").splitlines()[-20:])


def _free_domain() -> int:
    """Find a ROS domain without participants, so that the demo meets no other node."""
    for domain in random.sample(range(1, 101), 100):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", 7410 + 250 * domain))  # where the first participant of a domain listens
            except OSError:
                continue
            return domain
    raise DemoError("no ROS domain from 1 to 100 is free")


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _metres(distance: float) -> str:
    return "-" if math.isnan(distance) else f"{distance:.2f} m"


def _show(line: str, *, last: bool = False) -> None:
    """Print a line that the next one replaces on a terminal; elsewhere print only the last one."""
    if sys.stdout.isatty():
        print(f"\r\033[K{line}", end="\n" if last else "", flush=True)
    elif last:
        _say(line)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
