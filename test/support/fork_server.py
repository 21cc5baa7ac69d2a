"""A program that imports modules, and runs code in a fork for each connection; it ends when its stdin ends.

The imports take more than half of what a node, a console or a short program costs a test. A client sends one line of
JSON with the files for input, output and errors, and reads the process id and, later, the exit code.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import inspect
import json
import os
import select
import shutil
import signal
import socket
import sys
from pathlib import Path


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
                _, files, _, _ = socket.recv_fds(client, 1, 3)
                order = json.loads(client.makefile().readline())
                process = os.fork()
                if process == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for inherited in (listening, client, *clients.values()):
                        inherited.close()
                    os.close(ended)
                    os.close(wake)
                    run(files, **order)
                for file in files:
                    os.close(file)
                clients[process] = client
                client.sendall(f"{process}\n".encode())
            if ended in ready:
                os.read(ended, 1 << 12)
                for process in list(clients):
                    done, status = os.waitpid(process, os.WNOHANG)
                    if done:
                        with clients.pop(process) as client:
                            client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def run(files: list[int], code: str, arguments: list[str], environment: dict[str, str]) -> None:
    """Become the program with this code and these arguments."""
    os.environ.clear()
    os.environ.update(environment)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    faulthandler.enable()  # for one that does not end
    sys.argv = arguments
    exec(code, {"__name__": "__main__"})
    sys.exit()


def load_interfaces() -> None:
    """Load the libraries of the messages that are imported, which the first publisher or client of each would load."""
    modules = [module for name, module in sys.modules.items() if name.endswith((".msg", ".srv"))]
    for kind in {value for module in modules for value in vars(module).values() if isinstance(value, type)}:
        if load := getattr(type(kind), "__import_type_support__", None):
            load()


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    load_interfaces()
    inspect.getmodule(serve)  # the first line of a log looks through the files of all modules for its own
    gc.freeze()  # no fork looks through what is imported, which would copy its pages
    serve(sys.argv[1])
    shutil.rmtree(Path(sys.argv[1]).parent)
