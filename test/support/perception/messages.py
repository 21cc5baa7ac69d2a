"""The same messages twice: as rclpy deserialises them, and as rosbags does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import pytest

from robotmem_ros.memory import Parameters
from robotmem_ros.perception import (
    Extraction,
    Extractor,
    MessageClasses,
    Observation,
    TypeDescription,
    TypestoreTypes,
    UnknownTypeError,
    load_presets,
    message_class,
    parse_topic,
)
from robotmem_ros.perception.message_types import FLOATS, FieldType

REPOSITORY = Path(__file__).resolve().parents[3]
DEFINITIONS = {
    "vision_msgs/msg/ObjectHypothesis": "string class_id\nfloat64 score",
    "vision_msgs/msg/ObjectHypothesisWithPose": "vision_msgs/ObjectHypothesis hypothesis\n"
    "geometry_msgs/PoseWithCovariance pose",
    "vision_msgs/msg/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
    "vision_msgs/msg/Point2D": "float64 x\nfloat64 y",
    "vision_msgs/msg/Pose2D": "vision_msgs/Point2D position\nfloat64 theta",
    "vision_msgs/msg/BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y",
    "vision_msgs/msg/Detection3D": "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
    "vision_msgs/BoundingBox3D bbox\nstring id",
    "vision_msgs/msg/Detection2D": "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\n"
    "vision_msgs/BoundingBox2D bbox\nstring id",
    "vision_msgs/msg/Detection3DArray": "std_msgs/Header header\nvision_msgs/Detection3D[] detections",
    "vision_msgs/msg/Detection2DArray": "std_msgs/Header header\nvision_msgs/Detection2D[] detections",
    "yolo_msgs/msg/Point2D": "float64 x\nfloat64 y",
    "yolo_msgs/msg/Pose2D": "yolo_msgs/Point2D position\nfloat64 theta",
    "yolo_msgs/msg/Vector2": "float64 x\nfloat64 y",
    "yolo_msgs/msg/BoundingBox2D": "yolo_msgs/Pose2D center\nyolo_msgs/Vector2 size",
    "yolo_msgs/msg/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size\nstring frame_id",
    "yolo_msgs/msg/Mask": "int32 height\nint32 width\nyolo_msgs/Point2D[] data",
    "yolo_msgs/msg/KeyPoint2D": "int32 id\nyolo_msgs/Point2D point\nfloat64 score",
    "yolo_msgs/msg/KeyPoint2DArray": "yolo_msgs/KeyPoint2D[] data",
    "yolo_msgs/msg/KeyPoint3D": "int32 id\ngeometry_msgs/Point point\nfloat64 score",
    "yolo_msgs/msg/KeyPoint3DArray": "yolo_msgs/KeyPoint3D[] data\nstring frame_id",
    "yolo_msgs/msg/Detection": "int32 class_id\nstring class_name\nfloat64 score\nstring id\n"
    "yolo_msgs/BoundingBox2D bbox\nyolo_msgs/BoundingBox3D bbox3d\nyolo_msgs/Mask mask\n"
    "yolo_msgs/KeyPoint2DArray keypoints\nyolo_msgs/KeyPoint3DArray keypoints3d",
    "yolo_msgs/msg/DetectionArray": "std_msgs/Header header\nyolo_msgs/Detection[] detections",
    "apriltag_msgs/msg/Point": "float64 x\nfloat64 y",
    "apriltag_msgs/msg/AprilTagDetection": "string family\nint32 id\nint32 hamming\nfloat32 goodness\n"
    "float32 decision_margin\napriltag_msgs/Point centre\napriltag_msgs/Point[4] corners\nfloat64[9] homography",
    "apriltag_msgs/msg/AprilTagDetectionArray": "std_msgs/Header header\napriltag_msgs/AprilTagDetection[] detections",
    "depthai_ros_msgs/msg/SpatialDetection": "vision_msgs/ObjectHypothesis[] results\nvision_msgs/BoundingBox2D bbox\n"
    "geometry_msgs/Point position\nbool is_tracking\nstring tracking_id",
    "depthai_ros_msgs/msg/SpatialDetectionArray": "std_msgs/Header header\n"
    "depthai_ros_msgs/SpatialDetection[] detections",
    "depthai_ros_msgs/msg/TrackDetection2D": "vision_msgs/ObjectHypothesisWithPose[] results\n"
    "vision_msgs/BoundingBox2D bbox\nbool is_tracking\nstring tracking_id\nint32 tracking_age\nint32 tracking_status",
    "depthai_ros_msgs/msg/TrackDetection2DArray": "std_msgs/Header header\n"
    "depthai_ros_msgs/TrackDetection2D[] detections",
    "object_msgs/msg/Object": "uint32 label\nstring object_name\nfloat32 probability",
    "object_msgs/msg/ObjectInBox": "object_msgs/Object object\nsensor_msgs/RegionOfInterest roi",
    "object_msgs/msg/ObjectsInBoxes": "std_msgs/Header header\nobject_msgs/ObjectInBox[] objects_vector",
    "nav2_msgs/msg/BehaviorTreeStatusChange": "builtin_interfaces/Time timestamp\nstring node_name\nuint16 uid\n"
    "string previous_status\nstring current_status",
    "nav2_msgs/msg/BehaviorTreeLog": "builtin_interfaces/Time timestamp\n"
    "nav2_msgs/BehaviorTreeStatusChange[] event_log",
    "ros2_aruco_interfaces/msg/ArucoMarkers": "std_msgs/Header header\nint64[] marker_ids\ngeometry_msgs/Pose[] poses",
    "zed_msgs/msg/Keypoint2Df": "float32[2] kp",
    "zed_msgs/msg/Keypoint2Di": "uint32[2] kp",
    "zed_msgs/msg/Keypoint3D": "float32[3] kp",
    "zed_msgs/msg/BoundingBox2Df": "zed_msgs/Keypoint2Df[4] corners",
    "zed_msgs/msg/BoundingBox2Di": "zed_msgs/Keypoint2Di[4] corners",
    "zed_msgs/msg/BoundingBox3D": "zed_msgs/Keypoint3D[8] corners",
    "zed_msgs/msg/Skeleton2D": "zed_msgs/Keypoint2Df[70] keypoints",
    "zed_msgs/msg/Skeleton3D": "zed_msgs/Keypoint3D[70] keypoints",
    "zed_msgs/msg/Object": "string label\nint16 label_id\nstring sublabel\nfloat32 confidence\nfloat32[3] position\n"
    "float32[6] position_covariance\nfloat32[3] velocity\nbool tracking_available\nint8 tracking_state\n"
    "int8 action_state\nzed_msgs/BoundingBox2Di bounding_box_2d\nzed_msgs/BoundingBox3D bounding_box_3d\n"
    "float32[3] dimensions_3d\nbool skeleton_available\nint8 body_format\n"
    "zed_msgs/BoundingBox2Df head_bounding_box_2d\nzed_msgs/BoundingBox3D head_bounding_box_3d\n"
    "float32[3] head_position\nzed_msgs/Skeleton2D skeleton_2d\n"
    "zed_msgs/Skeleton3D skeleton_3d\nfloat32[70] skeleton_keypoint_confidence",
    "zed_msgs/msg/ObjectsStamped": "std_msgs/Header header\nzed_msgs/Object[] objects",
    "vision_msgs/msg/VisionInfo": "std_msgs/Header header\nstring method\nstring database_location\n"
    "int32 database_version",
    "vision_msgs/msg/VisionClass": "uint16 class_id\nstring class_name",
    "vision_msgs/msg/LabelInfo": "std_msgs/Header header\nvision_msgs/VisionClass[] class_map\nfloat32 threshold",
    "hri_actions_msgs/msg/ClosedCaption": "string speaker_id\nstring text\nstring locale",
    "hri_msgs/msg/LiveSpeech": "std_msgs/Header header\nstring incremental\nstring final\nfloat64 confidence",
}
"""Of types that rosbags does not bring along."""
RECEIPT = 1_700_000_000_000_000_000
STAMP = {"sec": 928, "nanosec": 800_000_000}
STAMP_NS = 928_800_000_000
HEADER = {"stamp": STAMP, "frame_id": "map"}
PRESETS = load_presets()


class Maker(Protocol):
    """Makes messages of one kind."""

    types: TypeDescription

    def make(self, type_name: str, values: dict[str, Any]) -> Any: ...

    def raw(self, type_name: str, values: dict[str, Any]) -> bytes: ...


class RosbagsMaker:
    """Dataclasses of a rosbags typestore, through CDR and back."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore

        self.store = get_typestore(Stores.ROS2_JAZZY)
        for name, text in DEFINITIONS.items():
            self.store.register(get_types_from_msg(text, name))
        text = (REPOSITORY / "msg" / "Perception.msg").read_text()
        self.store.register(get_types_from_msg(text, "robotmem_ros/msg/Perception"))
        self.types = TypestoreTypes(self.store)

    def raw(self, type_name: str, values: dict[str, Any]) -> bytes:
        return bytes(self.store.serialize_cdr(self._build(type_name, values), type_name))

    def make(self, type_name: str, values: dict[str, Any]) -> Any:
        return self.store.deserialize_cdr(self.raw(type_name, values), type_name)

    def _build(self, type_name: str, values: dict[str, Any]) -> Any:
        assert type_name in self.store.fielddefs, (
            f"rosbags does not bring {type_name} along: add its definition to DEFINITIONS in {__file__}"
        )
        fields = self.store.fielddefs[type_name][1]
        parts = {name: self._value(node, values.get(name)) for name, node in fields}
        assert set(values) <= set(parts), f"{type_name} has no {set(values) - set(parts)}"
        return self.store.types[type_name](**parts)

    def _value(self, node: Any, given: Any) -> Any:
        import numpy as np

        kind, detail = node
        if kind.name == "BASE":
            return given if given is not None else "" if detail[0] == "string" else 0
        if kind.name == "NAME":
            return self._build(detail, given or {})
        (inner, name), size = detail
        if inner.name == "BASE" and name[0] != "string":
            dtype = {"byte": "uint8", "char": "uint8"}.get(name[0], name[0])
            if isinstance(given, bytes):
                return np.frombuffer(given, dtype)
            return np.array(given if given is not None else [0] * size * (kind.name == "ARRAY"), dtype)
        fixed = [None] * size if kind.name == "ARRAY" else []
        return [self._value((inner, name), item) for item in given or fixed]


