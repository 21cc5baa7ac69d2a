"""Services whose results come later, on a real graph, with work of the test's own behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

import pytest
import rclpy
from rclpy.context import Context

from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.node.executors import CallbackThread, ThreadedNode, new_executor
from robotmem_ros.node.services import serve as create_service
from robotmem_ros.srv import Forget

from ..support.node.graph import Client, own_domain

Begin = Callable[[Forget.Request], "Future[str]"]
_GREETING = 1_000
"""Id of a memory in the request by which service and client find each other."""


def fill(response: Forget.Response, result: str) -> None:
    if result != "fine":
        raise ValueError(result)


@pytest.fixture
def serve() -> Iterator[Callable[[Begin], Client]]:
    """Serves /memory/forget by a function, on a node that an executor spins too; gives a client."""
    with own_domain() as domain, ExitStack() as stack:
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        stack.callback(context.try_shutdown)
        node = ThreadedNode("memory", context=context)
        stack.callback(node.destroy_node)
        executor = new_executor(node)
        executor.add_node(node)
        services = CallbackThread(node, "requests")
        done = threading.Event()

        def spin() -> None:
            while not done.is_set():
                executor.spin_once(timeout_sec=0.01)

        spinner = threading.Thread(target=spin)

        def stop() -> None:
            done.set()
            spinner.join()
            executor.shutdown()
            services.close(1000)

        def begin_serving(begin: Begin) -> Client:
            def greet_or_begin(request: Forget.Request) -> Future[str]:
                return finished("fine") if request.memory_id == _GREETING else begin(request)

            create_service(node, services, Forget, "~/forget", begin=greet_or_begin, fill=fill)
            services.start()
            spinner.start()
            stack.callback(stop)
            client = Client(domain)
            stack.callback(client.close)
            client.ask(client.of(Forget, "forget"), Forget.Request(memory_id=_GREETING))
            return client

        yield begin_serving


def finished(result: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_result(result)
    return future


def test_every_request_of_a_burst_is_answered_with_its_own_result(serve: Any) -> None:
    def begin(request: Forget.Request) -> Future[str]:
        if request.memory_id % 3 == 0:
            raise InvalidFieldError("memory_id", request.memory_id, "is a third")
        return finished("fine")

    client = serve(begin)
    waiting = [client.start(Forget, "forget", memory_id=number) for number in range(300)]
    for number, future in enumerate(waiting):
        response = client.result(future)
        assert response.success == (number % 3 != 0)
        assert response.error == ("" if number % 3 else f"memory_id: {number} is a third")


def test_an_unforeseen_error_is_answered_and_the_next_request_too(serve: Any) -> None:
    results: list[Exception | Future[str]] = [KeyError("begin"), finished("not so fine"), finished("fine")]

    def begin(request: Forget.Request) -> Future[str]:
        result = results[int(request.memory_id)]
        if isinstance(result, Exception):
            raise result
        return result

    client = serve(begin)
    answers = [client.call(Forget, "forget", memory_id=number) for number in range(3)]
    assert [answer.success for answer in answers] == [False, False, True]
    assert [answer.error for answer in answers] == [
        "internal error: KeyError('begin')",
        "internal error: ValueError('not so fine')",
        "",
    ]


def test_a_request_whose_result_comes_later_holds_up_no_other(serve: Any) -> None:
    slow: Future[str] = Future()
    client = serve(lambda request: slow if request.memory_id == 1 else finished("fine"))
    waiting = client.start(Forget, "forget", memory_id=1)
    assert client.call(Forget, "forget", memory_id=2).success
    assert not waiting.done()
    slow.set_result("fine")
    assert client.result(waiting).success


def test_text_that_is_no_unicode_does_not_break_the_answer(serve: Any) -> None:
    def begin(request: Forget.Request) -> Future[str]:
        raise InvalidFieldError("reason", "\ud800", "is half a character")

    answer = serve(begin).call(Forget, "forget", memory_id=1)
    assert not answer.success
    assert "is half a character" in answer.error
