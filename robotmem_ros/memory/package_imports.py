"""One lock around the imports of large packages.

Two threads that import packages with modules in common can wait for each other. Python then breaks one of the imports
off with an error (`deadlock detected by _ModuleLock`), and what it was for would be missing for good: the model, or the
dictionary of Chinese.
"""

from __future__ import annotations

import threading

importing = threading.RLock()
"""Held by a thread while it imports a package that is loaded when it is needed."""
