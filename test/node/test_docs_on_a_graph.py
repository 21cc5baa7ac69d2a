"""The ROS examples of the README and of docs/, run as they stand against a real node."""

from __future__ import annotations

import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from std_msgs.msg import Header

from demo.house import THINGS
from robotmem_ros.client import MemoryClient
from robotmem_ros.memory import InvalidFieldError

from ..support.docs import BLOCKS, looks_like
from ..support.node.cpp import IN_CPP, PLUGIN, WITH_NAV2, built, built_with_trees
from ..support.node.graph import DEADLINE, Client

CALL = Path(__file__).resolve().parents[1] / "support" / "node" / "ros2_service_call.py"


ON_A_GRAPH = [block for block in BLOCKS if block.needs == "ROS"]
OWN_TEST = {"clients.md", "events.md", "nav2.md"}
"""Pages whose programs have a test of their own."""
(KEEPER,) = (block for block in ON_A_GRAPH if "memory.work(" in block.text)
PROGRAMS = [
    block for block in ON_A_GRAPH if block.kind == "python" and block.page not in OWN_TEST and block is not KEEPER
]
(ERRAND,) = (block for block in ON_A_GRAPH if block.kind == "python" and block.page == "nav2.md")
WATCHER, MUGS = (block for block in ON_A_GRAPH if block.kind == "python" and block.page == "events.md")
WATCH = """
import rclpy

from robotmem_ros.memory.models import EventKind

rclpy.init()
node, heard = rclpy.create_node("watcher"), []
watcher = Watcher(node, heard.append)
while len(heard) < 3:
    rclpy.spin_once(node)
    if watcher.cursor == 2:  # what was before the node of this program, or is told as late as its topic
        MemoryClient(node).look(near=(3.0, 1.0))
print(*(f"{event.sequence} {EventKind(event.kind).value} {event.label}" for event in heard), sep="\\n")
"""
WATCH_MUGS = """
import rclpy

rclpy.init()
node = rclpy.create_node("watcher")
watch = watch_mugs(node)
begin = watch.cursor
MemoryClient(node).save_perception("a mug", label="mug", pose=(1.0, 0.5, 0.0))
while watch.cursor < begin + 2:
    rclpy.spin_once(node)
"""
AS_IN_NAV2 = """
#include "behaviortree_cpp/bt_factory.h"
#include "nav2_msgs/action/navigate_to_pose.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"

using geometry_msgs::msg::PoseStamped;
using Drive = nav2_msgs::action::NavigateToPose;

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const auto node = std::make_shared<rclcpp::Node>("bt_navigator_rclcpp_node");
  const auto navigator = rclcpp_action::create_client<Drive>(node, "navigate_to_pose");
  const auto drive = [&](BT::TreeNode & self) {
      navigator->wait_for_action_server();
      const auto sent = navigator->async_send_goal(Drive::Goal().set__pose(*self.getInput<PoseStamped>("goal")));
      rclcpp::spin_until_future_complete(node, sent);
      const auto result = navigator->async_get_result(sent.get());
      rclcpp::spin_until_future_complete(node, result);
      const bool is_there = result.get().code == rclcpp_action::ResultCode::SUCCEEDED;
      return is_there ? BT::NodeStatus::SUCCESS : BT::NodeStatus::FAILURE;
    };
  BT::BehaviorTreeFactory factory;
  factory.registerFromPlugin(argv[1]);
  factory.registerSimpleAction("NavigateToPose", drive, {BT::InputPort<PoseStamped>("goal")});
  const auto blackboard = BT::Blackboard::create();
  blackboard->set("node", node);
  const auto status = factory.createTreeFromFile(argv[2], blackboard).tickWhileRunning();
  std::printf("%s: %s\\n", BT::toStr(status).c_str(), blackboard->get<std::string>("content").c_str());
  rclcpp::shutdown();
}
"""
HAS_TREES = importlib.util.find_spec("py_trees") is not None
CLIENTS = [
    block
    for block in ON_A_GRAPH
    if block.kind == "python" and block.page == "clients.md" and (HAS_TREES or "py_trees" not in block.text)
]
CALLS = [call for block in ON_A_GRAPH if block.kind == "console" for call in block.commands()]


