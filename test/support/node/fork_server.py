"""A program that has imported the node, and runs one in a fork for each connection; it ends when its stdin ends.

The imports take more than half of what a node costs a test. A client sends one line of JSON, and reads the process id
and, later, the exit code.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

from robotmem_ros.node.main import main


def serve(path: str) -> None:
    """Fork until stdin ends."""
    clients: dict[int, socket.socket] = {}
    ended, wake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while sys.stdin not in (ready := select.select([sys.stdin, listening, ended], [], [])[0]):
            if listening in ready:
                client, _ = listening.accept()
                order = json.loads(client.makefile().readline())
                process = os.fork()
                if process == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for inherited in (listening, client, *clients.values()):
                        inherited.close()
                    os.close(ended)
                    os.close(wake)
                    run(**order)
                clients[process] = client
                client.sendall(f"{process}\n".encode())
            if ended in ready:
                os.read(ended, 1 << 12)
                for process in list(clients):
                    done, status = os.waitpid(process, os.WNOHANG)
                    if done:
                        with clients.pop(process) as client:
                            client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def run(arguments: list[str], environment: dict[str, str], log: str) -> None:
    """Become the program with these arguments; it prints into a file."""
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    output = os.open(log, os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv = arguments
    sys.exit(main())


if __name__ == "__main__":
    serve(sys.argv[1])
