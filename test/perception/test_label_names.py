"""Classes become names, by the configuration or by a file; what has no name is told once."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.perception import DropReason, parse_topic
from robotmem_ros.perception.label_names import read_label_names, told_by

from ..support.perception.intakes import intake_into, settled, stored
from ..support.perception.messages import HEADER, PRESETS, STAMP_NS, Maker, RosbagsMaker, detection, extract

ARRAY = "vision_msgs/msg/Detection3DArray"
COCO = {"0": "person", "1": "bicycle", "56": "chair"}


def the_memories(maker: Maker, *classes: str, **keys: Any) -> list[NewMemory]:
    values = {"header": HEADER, "detections": [detection(name, 0.9) for name in classes]}
    return [seen.new for seen in extract(maker, ARRAY, values, **keys).observations]


def test_the_number_of_a_class_becomes_its_name_in_label_and_description(maker: Maker) -> None:
    keys: dict[str, Any] = {"label_names": {56: "chair"}, "description": "saw a {label}"}
    (chair,) = the_memories(maker, "56", **keys)
    assert (chair.label, chair.content) == ("chair", "saw a chair")


@pytest.mark.parametrize(
    ("type_name", "label", "values"),
    [
        ("sensor_msgs/msg/JointState", "position.0", {"position": [56.0], "name": ["x"]}),
        ("visualization_msgs/msg/Marker", "id", {"id": 56}),
    ],
)
def test_a_class_may_be_a_number_of_any_type(maker: Maker, type_name: str, label: str, values: dict[str, Any]) -> None:
    keys: dict[str, Any] = {"label": label, "label_names": {"56": "chair"}, "description": "{label}"}
    (seen,) = extract(maker, type_name, {"header": HEADER, **values}, **keys).observations
    assert (seen.new.label, seen.new.content) == ("chair", "chair")


def test_a_class_without_a_name_stays_and_is_told_once(maker: Maker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = the_memories(maker, "56", "57", "57", "chair", "58", label_names={"56": "chair"})
    assert [memory.label for memory in found] == ["chair", "57", "57", "chair", "58"]
    assert [record.message for record in caplog.records] == [
        f"/seen: label_names has no name for class '{number}', which stays its label" for number in (57, 58)
    ]


def test_not_more_than_a_hundred_classes_are_told(maker: Maker, caplog: pytest.LogCaptureFixture) -> None:
    the_memories(maker, *map(str, range(300)), label_names={"1000": "chair"})
    assert len(caplog.records) == 100


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("coco.yaml", "0: person\n1: bicycle\n56: chair\n"),
        ("data.yaml", "path: coco\nnames:\n  0: person\n  1: bicycle\n  56: chair\n"),
        ("data.json", '{"names": {"0": "person", "1": "bicycle", "56": "chair"}}'),
        ("coco.names", "person\nbicycle\n" + "\n" * 54 + "chair\n"),
        ("coco_labels.txt", "0  person\n1  bicycle\n56  chair\n"),
        ("labels.txt", "56: chair\n\n0: person\n1: bicycle\n"),
        ("labels.csv", "0,person\n1,bicycle\n56, chair\n"),
    ],
)
def test_names_come_from_a_file(tmp_path: Path, maker: Maker, file: str, text: str) -> None:
    path = tmp_path / file
    path.write_text(text)
    config = parse_topic("seen", {"topic": "/seen", "type": ARRAY, "label_names": str(path)}, PRESETS)
    assert config.label_names == COCO
    assert [one.label for one in the_memories(maker, "56", "0", label_names=str(path))] == ["chair", "person"]
    with_own = parse_topic(
        "seen", {"topic": "/seen", "type": ARRAY, "label_names": str(path), "label_names.56": "stool"}, PRESETS
    )
    assert with_own.label_names == {**COCO, "56": "stool"}


def test_a_name_may_begin_with_a_number(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("3 way plug\nchair\n")
    assert read_label_names("label_names", str(path)) == {"0": "3 way plug", "1": "chair"}


def test_names_may_be_a_list(maker: Maker) -> None:
    assert [one.label for one in the_memories(maker, "1", label_names=["person", "bicycle"])] == ["bicycle"]


def test_names_of_a_preset_are_merged_name_by_name() -> None:
    goals = {"topic": "/status", "type": "action_msgs/msg/GoalStatusArray", "label_names": {6: "gave up"}}
    names = parse_topic("goals", goals, PRESETS).label_names
    assert names == {"4": "succeeded", "5": "canceled", "6": "gave up"}


@pytest.mark.parametrize(
    ("names", "text", "said"),
    [
        ({"0": False}, None, "seen.label_names.0: False must be text"),
        ({"0": 5}, None, "seen.label_names.0: 5 must be text"),
        (5, None, "seen.label_names: 5 must be a mapping"),
        ([5], None, "seen.label_names.0: 5 must be text"),
        ("/nowhere/coco.yaml", None, r"seen.label_names: .*/nowhere/coco.yaml.* cannot be read"),
        ("/nowhere/coco.names", None, r"seen.label_names: .*/nowhere/coco.names.* cannot be read"),
        (".yaml", "5", "must hold a list of names, or classes with their names, such as 56: chair"),
        (".yaml", "", "must hold a list of names"),
        (".yaml", "names: {0: no}", r"names.0: False must be a name; no, on and true want quotes"),
        (".yaml", "[a, {b: c}]", "1: .* must be a name"),
        (".yaml", "a: [", "cannot be read"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_used_are_told(tmp_path: Path, names: object, text: str | None, said: str) -> None:
    if text is not None:
        path = tmp_path / f"names{names}"
        path.write_text(text)
        names = str(path)
    with pytest.raises(InvalidFieldError, match=said):
        parse_topic("seen", {"topic": "/seen", "type": ARRAY, "label_names": names}, PRESETS)


INFO = "/detector/info"


def told(maker: RosbagsMaker, info: str, values: dict[str, Any], **keys: Any) -> tuple[NamedIntake, bool]:
    intake = NamedIntake(maker, **keys)
    message = maker.make(f"vision_msgs/msg/{info}", values)
    return intake, intake.intake.receive_names("seen", told_by(INFO, message))


class NamedIntake:
    """An intake that is told the names of its classes, without a memory on disk."""

    def __init__(self, maker: RosbagsMaker, **keys: Any) -> None:
        self.memory = RobotMemory(":memory:", embedding_model="")
        self.intake = intake_into(self.memory, maker, ARRAY, keys={"vision_info": INFO, **keys})
        self._maker = maker

    def labels(self, *classes: str) -> list[str]:
        """Receive detections of some classes; return the labels that are stored then."""
        values = {"header": HEADER, "detections": [detection(one, 0.9, x=5.0 * n) for n, one in enumerate(classes)]}
        self.intake.receive("seen", self._maker.make(ARRAY, values), STAMP_NS)
        return [one.label for one in stored(self.memory)]

    def detail(self) -> str:
        """Return why labels are dropped."""
        return settled(self.memory, self.intake).details[DropReason.BAD_LABEL]


def test_a_topic_tells_the_names_and_nothing_is_stored_by_a_number_before(rosbags: RosbagsMaker) -> None:
    early = NamedIntake(rosbags)
    assert early.labels("56") == []
    assert early.detail() == "/detector/info has not told the names of the classes yet"
    classes = [{"class_id": 56, "class_name": "chair"}, {"class_id": 57, "class_name": " "}]
    intake, lacks = told(rosbags, "LabelInfo", {"class_map": classes})
    assert not lacks
    assert sorted(intake.labels("56", "57")) == ["57", "chair"]


def test_a_topic_names_a_file_that_has_the_names(rosbags: RosbagsMaker, tmp_path: Path) -> None:
    (tmp_path / "coco.yaml").write_text("{56: chair}")
    intake, lacks = told(rosbags, "VisionInfo", {"database_location": f"file://{tmp_path}/coco.yaml"})
    assert (lacks, intake.labels("56")) == (False, ["chair"])


@pytest.mark.parametrize(
    ("location", "said"),
    [
        (
            "/class_labels_7",
            "the names are in '/class_labels_7', which cannot be read here; give label_names",
        ),
        ("x" * 5000, "which cannot be read here"),
        ("a\0b", "which cannot be read here"),
        ("", "says that the names are in ''"),
        (__file__ + "/../../nothing.yaml", "which cannot be read here"),
    ],
)
def test_a_topic_that_tells_no_names_says_so_in_what_is_dropped(
    rosbags: RosbagsMaker, location: str, said: str
) -> None:
    intake, lacks = told(rosbags, "VisionInfo", {"database_location": location})
    assert lacks
    assert intake.labels("56") == []
    assert said in intake.detail()


def test_names_of_the_configuration_are_enough_if_a_topic_tells_none(rosbags: RosbagsMaker) -> None:
    intake, lacks = told(rosbags, "LabelInfo", {}, label_names={"56": "chair"})
    assert (lacks, intake.labels("56")) == (False, ["chair"])
