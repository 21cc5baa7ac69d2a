# shellcheck shell=sh
# Put the virtual environment, ROS 2, the built package and the model into a shell (bash, zsh, sh), from any folder:
#   . scripts/env.sh
# Then `memory_node`, `robotmem`, `import robotmem_ros.memory` and `from robotmem_ros.srv import Recall` work there.
# DISTRO=jazzy in front chooses the wheels of another ROS 2; where an installation is sourced, that one is used.

# Where is this file? bash and zsh tell; for a plain sh, /proc tells which file it is reading just now.
if [ -n "${BASH_VERSION:-}" ]; then
    eval 'robotmem_root=${BASH_SOURCE[0]}'
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval 'robotmem_root=${(%):-%x}'
else
    robotmem_root=scripts/env.sh
    for robotmem_value in /proc/$$/fd/*; do
        robotmem_value=$(readlink "$robotmem_value") || continue
        case $robotmem_value in */scripts/env.sh) robotmem_root=$robotmem_value ;; esac
    done
fi
robotmem_root=$(cd "$(dirname "$robotmem_root")/.." && pwd)

if [ ! -f "$robotmem_root/scripts/ros.sh" ]; then
    echo "env.sh: cannot tell where it lies; source it from the repository's own folder: . scripts/env.sh" >&2
else
    . "$robotmem_root/scripts/ros.sh"

    # What the build's own setup files would do, without the second that they take. First what only tests need:
    # interfaces that are not installed here, if scripts/build_test_interfaces.sh has built them.
    robotmem_value=$("$robotmem_venv/bin/python3" -ISc 'import sys; print("%d.%d" % sys.version_info[:2])')
    robotmem_prefix=$robotmem_build/test_interfaces/install
    if [ -d "$robotmem_prefix" ]; then
        robotmem_prepend AMENT_PREFIX_PATH "$robotmem_prefix"
        robotmem_prepend LD_LIBRARY_PATH "$robotmem_prefix/lib"
        robotmem_prepend PYTHONPATH "$robotmem_prefix/lib/python$robotmem_value/site-packages"
    fi
    robotmem_prefix=$robotmem_build/install/robotmem_ros
    if [ -d "$robotmem_prefix" ]; then
        robotmem_prepend AMENT_PREFIX_PATH "$robotmem_prefix"
        robotmem_prepend CMAKE_PREFIX_PATH "$robotmem_prefix"
        robotmem_prepend LD_LIBRARY_PATH "$robotmem_prefix/lib"
        robotmem_prepend PATH "$robotmem_prefix/lib/robotmem_ros"
        robotmem_prepend PYTHONPATH "$robotmem_prefix/lib/python$robotmem_value/site-packages"
    else
        echo "env.sh: robotmem_ros is not built yet: run 'make build', then source this file again" >&2
    fi
    # The default model, or the small one if the set-up was told to fetch that alone.
    if [ -z "${ROBOTMEM_MODEL:-}" ]; then
        robotmem_value=$HOME/.robotmem/models
        ROBOTMEM_MODEL=$robotmem_value/multilingual-e5-small-int7
        [ -d "$ROBOTMEM_MODEL" ] || [ ! -d "$robotmem_value/all-MiniLM-L6-v2-int7" ] ||
            ROBOTMEM_MODEL=$robotmem_value/all-MiniLM-L6-v2-int7
    fi
    export ROBOTMEM_MODEL
    unset -f robotmem_prepend robotmem_failed
fi
unset robotmem_root robotmem_ros robotmem_distro robotmem_python robotmem_suffix robotmem_venv robotmem_build
unset robotmem_prefix robotmem_value robotmem_before
