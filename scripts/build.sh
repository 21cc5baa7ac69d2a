#!/bin/sh
# Builds the package with colcon into build/, install/ and log/; costs nothing when nothing has changed since.
set -eu
robotmem_root=$(cd "$(dirname "$0")/.." && pwd)
cd "$robotmem_root"
. scripts/ros.sh

build=build$robotmem_suffix
stamp=$build/.robotmem-built
sources="CMakeLists.txt package.xml msg srv robotmem_ros launch config scripts/memory_node"
if [ -f "$stamp" ]; then
    # shellcheck disable=SC2086  # sources are many words
    newer=$(find $sources "$robotmem_venv/.robotmem-setup" -type f ! -name '*.pyc' -newer "$stamp" | head -n 1)
    [ -n "$newer" ] || exit 0
fi

# CMake cannot go on in a folder that was moved.
if [ -f "$build/robotmem_ros/CMakeCache.txt" ] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$robotmem_root" "$build/robotmem_ros/CMakeCache.txt"; then
    rm -rf "$build" "install$robotmem_suffix" "log$robotmem_suffix"
fi

echo "build: robotmem_ros for ROS 2 $robotmem_distro ($robotmem_ros); the first time takes about a minute"
mkdir -p "$build"
touch "$stamp.begun" # what changes while it builds is newer than this
output=$build/.robotmem-output
unset MAKEFLAGS MAKELEVEL # of an outer make: colcon's own decide
colcon --log-base "log$robotmem_suffix" build --base-paths . --packages-select robotmem_ros --symlink-install \
    --build-base "$build" --install-base "install$robotmem_suffix" \
    --cmake-args -DPython3_EXECUTABLE="$robotmem_venv/bin/python3" -DBUILD_TESTING=ON >"$output" 2>&1 || {
    tail -n 60 "$output" >&2
    echo "build: failed; all of its output is in $output" >&2
    exit 1
}
mv "$stamp.begun" "$stamp"
