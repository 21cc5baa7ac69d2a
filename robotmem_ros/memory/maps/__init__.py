"""What the map of a console shows: occupancy grids, map files of map_server, and the path of the robot."""

from .occupancy_grid import MAX_CELLS, OccupancyGrid, Origin
from .path import MAX_POINTS, Move, PathPart, PathPoint, check_moves

__all__ = ["MAX_CELLS", "MAX_POINTS", "Move", "OccupancyGrid", "Origin", "PathPart", "PathPoint", "check_moves"]
