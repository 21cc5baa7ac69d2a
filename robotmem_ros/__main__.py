"""Run the command line as `python3 -m robotmem_ros`, the same as `robotmem`."""

import sys

from .cli.main import main

sys.exit(main())
