"""A memory that lasts, for robots: `memory` is the core without ROS, `node` the ROS 2 side of it."""

from pkgutil import extend_path

__version__ = "0.1.0"
"""Version of the package, the same as in package.xml."""

# The generated messages (robotmem_ros.msg, robotmem_ros.srv) may lie in another folder than this source.
__path__ = extend_path(__path__, __name__)
