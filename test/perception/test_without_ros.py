"""The way from messages to perceptions imports nothing of ROS, nor of what is optional."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import robotmem_ros.perception

FOLDER = Path(robotmem_ros.perception.__file__).parent
PROBE = """
import sys
import importlib
for name in {modules!r}:
    importlib.import_module("robotmem_ros.perception." + name)
from robotmem_ros.perception import load_presets, parse_topic
parse_topic("a", {{"topic": "/a", "type": "nav_msgs/msg/Odometry"}}, load_presets())
outside = {{"rclpy", "rosbags", "PIL", "rosidl_runtime_py", "ament_index_python"}}
print(sorted(n for n in sys.modules if n.split(".")[0] in outside or n.split(".")[0].endswith("_msgs")))
"""


def test_no_module_imports_ros_or_what_is_optional() -> None:
    modules = [path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"]
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(modules=modules)],
        capture_output=True, text=True, timeout=180, check=True, cwd=FOLDER.parents[1],
    )  # fmt: skip
    assert done.stdout.strip() == "[]"
