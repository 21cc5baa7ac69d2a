"""Call a memory node from a program with the verbs of `RobotMemory`: plain values in, values of the core out.

`memory_client` has the verbs, of the table in `messages`, and `connection` sends and waits.
"""

from ..messages.fields import pose_stamped
from .connection import Answer, NoAnswerError
from .memory_client import AsyncMemoryClient, MemoryClient

__all__ = ["Answer", "AsyncMemoryClient", "MemoryClient", "NoAnswerError", "pose_stamped"]
