"""Run `robotmem` as `python3 -m robotmem_ros.cli`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
