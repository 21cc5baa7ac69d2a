# shellcheck shell=sh
# Sourced by setup.sh, build.sh and env.sh, with robotmem_root set. Decides which ROS 2 is used, and puts it into the
# environment. Sets:
#   robotmem_ros     "installed": a ROS 2 installation is sourced; "wheels": ROS 2 from PyPI
#   robotmem_distro  kilted, jazzy, ... (of the wheels: from DISTRO)
#   robotmem_python  the interpreter that the virtual environment is made from
#   robotmem_venv    the virtual environment
#   robotmem_build   the folder of all that is built; both are hidden, so that colcon finds no packages in them

robotmem_prepend() { # variable, folder: puts the folder in front, unless it is there already
    eval "robotmem_before=\${$1:-}"
    case ":$robotmem_before:" in
        *":$2:"*) ;;
        *) export "$1=$2${robotmem_before:+:$robotmem_before}" ;;
    esac
}

robotmem_failed() { # step, log: shows the end of the log of a step that failed, and ends the script
    tail -n 60 "$2" >&2
    echo "$1: failed; all of its output is in $2" >&2
    exit 1
}

# The distribution's own interpreter: others are often built without loadable SQLite extensions, or without headers.
robotmem_python=${ROBOTMEM_PYTHON:-/usr/bin/python3}
robotmem_ros=wheels
if [ -n "${ROS_DISTRO:-}" ]; then
    for robotmem_value in "$robotmem_python" python3; do
        if "$robotmem_value" -c 'import importlib.util as i, sys; sys.exit(not i.find_spec("rclpy"))' 2>/dev/null; then
            robotmem_ros=installed
            robotmem_python=$robotmem_value
            break
        fi
    done
fi

if [ "$robotmem_ros" = installed ]; then
    robotmem_distro=$ROS_DISTRO
    robotmem_suffix=-ros-$ROS_DISTRO
else
    robotmem_distro=${DISTRO:-kilted}
    robotmem_suffix=
    [ "$robotmem_distro" = kilted ] || robotmem_suffix=-$robotmem_distro
fi
# Each ROS 2 needs its own.
robotmem_venv=$robotmem_root/.venv$robotmem_suffix
robotmem_build=$robotmem_root/.build$robotmem_suffix

export VIRTUAL_ENV="$robotmem_venv"
robotmem_prepend PATH "$robotmem_venv/bin"
if [ "$robotmem_ros" = wheels ]; then
    export AMENT_PREFIX_PATH="$robotmem_venv" CMAKE_PREFIX_PATH="$robotmem_venv"
    # The wheels' interpreter finds its libraries by itself, but not when it believes that a parent process did.
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE
fi
