"""The configurations of docs/detectors.md import a recording of all that they name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from robotmem_ros.cli.main import main
from robotmem_ros.frames import Transform
from robotmem_ros.memory import RobotMemory

from ..support.bags import write_bag
from ..support.docs import PAGES
from ..support.perception.intakes import header, transforms
from ..support.perception.messages import STAMP_NS, RosbagsMaker, detection, pose

YAML = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS: list[dict[str, Any]] = [yaml.safe_load(block) for block in YAML.findall(PAGES["detectors.md"])]
TOPICS = {name: value for block in BLOCKS for name, value in block.items() if isinstance(value, dict)}
CAMERA = {"header": header("camera")}
HYPOTHESIS = {"class_id": "5", "score": 0.9}
STATUS = {"goal_info": {"goal_id": {"uuid": [1] * 16}}, "status": 6}
STEP = {"node_name": "FollowPath", "previous_status": "RUNNING", "current_status": "FAILURE"}


def in_space(label: str, x: float) -> dict[str, Any]:
    hypothesis = {"class_id": label, "score": 0.9}
    box = {"center": pose(320, 240, 0), "size": {"x": 64, "y": 48, "z": 0.01}}
    return {"results": [{"hypothesis": hypothesis, "pose": {"pose": pose(x, 0, 1)}}], "bbox": box}


def thing(label: str) -> dict[str, Any]:
    return {"label": label, "label_id": 1, "confidence": 80.0, "position": [1.0, 0.0, 0.0], "tracking_state": 1}


MESSAGES: dict[str, dict[str, Any]] = {
    "detections": {**CAMERA, "detections": [{
        "class_name": "chair", "score": 0.8,
        "bbox3d": {"center": pose(2, 0, 0), "size": {"x": 0.7}, "frame_id": "base_link"}}]},
    "objects": {**CAMERA, "objects": [thing("Vehicle")]},
    "bodies": {**CAMERA, "objects": [thing("Body_3")]},
    "spatial": {**CAMERA, "detections": [in_space("56", 1.5), in_space("39", 0.0) | {"results": [
        {"hypothesis": {"class_id": "39", "score": 0.9}}]}]},
    "bridge": {**CAMERA, "detections": [{"results": [HYPOTHESIS], "position": {"x": 1.0}}]},
    "tracks": {**CAMERA, "detections": [
        {"results": [{"hypothesis": HYPOTHESIS, "pose": {"pose": pose(3, 0, 0)}}], "tracking_status": 1}]},
    "boxes": {**CAMERA, "objects_vector": [{"object": {"object_name": "cup", "probability": 0.7}}]},
    "image_detections": {**CAMERA, "detections": [detection("56", 0.8, header={}) | {"bbox": {}}]},
    "named_detections": {**CAMERA, "detections": [in_space("56", 1.5)]},
    "aruco": {**CAMERA, "marker_ids": [7], "poses": [pose(4, 0, 0)]},
    "apriltags": {**CAMERA, "detections": [{"family": "tag36h11", "id": 4}]},
    "gnss": {"header": header("gps"), "latitude": 47.3769, "longitude": 8.5417},
    "log": {"stamp": CAMERA["header"]["stamp"], "level": 40, "name": "planner_server", "msg": "no path"},
    "tree": {"timestamp": CAMERA["header"]["stamp"], "event_log": [STEP]},
    "goals": {"status_list": [STATUS]},
    "clicked": {"header": header("map"), "point": {"x": 5.0}},
    "joints": {"header": header(""), "name": ["elbow"], "position": [0.5], "effort": [2.0]},
}  # fmt: skip
EXPECTED = {
    "detections": ("chair", (12.0, 0.0, 0.0)),
    "objects": ("Vehicle", (11.0, 0.0, 1.0)),
    "bodies": ("a person", (11.0, 0.0, 1.0)),
    "spatial": ("chair", (11.5, 0.0, 2.0)),
    "bridge": ("bottle", (11.0, 0.0, 1.0)),
    "tracks": ("bottle", (13.0, 0.0, 1.0)),
    "boxes": ("cup in the image of camera", None),
    "image_detections": ("chair in the image of camera", None),
    "named_detections": ("chair", (11.5, 0.0, 2.0)),
    "aruco": ("aruco marker 7", (14.0, 0.0, 1.0)),
    "apriltags": ("tag tag36h11:4", (12.0, 0.0, 1.0)),
    "gnss": ("GNSS fix 47.376900, 8.541700, altitude 0.0 m", (0.0, 0.0, 0.0)),
    "log": ("planner_server: no path", None),
    "tree": ("FollowPath of the behavior tree ended with FAILURE", None),
    "goals": ("goal of /navigate_to_pose/_action/status: aborted", None),
    "clicked": ("point (5.00, 0.00, 0.00) in map", (5.0, 0.0, 0.0)),
    "joints": ("joint elbow at 0.50 rad, 2.0 Nm", None),
}


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    maker: Any = RosbagsMaker()
    content = [
        ("/tf", STAMP_NS, transforms(maker, "map", "base_link", STAMP_NS, Transform(x=10.0))),
        ("/tf", STAMP_NS, transforms(maker, "base_link", "camera", STAMP_NS, Transform(z=1.0))),
        ("/tf", STAMP_NS, transforms(maker, "camera", "tag36h11:4", STAMP_NS, Transform(x=2.0))),
    ]
    for name, values in MESSAGES.items():
        content.append((TOPICS[name]["topic"], STAMP_NS, maker.make(TOPICS[name]["type"], values)))
    # Names are read first, wherever they stand.
    info = maker.make("vision_msgs/msg/LabelInfo", {"class_map": [{"class_id": 56, "class_name": "chair"}]})
    content.append((TOPICS["named_detections"]["vision_info"], STAMP_NS + 1, info))
    return write_bag(tmp_path_factory.mktemp("detectors") / "bag", maker, content)


def test_every_configuration_of_the_page_is_tried() -> None:
    assert set(MESSAGES) == set(EXPECTED) == set(TOPICS)


@pytest.mark.parametrize("name", TOPICS)
def test_a_configuration_of_the_page_stores_what_its_detector_sends(
    name: str, bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("coco.yaml").write_text("names: {56: chair}\n")
    (block,) = (block for block in BLOCKS if name in block)
    datum = {"datum": block["datum"]} if "datum" in block else {}
    Path("memory.yaml").write_text(yaml.safe_dump({"perception_topics": [name], name: block[name], **datum}))
    assert main(["replay", str(bag), "--config", "memory.yaml", "--db", "memory.db", "--no-model"]) == 0
    with RobotMemory("memory.db", read_only=True, embedding_model="") as memory:
        found = memory.recall(after=1, include_unconfirmed=True).memories
    (one,) = found
    place = one.pose and tuple(round(number, 6) for number in one.pose[:3])
    assert (one.content, place) == EXPECTED[name]
