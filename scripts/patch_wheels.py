#!/usr/bin/env python3
"""Point the ROS 2 wheels of this virtual environment at this machine's headers.

The CMake files in the wheels carry the include folders of Python and numpy on the machine that built the wheels. Where
those do not exist, no package with messages can be built. To be run after every installation of wheels.
"""

import re
import sys
import sysconfig
from pathlib import Path

import numpy

NUMPY = re.compile(r"/opt/python/[^;\"\s]*/numpy/(?:_core|core)/include")
PYTHON = re.compile(r"/opt/python/[^;\"\s]*/include/python3\.\d+")


def main() -> None:
    """Rewrite the files in place; done twice, it changes nothing."""
    count = 0
    for path in sorted(Path(sys.prefix, "share").glob("*/cmake/*.cmake")):
        before = path.read_text(encoding="utf-8")
        after = NUMPY.sub(lambda _: numpy.get_include(), before)
        after = PYTHON.sub(lambda _: sysconfig.get_path("include"), after)
        if after != before:
            path.write_text(after, encoding="utf-8")
            count += 1
    print(f"pointed {count} CMake files of the wheels at this machine's headers")


if __name__ == "__main__":
    main()