def test_the_planner_is_answered_and_the_topic_is_remembered(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active()
    (learn,) = (command for command, _ in CALLS if "/memory/learn " in command)
    assert "success=True" in called(learn, tmp_path, client)
    planner, many, publishing = (block.text for block in PROGRAMS)
    matched = "while not publisher.get_subscription_count(): rclpy.spin_once(node, timeout_sec=0.1)\n"
    publishing = publishing.replace("publisher.publish", f"{matched}publisher.publish")
    printed = run(planner + many + publishing + "publisher.wait_for_all_acked()", client)
    assert looks_like("".join(block.output for block in PROGRAMS), printed)
    client.until_status(lambda status: status.stored == 1, "the perception")


def test_long_work_tells_how_far_it_is(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active("hybrid")
    assert looks_like(KEEPER.output, run(KEEPER.text, client))


@pytest.fixture
def house(own: Any, tmp_path: Path) -> Client:
    """A client in the domain of a memory that has a mug, and of a robot two metres from it."""
    tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not in this environment")
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    with MemoryClient(client.node, timeout=DEADLINE) as memory:
        place: dict[str, Any] = {"label": "mug", "context": {"spatial": {"room": "kitchen"}}}
        for _ in range(3):  # until it is confirmed
            memory.save_perception("a red mug on the table", pose=(3.0, 1.0, 0.8), **place)
    transform = TransformStamped(header=Header(frame_id="map"), child_frame_id="base_link")
    transform.transform.translation.x, transform.transform.translation.z = 1.0, 0.8
    latched = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    static = client.node.create_publisher(tf2_msgs.TFMessage, "/tf_static", latched)
    static.publish(tf2_msgs.TFMessage(transforms=[transform]))
    return client


def test_the_programs_with_a_client_drive_to_the_mug(house: Client) -> None:
    assert is_short(CLIENTS[0].text)
    printed = run("".join(block.text for block in CLIENTS), house)
    assert looks_like("".join(block.output for block in CLIENTS), printed)


def test_the_watcher_handles_each_event_once(house: Client) -> None:
    told = run(WATCHER.text + WATCH, house).splitlines()
    assert told == ["1 appeared mug", "2 confirmed mug", "3 gone mug"]


def test_the_watch_tells_of_each_mug_that_comes(house: Client) -> None:
    told = [line.split(" Pose(x=1.0, ")[0] for line in run(MUGS.text + WATCH_MUGS, house).splitlines()]
    assert told == ["came mug", "changed mug"]


def in_python(folder: Path) -> list[str]:
    """Return the command of the program for Nav2 in Python."""
    assert is_short(ERRAND.text)
    return [sys.executable, "-c", ERRAND.text]


def in_cpp(folder: Path) -> list[str]:
    """Return the command of that in C++."""
    assert is_short(WITH_NAV2["cpp"].text)
    return [str(built(WITH_NAV2["cpp"].text, folder, WITH_NAV2["cmake"].text))]


def as_tree(folder: Path) -> list[str]:
    """Return the command of a program that runs the tree as Nav2 does."""
    (folder / "errand.xml").write_text(PLUGIN["xml"].text)
    program = built_with_trees(AS_IN_NAV2, folder, WITH_NAV2["cmake"].text)
    return [str(program), str(folder / "build" / "libmemory_trees.so"), str(folder / "errand.xml")]


@pytest.mark.parametrize(
    ("command_of", "shown"),
    [
        (in_python, ERRAND.output),
        (in_cpp, WITH_NAV2["cpp"].output),
        (as_tree, "SUCCESS: a red mug on the kitchen counter"),
    ],
)
def test_the_robot_drives_to_where_it_sees_the_mug(
    own: Any, tmp_path: Path, command_of: Callable[[Path], list[str]], shown: str
) -> None:
    command = command_of(tmp_path)
    for package in ("nav2_msgs", "tf2_msgs", "vision_msgs"):
        pytest.importorskip(package, reason="`make test` builds it: scripts/build_test_interfaces.sh")
    from ..support.node.simulated_robot import House, SimulatedRobot

    start, connect = own
    parameters: dict[str, object] = {"db_path": tmp_path / "memory.db", "embedding_model": "''", "use_sim_time": True}
    parameters["watch_actions"] = "['navigate_to_pose']"
    start(*(word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")))
    client: Client = connect()
    mug = next(thing for thing in THINGS if thing.label == "mug")
    robot = SimulatedRobot(client.domain, House({}), (3.4, 2.3))

    def can_begin() -> bool:
        robot.is_ready()  # publishes the clock and where the robot is
        try:
            seen = memory.save_perception(mug.description, label="mug", pose=mug.position)
        except InvalidFieldError:  # the node has no clock yet
            return False
        return seen.times_seen > 2 and bool(memory.maps.approach(seen.memory_id).poses)

    try:
        client.until_active()
        with MemoryClient(client.node, timeout=DEADLINE) as memory:
            client.until(can_begin, "a mug that is confirmed, and the map")
            assert looks_like(shown, run_command(command, client))
            assert math.dist(robot.spot, mug.position[:2]) == pytest.approx(0.8, abs=0.01)
            client.until(lambda: robot.is_ready() or drives(memory) == ["succeeded"], "the outcome of the drive")
    finally:
        robot.close()


def drives(memory: MemoryClient) -> list[str]:
    """Return the outcomes of all drives."""
    return [
        hit.memory.context["outcome"]
        for hit in memory.recall("navigate", context_filter={"outcome": {"$exists": True}})
    ]


@pytest.fixture
def planner_in_cpp(tmp_path: Path) -> Path:
    return built(IN_CPP["cpp"].text, tmp_path)


def test_the_program_in_cpp_drives_to_the_mug(planner_in_cpp: Path, house: Client) -> None:
    assert is_short(IN_CPP["cpp"].text)
    assert looks_like(IN_CPP["cpp"].output, run_command([str(planner_in_cpp)], house))


def is_short(program: str) -> bool:
    """Tell whether a planner takes no more lines than it should."""
    return sum(bool(line.strip()) for line in program.splitlines()) <= 20


def run(program: str, client: Client) -> str:
    """Run a program in Python in the domain of a client; return what it prints."""
    return run_command([sys.executable, "-c", program], client)


def run_command(command: list[str], client: Client) -> str:
    """Run a command in the domain of a client; return what it prints."""
    result = subprocess.run(
        command, env={**os.environ, "ROS_DOMAIN_ID": str(client.domain)},
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def called(command: str, folder: Path, client: Client) -> str:
    """Call a service by the command line of ROS 2, or by what stands for it; return what is printed."""
    if not shutil.which("ros2"):
        program = folder / "ros2"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {CALL} "$@"\n')
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{folder}", "ROS_DOMAIN_ID": str(client.domain)}
    result = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def fields(response: str) -> set[str]:
    """The names of all fields that a printed message has."""
    return set(re.findall(r"(?<=[(\s])(\w+)=", response))


def test_the_calls_of_services_are_answered_as_is_shown(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client: Client = connect()
    client.until_active("hybrid")
    for command, shown in CALLS:
        response = called(command, tmp_path, client).partition("response:\n")[2]
        assert re.findall("success=\\w+", response) == re.findall("success=\\w+", shown), command
        assert fields(response) == fields(shown), command
