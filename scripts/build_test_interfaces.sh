#!/bin/sh
# Build the interface packages that only tests need (test/interfaces) where they are not installed: some 30 s once, then
# nothing. They go into .build/test_interfaces/install and never into the package; scripts/env.sh puts them into a shell.
set -eu
robotmem_root=$(cd "$(dirname "$0")/.." && pwd)
cd "$robotmem_root"
. scripts/ros.sh

base=$robotmem_build/test_interfaces
stamp=$base/.built
wanted=
for package in test/interfaces/*/; do
    package=$(basename "$package")
    # A real one comes first.
    "$robotmem_venv/bin/python3" -c "import importlib.util as i, sys; sys.exit(not i.find_spec('$package'))" ||
        wanted="$wanted $package"
done
[ -n "$wanted" ] || exit 0
if [ -f "$stamp" ] && [ -z "$(find test/interfaces -type f -newer "$stamp" | head -n 1)" ]; then
    exit 0
fi

echo "build: the interfaces for tests,$wanted; about 30 seconds, once"
rm -rf "$base"
mkdir -p "$base"
unset MAKELEVEL
export MAKEFLAGS="-j$(nproc)" # not that of an outer make, nor colcon's, which waits while the machine is busy
# shellcheck disable=SC2086  # wanted is many words
colcon --log-base "$base/log" build --base-paths test/interfaces --packages-select $wanted --merge-install \
    --build-base "$base/build" --install-base "$base/install" \
    --cmake-args -DPython3_EXECUTABLE="$robotmem_venv/bin/python3" -DBUILD_TESTING=OFF >"$base/build.log" 2>&1 || {
    robotmem_failed build "$base/build.log"
}
touch "$stamp"
