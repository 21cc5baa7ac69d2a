"""Ask a console for all it has, from several clients at once, until stdin ends; then print how often it answered.

A separate process, so that the clients share no interpreter with what is measured.
"""

from __future__ import annotations

import os
import sys
import threading
from http.client import HTTPConnection, HTTPException

_PATHS = (
    "/api/search?q=red+mug+in+the+kitchen&explain=true&n=20",
    "/api/memories?n=100",
    "/api/objects",
    "/api/search?q=where+is+the+blue+bottle%3F&brief=true&n=50",
    "/api/stats",
    "/api/memory/7",
    "/api/density?bins=200",
    "/api/sessions",
)
_NICE = 10
"""Clients run elsewhere; here they must not take the time of what is measured."""


def main() -> None:
    """Ask the port of the first argument from as many clients as the second one says."""
    port, clients = map(int, sys.argv[1:])
    os.nice(_NICE)
    is_over, counts = threading.Event(), [0, 0]
    threads = [threading.Thread(target=_ask, args=(port, number, is_over, counts)) for number in range(clients)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    is_over.set()
    for thread in threads:
        thread.join()
    print(*counts)


def _ask(port: int, number: int, is_over: threading.Event, counts: list[int]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    while not is_over.is_set():
        try:
            connection.request("GET", _PATHS[number % len(_PATHS)])
            response = connection.getresponse()
            response.read()
            counts[response.status != 200] += 1
        except (OSError, HTTPException):
            counts[1] += 1
            connection.close()
        number += 1


if __name__ == "__main__":
    main()