class RclpyMaker:
    """Instances of rclpy's message classes, through CDR and back."""

    def __init__(self) -> None:
        pytest.importorskip("rclpy")
        self.types = MessageClasses()

    def raw(self, type_name: str, values: dict[str, Any]) -> bytes:
        from rclpy.serialization import serialize_message

        return bytes(serialize_message(self._build(type_name, values)))

    def make(self, type_name: str, values: dict[str, Any]) -> Any:
        from rclpy.serialization import deserialize_message

        return deserialize_message(self.raw(type_name, values), message_class(type_name))

    def _build(self, type_name: str, values: dict[str, Any]) -> Any:
        try:
            message = message_class(type_name)()
        except UnknownTypeError as cause:
            pytest.skip(str(cause))
        fields = self.types.fields(type_name)
        for name, given in values.items():
            setattr(message, name, self._value(fields[name], given))
        return message

    def _value(self, field: FieldType, given: Any) -> Any:
        if "/" in field.name:
            return [self._build(field.name, one) for one in given] if field.is_array else self._build(field.name, given)
        if field == FieldType("byte"):
            return bytes([given])
        return float(given) if field.is_scalar and field.name in FLOATS else given


def extractor(maker: Maker, type_name: str, **keys: Any) -> Extractor:
    config = parse_topic("seen", {"topic": "/seen", "type": type_name, **keys}, PRESETS)
    return Extractor(config, maker.types)


def extract(maker: Maker, type_name: str, values: dict[str, Any], **keys: Any) -> Extraction:
    message = maker.make(type_name, values)
    return extractor(maker, type_name, **keys).extract(message, RECEIPT, Parameters())


def context_of(seen: Observation) -> dict[str, Any]:
    context: dict[str, Any] = json.loads(seen.new.context)
    return context


def place_of(seen: Observation) -> tuple[float, ...] | None:
    """Its pose, or its position alone where the message has no orientation."""
    return seen.new.pose[: 7 if seen.has_orientation else 3] if seen.new.pose else None


def pose(x: float, y: float, z: float, *turn: float) -> dict[str, Any]:
    quaternion = turn or (0.0, 0.0, 0.0, 1.0)
    return {
        "position": {"x": x, "y": y, "z": z},
        "orientation": dict(zip("xyzw", quaternion, strict=True)),
    }


def detection(label: str, score: float, x: float = 1.0, **more: Any) -> dict[str, Any]:
    return {
        "header": HEADER,
        "results": [{"hypothesis": {"class_id": label, "score": score}}],
        "bbox": {"center": pose(x, 2.0, 3.0), "size": {"x": 0.1, "y": 0.2, "z": 0.3}},
        **more,
    }
