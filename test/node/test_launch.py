"""The launch file, started by the real launch where it is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..support.node.graph import DEADLINE, own_domain

pytest.importorskip("launch_ros", reason="the wheels have no launch; an installed ROS 2 has")
FILE = Path(__file__).resolve().parents[2] / "launch" / "memory.launch.py"
START = f"""
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
source = PythonLaunchDescriptionSource({str(FILE)!r})
service = LaunchService()
arguments = [tuple(argument.split(":=", 1)) for argument in sys.argv[1:]]
included = IncludeLaunchDescription(source, launch_arguments=arguments)
service.include_launch_description(LaunchDescription([included]))
sys.exit(service.run())
"""


class Launched:
    """The launch file in a process, with a home folder of its own."""

    def __init__(self, home: Path, domain: int, arguments: tuple[str, ...]) -> None:
        self._log = home / "launch.log"
        with self._log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START, *arguments],
                env={**os.environ, "HOME": str(home), "ROS_LOG_DIR": str(home / "log"), "ROS_DOMAIN_ID": str(domain)},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self._log.read_text()

    def until(self, text: str) -> None:
        """Wait until launch, or what it started, has printed a text."""
        deadline = time.monotonic() + DEADLINE
        while text not in self.output:
            assert time.monotonic() < deadline, f"waited in vain for {text!r}:\n{self.output}"
            assert self.process.poll() is None, self.output
            time.sleep(0.1)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Launched]]:
    running: list[Launched] = []
    with own_domain() as domain:

        def start(*arguments: str) -> Launched:
            running.append(Launched(tmp_path, domain, arguments))
            return running[-1]

        yield start
        for one in running:
            if one.process.poll() is None:
                one.process.send_signal(signal.SIGINT)
            one.process.wait(DEADLINE)


def test_without_its_parameter_file_nothing_is_started(launch: Callable[..., Launched], tmp_path: Path) -> None:
    launched = launch("params_file:=/typo.yaml", "web:=True", "autostart:=False")
    assert launched.process.wait(DEADLINE) == 1
    assert "params_file: there is no file '/typo.yaml'; nothing is started" in launched.output
    assert "process started" not in launched.output
    assert not (tmp_path / ".robotmem").exists()


def test_a_node_in_a_namespace_and_its_console_have_a_file_of_their_own(
    launch: Callable[..., Launched], tmp_path: Path
) -> None:
    launched = launch("namespace:=robot1", "web:=true", "web_port:=0")
    launched.until(f"active, memory in {tmp_path}/.robotmem/robot1/memory.db")
    launched.until("console: http://")
    assert not (tmp_path / ".robotmem" / "memory.db").exists()


def test_a_node_in_a_namespace_listens_to_the_transforms_of_its_robot(
    launch: Callable[..., Launched], tmp_path: Path
) -> None:
    path = tmp_path / "memory.yaml"
    path.write_text("/**: {ros__parameters: {db_path: ':memory:', embedding_model: '', robot_frame: base_link}}")
    launched = launch("namespace:=robot1", f"params_file:={path}")
    launched.until("active, memory in :memory:")
    launched.until("listens to the transforms of /robot1/tf, /robot1/tf_static")
