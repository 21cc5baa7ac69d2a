#!/bin/sh
# Build the package with colcon into .build/; costs nothing when nothing has changed since. build/, install/ and log/ are
# left to a plain `colcon build` here: its copies and the links made here cannot replace each other.
set -eu
robotmem_root=$(cd "$(dirname "$0")/.." && pwd)
cd "$robotmem_root"
. scripts/ros.sh

base=$robotmem_build
stamp=$base/built
sources="CMakeLists.txt include scripts/interfaces.cmake package.xml action msg srv robotmem_ros launch config scripts/memory_node scripts/robotmem scripts/entry_points.txt"
# What was generated of an interface that is gone would still be linked.
interfaces=$(find action msg srv -type f | LC_ALL=C sort)
if [ -f "$base/interfaces" ] && [ -n "$(echo "$interfaces" | LC_ALL=C comm -23 "$base/interfaces" -)" ]; then
    rm -rf "$base/build" "$base/install" "$stamp"
fi
if [ -f "$stamp" ]; then
    # shellcheck disable=SC2086  # sources are many words
    newer=$(find $sources "$robotmem_venv/.robotmem-setup" -type f ! -name '*.pyc' -newer "$stamp" | head -n 1)
    [ -n "$newer" ] || exit 0
fi

# CMake cannot go on in a folder that was moved.
cache=$base/build/robotmem_ros/CMakeCache.txt
if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$robotmem_root" "$cache"; then
    rm -rf "$base/build" "$base/install" "$base/log"
fi

echo "build: robotmem_ros for ROS 2 $robotmem_distro ($robotmem_ros); the first time takes about a minute"
mkdir -p "$base"
touch "$stamp.begun" # what changes while it builds is newer than this
output=$base/build.log
unset MAKELEVEL
export MAKEFLAGS="-j$(nproc)" # not that of an outer make, nor colcon's, which waits while the machine is busy
# Where ROS 2 comes as wheels, nothing is in C++; its interfaces would take half of the time.
python_only=OFF
[ "$robotmem_ros" = installed ] || python_only=ON
colcon --log-base "$base/log" build --base-paths . --packages-select robotmem_ros --symlink-install \
    --build-base "$base/build" --install-base "$base/install" \
    --cmake-args -DPython3_EXECUTABLE="$robotmem_venv/bin/python3" -DBUILD_TESTING=ON -DPYTHON_ONLY=$python_only \
    >"$output" 2>&1 || {
    robotmem_failed build "$output"
}
echo "$interfaces" >"$base/interfaces"
mv "$stamp.begun" "$stamp"
