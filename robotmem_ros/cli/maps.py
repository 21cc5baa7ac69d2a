"""Read and write maps of map_server, and show the path of the robot: `robotmem map`, `robotmem path`."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from ..memory import RobotMemory
from ..memory.config.parameters import Parameters
from ..memory.display import time_text
from ..memory.maps import MAX_POINTS, PathPoint
from ..memory.maps.approach import Approach
from ..memory.maps.map_files import load_map, read_map_file, write_map
from ..memory.verbs.requests import PathRequest
from .command import DATABASE, Command, Shown, of_verb, on_memory, options_of, values_of
from .listing import JSON, CommandError, option, show, table
from .output import write_notice

_MAP_ID = option("--map-id", help="name of the map; by default that without a name to import, else the present one")


@on_memory(
    "map list", "list occupancy grids", "List the occupancy grids of a memory.", lists="maps",
    columns="map_id,frame_id,width,height,resolution,origin,observed_at",
)  # fmt: skip
def _list(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    return Shown({"maps": memory.maps.all()})


def _import(arguments: argparse.Namespace) -> None:
    map_file = read_map_file(arguments.file)
    # An image may lie anywhere, so the user is told which one is read.
    write_notice(f"reading {arguments.file} and its image {map_file.image.resolve()}\n")
    frame = arguments.frame
    grid = load_map(map_file, frame_id=frame, map_id=arguments.map_id or "", observed_at=time.time_ns())
    with RobotMemory(arguments.db, embedding_model="", session_maintenance=False, memory_frame=frame) as memory:
        is_new = memory.maps.save(grid)
    text = f"{'stored' if is_new else 'known already'}: {grid.width} x {grid.height} cells of {grid.resolution:g} m\n"
    show(arguments, {"stored": is_new, "width": grid.width, "height": grid.height}, text)


@on_memory(
    "map export", "write an occupancy grid",
    "Write an occupancy grid for map_server: FILE.yaml and FILE.pgm beside it.",
    option("file", type=Path, metavar="FILE.yaml", help="a new file"), _MAP_ID,
)  # fmt: skip
def _export(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    grid = memory.maps.grid(arguments.map_id)
    if grid is None:
        of = f" of {arguments.map_id!r}" if arguments.map_id else ""
        raise CommandError(f"there is no map{of} in {arguments.db}; `robotmem map list` shows those that are there")
    image = write_map(grid, arguments.file)
    return Shown({"files": [str(arguments.file), str(image)]}, f"written: {arguments.file} and {image}\n")


@on_memory(
    "path", "show where the robot drove",
    "Show how far the robot drove on a map, and where it is now. With --json all points are listed.",
    *options_of(PathRequest, defaults={"n": MAX_POINTS}), verb="maps.path", lists="points",
)  # fmt: skip
def _path(memory: RobotMemory, arguments: argparse.Namespace) -> Shown:
    points, text = memory.maps.path(**values_of(arguments, PathRequest)), "no path\n"
    if points:
        segments = len({point.segment for point in points})
        last = points[-1]
        text = (
            f"{length(points):.1f} m in {len(points):,} points and {segments:,} segments, from "
            f"{time_text(points[0].observed_at)} to {time_text(last.observed_at)}\n"
            f"last at x {last.x:.2f} m, y {last.y:.2f} m, yaw {math.degrees(last.yaw):.0f} degrees\n"
        )
    return Shown({"length": length(points), "points": points}, text)


def _approached(found: Approach, arguments: argparse.Namespace) -> str:
    rows = [
        (f"{pose.x:.2f}", f"{pose.y:.2f}", f"{math.degrees(2 * math.atan2(pose.qz, pose.qw)):.0f}")
        for pose in found.poses
    ]
    return table(("x", "y", "yaw in degrees"), rows) or f"no pose: {found.reason}\n"


def length(points: Sequence[PathPoint]) -> float:
    """Return the metres between the points of each segment, as the crow flies from one to the next."""
    return sum(math.dist(a[1:3], b[1:3]) for a, b in pairwise(points) if a.segment == b.segment)


COMMANDS = (
    _list,
    Command(
        "map import", "store an occupancy grid",
        "Store an occupancy grid of a YAML file of map_server and its image (PGM, or PNG and BMP with Pillow).",
        _import,
        (
            option("file", type=Path, metavar="FILE.yaml", help="a file of map_server"), _MAP_ID,
            option("--frame", default=Parameters().memory_frame, help="frame of the map; default: %(default)s"),
            DATABASE, JSON,
        ),
    ),
    _export,
    _path,
    of_verb("maps.approach", "approach", text=_approached, lists="poses"),
)  # fmt: skip
"""Commands, in the order in which help lists them."""
