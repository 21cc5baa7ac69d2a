"""Start the memory node: `ros2 launch robotmem_ros memory.launch.py`."""

from pathlib import Path

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.utilities import prefix_namespace

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

TRUE = ("true", "True")
FLAGS = [*TRUE, "false", "False"]
"""Spellings of a flag: those of YAML, and those of many launch files in Python."""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and the node."""
    params_file = Path(get_package_share_directory("robotmem_ros")) / "config" / "memory.yaml"
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "params_file", default_value=str(params_file), description="Parameter file of the node."
            ),
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node."),
            DeclareLaunchArgument(
                "use_sim_time",
                default_value="false",
                choices=FLAGS,
                description="Whether the robot's clock is /clock.",
            ),
            DeclareLaunchArgument(
                "log_level",
                default_value="info",
                choices=["debug", "info", "warn", "error", "fatal"],
                description="Least severe message that the node logs.",
            ),
            DeclareLaunchArgument(
                "db_path", default_value="", description="Database file; empty means the one in params_file."
            ),
            DeclareLaunchArgument(
                "collection", default_value="", description="Default collection; empty means the one in params_file."
            ),
            DeclareLaunchArgument(
                "autostart",
                default_value="true",
                choices=FLAGS,
                description="Configure and activate at start.",
            ),
            DeclareLaunchArgument(
                "remap_tf",
                default_value="true",
                choices=FLAGS,
                description="Whether a node in a namespace listens to the tf and tf_static of it, as those of Nav2 do.",
            ),
            DeclareLaunchArgument(
                "respawn",
                default_value="false",
                choices=FLAGS,
                description="Start the node again if it dies.",
            ),
            DeclareLaunchArgument(
                "web",
                default_value="false",
                choices=FLAGS,
                description="Show the memory in a browser: run `robotmem web` beside the node.",
            ),
            DeclareLaunchArgument(
                "web_host",
                default_value="127.0.0.1",
                description="Address of that page; those of other machines want the token in ~/.robotmem/web_token.",
            ),
            DeclareLaunchArgument("web_port", default_value="8765", description="Port of that page."),
            OpaqueFunction(function=_check_params_file),
            OpaqueFunction(function=_node),
            OpaqueFunction(function=_console),
        ]
    )


def _check_params_file(context: LaunchContext) -> None:
    # launch_ros only warns, and starts the node without it: with the default database.
    path = LaunchConfiguration("params_file").perform(context)
    if not Path(path).is_file():
        raise FileNotFoundError(f"params_file: there is no file {path!r}; nothing is started")


def _node(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    def argument(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    # Only what was given overrides the parameter file.
    overrides: dict[str, str | bool] = {name: argument(name) for name in ("db_path", "collection") if argument(name)}
    overrides["use_sim_time"] = argument("use_sim_time") in TRUE
    overrides["autostart"] = argument("autostart") in TRUE
    return [
        LifecycleNode(
            package="robotmem_ros",
            executable="memory_node",
            name="memory",
            namespace=argument("namespace"),
            parameters=[argument("params_file"), overrides],
            remappings=[("/tf", "tf"), ("/tf_static", "tf_static")] if argument("remap_tf") in TRUE else [],
            arguments=["--ros-args", "--log-level", f"{_logger(context)}:={argument('log_level')}"],
            respawn=argument("respawn") in TRUE,
            respawn_delay=2.0,
            output="screen",
        )
    ]


def _console(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    def argument(name: str) -> str:
        return str(LaunchConfiguration(name).perform(context))

    if argument("web") not in TRUE:
        return []
    program = Path(get_package_prefix("robotmem_ros")) / "lib" / "robotmem_ros" / "robotmem"
    # The node makes the file, and may be a while about it.
    command = [str(program), "web", "--config", argument("params_file"), "--wait", "600"]
    command += ["--host", argument("web_host"), "--port", argument("web_port")]
    if argument("db_path"):
        command += ["--db", argument("db_path")]
    if namespace := _namespace(context):
        command += ["--namespace", namespace]
    if argument("web_host") not in {"127.0.0.1", "::1", "localhost"}:
        # A token that is printed would stay in the log of launch.
        command += ["--token-file", "~/.robotmem/web_token"]
    return [ExecuteProcess(cmd=command, name="memory_web", output="screen")]


def _logger(context: LaunchContext) -> str:
    # Of this node alone: at debug, rcl and rmw would say something at every turn of the executor.
    return ".".join([*filter(None, _namespace(context).split("/")), "memory"])


def _namespace(context: LaunchContext) -> str:
    # A launch file that includes this one may have pushed a namespace.
    namespace = LaunchConfiguration("namespace").perform(context)
    return prefix_namespace(context.launch_configurations.get("ros_namespace"), namespace) or ""
