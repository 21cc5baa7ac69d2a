"""A service of type Recall that does nothing: the floor of what any rclpy service costs. Ends on SIGINT.

python3 -m bench.empty_service
"""

from __future__ import annotations

from robotmem_ros.srv import Recall

from .bare_service import serve


def _answer(request: Recall.Request, response: Recall.Response) -> Recall.Response:
    response.success = True
    return response


if __name__ == "__main__":
    serve("empty", _answer)
