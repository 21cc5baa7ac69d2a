"""The least that a recall through rclpy can cost: a service that calls the core in its callback and does nothing else.

    python3 -m bench.least_service DATABASE MODEL

It answers one request at a time and holds up all others meanwhile; no node could work so. Ends on SIGINT.
"""

from __future__ import annotations

import sys

from robotmem_ros.memory import RobotMemory
from robotmem_ros.node import conversions
from robotmem_ros.srv import Recall

from .bare_service import serve


def main(database: str, model: str) -> None:
    """Answers until it is interrupted."""
    with RobotMemory(database, embedding_model=model) as memory:
        memory.warm_up()

        def answer(request: Recall.Request, response: Recall.Response) -> Recall.Response:
            conversions.fill_recall(response, memory.recall(**conversions.question_from(request)))
            response.success = True
            return response

        serve("least", answer)


if __name__ == "__main__":
    main(*sys.argv[1:3])
