"""Nodes of BehaviorTree.CPP on a real graph, where that and rclcpp are found."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.client import MemoryClient
from robotmem_ros.memory import SessionNotFoundError

from ..support.docs import looks_like
from ..support.node.cpp import WITH_TREE, built_with_trees
from ..support.node.graph import DEADLINE, Client
from .conftest import StartNode

AS_IN_NAV2 = """
#include <thread>

#include "behaviortree_cpp/bt_factory.h"
#include "rclcpp/rclcpp.hpp"

std::string tree_of(const std::string & context, const std::string & child)
{
  return "<root BTCPP_format='4'><BehaviorTree ID='T'><Episode name='wait' context='" + context + "'>" + child +
    "</Episode></BehaviorTree></root>";
}

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  BT::BehaviorTreeFactory factory;
  factory.registerFromPlugin(argv[1]);
  const auto blackboard = BT::Blackboard::create();
  blackboard->set("node", std::make_shared<rclcpp::Node>("bt_navigator_rclcpp_node"));
  for (const int ticks : {1, 200}) {  // halted before its session has begun, and after
    auto tree = factory.createTreeFromText(tree_of("", "<Sleep msec='600000'/>"), blackboard);
    for (int tick = 0; tick < ticks; ++tick) {
      tree.tickOnce();
      std::this_thread::sleep_for(std::chrono::milliseconds(ticks == 1 ? 0 : 50));
    }
    tree.haltTree();
  }
  try {
    factory.createTreeFromText(tree_of("[1]", "<AlwaysSuccess/>"), blackboard).tickWhileRunning();
  } catch (const BT::RuntimeError & error) {
    std::printf("%s\\n", error.what());
  }
  auto tree = factory.createTreeFromText(tree_of("{\\"task\\": \\"watch\\"}", "<AlwaysFailure/>"), blackboard);
  std::printf("%s\\n", BT::toStr(tree.tickWhileRunning()).c_str());
  rclcpp::shutdown();
}
"""


def output(client: Client, program: Path, *arguments: object) -> str:
    """Run a program in the domain of a client; return what it printed."""
    result = subprocess.run(
        [program, *map(str, arguments)], env={**os.environ, "ROS_DOMAIN_ID": str(client.domain)},
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_plugin_has_the_nodes_whose_episodes_end_also_when_they_are_halted(
    own: tuple[StartNode, Callable[..., Client]], tmp_path: Path
) -> None:
    program = built_with_trees(AS_IN_NAV2, tmp_path)
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client = connect()
    client.until_active()
    with MemoryClient(client.node, timeout=DEADLINE) as memory:
        printed = output(client, program, tmp_path / "build" / "libmemory_trees.so")
        assert printed.splitlines()[-1] == "FAILURE"
        assert "wait: port [context] must be a JSON object, but is [1]" in printed
        assert memory.start_session().known_sessions == 3  # that have ended
        (hit,) = memory.recall(context_filter={"task.name": "wait"}, kinds="fact")
        assert hit.memory.content == "wait failed"


def test_a_tree_in_cpp_drives_to_the_mug_and_learns_what_came_of_it(
    own: tuple[StartNode, Callable[..., Client]], tmp_path: Path
) -> None:
    program = built_with_trees(WITH_TREE["cpp"].text, tmp_path)
    start, connect = own
    start("-p", f"db_path:={tmp_path / 'memory.db'}")
    client = connect()
    # The robot is at the origin of the map.
    tree = WITH_TREE["xml"].text.replace('label="mug" target', 'label="mug" frame_id="map" target')

    def run(text: str) -> str:
        (tmp_path / "fetch.xml").write_text(text)
        return output(client, program, tmp_path / "fetch.xml")

    with MemoryClient(client.node, timeout=DEADLINE) as memory:
        for x in (9.0, 3.0):
            for _ in range(3):  # until it is confirmed
                memory.save_perception(f"a mug at {x:g}", label="mug", pose=(x, 1.0, 0.8))
        assert looks_like(WITH_TREE["cpp"].output, run(tree))
        assert "FAILURE" in run(tree.replace('label="mug"', 'label="cup"').replace("fetch mug", "fetch cup"))

        def fact(name: str) -> Any:
            (hit,) = memory.recall(context_filter={"task.name": name}, kinds="fact")
            return hit.memory

        worked, failed, seen = fact("fetch mug"), fact("fetch cup"), fact("look at doors")
        assert (worked.content, failed.content) == ("fetch mug worked", "fetch cup failed")
        assert [told.context["task"]["success"] for told in (worked, failed, seen)] == [True, False, True]
        assert worked.context["spatial"]["room"] == "kitchen"
        assert seen.session_id == worked.session_id != failed.session_id
        for told in (worked, failed):
            with pytest.raises(SessionNotFoundError):  # it has ended
                memory.end_session(told.session_id)
