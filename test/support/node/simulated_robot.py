"""A simulated robot in the house of the demo: it drives, knows where it is, and detects what is in its view.

Time is simulated. The robot moves only while it is told to, and publishes clock, transforms, map and detections. What
is in its way and what it sees is decided here, and not by the code of the package.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Iterable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, TransformStamped
from nav2_msgs.action import NavigateToPose
from nav_msgs.msg import OccupancyGrid
from rclpy.action import ActionServer
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
from vision_msgs.msg import Detection3D, Detection3DArray, ObjectHypothesisWithPose

from demo.floor_plan import ORIGIN, RESOLUTION, floor_plan

Spot = tuple[float, float]
Place = tuple[float, float, float]

LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
RANGE, OPENING = 2.5, 1.4
"""Metres and radians in which the camera detects."""
_RADIUS = 0.25
"""Metres that the robot keeps from walls."""
_CAMERA = 0.9
"""Metres above the floor."""
_STEP, _TURN, _SECONDS = 0.1, 0.5, 0.2
"""Metres or radians that the robot moves in a time."""
_PACE = 0.008
"""Seconds of the clock on the wall in which it does so: 25 times as fast as a real one, which a node keeps up with."""
_NOISE, _DETECTED = 0.03, 0.95
"""Standard deviation of a detected position in metres, and the share of looks in which a thing is detected."""
_START = 1_767_603_600
"""Seconds since the epoch."""


class House:
    """The walls of the house, and what stands in it: the label and the place of each thing, by its name."""

    def __init__(self, things: dict[str, tuple[str, Place]]) -> None:
        self.things = things
        self.cells = floor_plan()
        self._room: npt.NDArray[np.bool_] = self.cells == 0
        reach = math.ceil(_RADIUS / RESOLUTION)
        self._drivable = self._room.copy()
        for dx in range(-reach, reach + 1):
            for dy in range(-reach, reach + 1):
                if math.hypot(dx, dy) <= reach:
                    self._drivable &= np.roll(self._room, (dy, dx), (0, 1))

    def is_clear(self, start: Spot, end: Spot) -> bool:
        """Tell whether no wall stands on a line, which is looked at every centimetre."""
        spots = np.linspace(start, end, max(2, round(math.dist(start, end) / 0.01)))
        columns, rows = np.floor((spots - ORIGIN) / RESOLUTION).astype(int).T
        return bool(np.all(self._room[rows, columns]))

    def way(self, start: Spot, end: Spot) -> list[Spot]:
        """Return the shortest way over the floor, in steps of a tenth of a metre; empty if there is none."""
        goal, first = self._node(end), self._node(start)
        came: dict[tuple[int, int], tuple[int, int]] = {goal: goal}
        queue = deque([goal])
        while queue and first not in came:
            node = queue.popleft()
            for neighbour in self._neighbours(node):
                if neighbour not in came:
                    came[neighbour] = node
                    queue.append(neighbour)
        if first not in came:
            return []
        nodes = [first]
        while nodes[-1] != goal:
            nodes.append(came[nodes[-1]])
        return [*((column * _STEP, row * _STEP) for column, row in nodes[1:-1]), end]

    def _neighbours(self, node: tuple[int, int]) -> Iterator[tuple[int, int]]:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
            column, row = node[0] + dx, node[1] + dy
            if self._drivable[self._cell((column * _STEP, row * _STEP))]:
                yield column, row

    def _node(self, spot: Spot) -> tuple[int, int]:
        return round(spot[0] / _STEP), round(spot[1] / _STEP)

    def _cell(self, spot: Spot) -> tuple[int, int]:
        return math.floor((spot[1] - ORIGIN[1]) / RESOLUTION), math.floor((spot[0] - ORIGIN[0]) / RESOLUTION)


class SimulatedRobot:
    """A robot with a camera, and a server of `navigate_to_pose` that drives it, in a thread of its own."""

    def __init__(self, domain: int, house: House, start: Spot) -> None:
        self.house = house
        self.spot, self.yaw = start, 0.0
        self._now, self._steps = _START * 10**9, 0
        self._chance = random.Random(1)
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        simulated = Parameter("use_sim_time", value=True)
        node = Node("robot", context=self._context, parameter_overrides=[simulated])
        self._clock = node.create_publisher(Clock, "/clock", 10)
        self._tf = node.create_publisher(TFMessage, "/tf", 100)
        self._map = node.create_publisher(OccupancyGrid, "/map", LATCHED)
        self._detections = node.create_publisher(Detection3DArray, "/detections", 100)
        # The clock goes on while it drives.
        beside = MutuallyExclusiveCallbackGroup()
        self._server = ActionServer(node, NavigateToPose, "navigate_to_pose", self._navigate, callback_group=beside)
        self._executor = MultiThreadedExecutor(2, context=self._context)
        self._executor.add_node(node)
        self.node = node
        self._thread = Thread(target=self._executor.spin)
        self._thread.start()
        self._tell_map()

    def close(self) -> None:
        """Leave the graph."""
        self._executor.shutdown()
        self._thread.join()
        self._server.destroy()
        self.node.destroy_node()
        self._context.shutdown()

    def is_ready(self) -> bool:
        """Publish where the robot is and what time it is; tell whether somebody listens to its camera."""
        self._move()
        return bool(self._detections.get_subscription_count() > 0)

    def patrol(self, places: Iterable[Spot]) -> None:
        """Drive from place to place, and look around at each."""
        for place in places:
            self._drive(self.house.way(self.spot, place))
            for _ in range(round(math.tau / _TURN) + 1):
                self.yaw += _TURN
                self._move()

    def look(self, seconds: float) -> None:
        """Stand, and detect."""
        for _ in range(round(seconds / _SECONDS)):
            self._move()

    def sees(self, place: Place) -> bool:
        """Tell whether something is in view, and no wall before it."""
        x, y, _ = place
        bearing = math.remainder(math.atan2(y - self.spot[1], x - self.spot[0]) - self.yaw, math.tau)
        is_in_view = math.dist(self.spot, (x, y)) <= RANGE and abs(bearing) <= OPENING / 2
        return is_in_view and self.house.is_clear(self.spot, (x, y))

    def _navigate(self, handle: Any) -> Any:
        pose = handle.request.pose.pose
        way = self.house.way(self.spot, (pose.position.x, pose.position.y))
        if not way:
            handle.abort()
            return NavigateToPose.Result()
        self._drive(way)
        yaw = 2 * math.atan2(pose.orientation.z, pose.orientation.w)
        while abs(turn := math.remainder(yaw - self.yaw, math.tau)) > 1e-6:
            self.yaw += max(-_TURN, min(_TURN, turn))
            self._move()
        handle.succeed()
        return NavigateToPose.Result()

    def _drive(self, way: Iterable[Spot]) -> None:
        for goal in way:
            while (distance := math.dist(self.spot, goal)) > 1e-6:
                part = min(1.0, _STEP / distance)
                (x, y), (to_x, to_y) = self.spot, goal
                self.yaw = math.atan2(to_y - y, to_x - x)
                self.spot = x + part * (to_x - x), y + part * (to_y - y)
                self._move()

    def _move(self) -> None:
        # A step of the time: the transforms of both of its ends are there before a detection between them.
        self._now += round(_SECONDS * 1e9)
        self._steps += 1
        stamp = Time(sec=self._now // 10**9, nanosec=self._now % 10**9)
        self._clock.publish(Clock(clock=stamp))
        turned = Quaternion(z=math.sin(self.yaw / 2), w=math.cos(self.yaw / 2))
        base = _transform(stamp, "map", "base_link", (*self.spot, 0.0), turned)
        camera = _transform(stamp, "base_link", "camera", (0.0, 0.0, _CAMERA), Quaternion(w=1.0))
        self._tf.publish(TFMessage(transforms=[base, camera]))
        if self._steps % 3 == 0:
            self._detections.publish(self._picture(stamp))
        time.sleep(_PACE)

    def _picture(self, stamp: Time) -> Detection3DArray:
        picture = Detection3DArray()
        picture.header.frame_id, picture.header.stamp = "camera", stamp
        for label, place in self.house.things.values():
            if self.sees(place) and self._chance.random() < _DETECTED:
                x, y, z = (part + self._chance.gauss(0.0, _NOISE) for part in place)
                dx, dy = x - self.spot[0], y - self.spot[1]
                ahead, left = math.cos(self.yaw), math.sin(self.yaw)
                found = ObjectHypothesisWithPose()
                found.hypothesis.class_id, found.hypothesis.score = label, 0.9
                seen_at = Point(x=ahead * dx + left * dy, y=ahead * dy - left * dx, z=z - _CAMERA)
                found.pose.pose = Pose(position=seen_at)
                picture.detections.append(Detection3D(results=[found]))
        return picture

    def _tell_map(self) -> None:
        grid = OccupancyGrid(data=self.house.cells.ravel().tolist())
        grid.header.frame_id, grid.header.stamp.sec = "map", _START
        grid.info.resolution = RESOLUTION
        grid.info.height, grid.info.width = self.house.cells.shape
        grid.info.origin.position.x, grid.info.origin.position.y = ORIGIN
        grid.info.origin.orientation.w = 1.0
        self._map.publish(grid)


def _transform(stamp: Time, parent: str, child: str, place: Place, turned: Quaternion) -> TransformStamped:
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id, transform.header.stamp = parent, stamp
    translation = transform.transform.translation
    translation.x, translation.y, translation.z = place
    transform.transform.rotation = turned
    return transform
