"""Maps, above the verbs: occupancy grids, files of map_server, and the path of the robot."""

from ..map_values import MAX_CELLS, MAX_POINTS, Move, OccupancyGrid, Origin, PathPart, PathPoint, check_moves
