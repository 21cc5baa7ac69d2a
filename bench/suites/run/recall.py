"""Measure how long a recall takes and how often it is right: in process, through services, and by robotmem."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.robotmem_client import Robotmem
from bench.ros.client import Client, Service
from bench.timing import Result, Series, System, query_in_turns
from bench.worlds.house import World
from bench.worlds.house_queries import Query, conditional_queries, nearest_queries, plain_queries
from robotmem_ros.memory import RobotMemory

IN_PROCESS, SERVICE, PEER = "in process", "service", "robotmem"
EMPTY, LEAST_SERVICE = "empty service", "least service"
NEAREST = 60
_WARM_UP = 20
_SEED = 7


class InProcess:
    """Our memory in this process."""

    def __init__(self, memory: RobotMemory) -> None:
        self._memory = memory

    def recall(self, query: Query) -> Result:
        """Run one query and time it."""
        arguments = query.arguments()
        start = time.perf_counter()
        result = self._memory.recall(**arguments)
        return Result(time.perf_counter() - start, tuple(memory.content for memory in result.memories))


@dataclass(frozen=True)
class Recalls:
    """The results of each system for each set of queries."""

    plain: dict[str, Series]
    conditional: dict[str, Series]
    nearest: dict[str, Series]
    conditional_queries: Sequence[Query]
    nearest_queries: Sequence[Query]


def measure_recall(memory: RobotMemory, client: Client, robotmem: Robotmem, world: World, count: int) -> Recalls:
    """Run `count` queries of each sort on every system, after a warm-up. No text comes twice."""
    systems: dict[str, System] = {
        IN_PROCESS: InProcess(memory),
        SERVICE: Service(client, "memory/recall"),
        PEER: robotmem,
        EMPTY: Service(client, "empty/recall"),
        LEAST_SERVICE: Service(client, "least/recall"),
    }
    plain = plain_queries(count + _WARM_UP, _SEED)
    conditional = conditional_queries(world, count + _WARM_UP, _SEED)
    nearest = nearest_queries(world, NEAREST, _SEED)
    query_in_turns(systems, plain[count:])
    query_in_turns(systems, conditional[count:])
    print(f"  {count} queries of words alone", flush=True)
    plain_series = query_in_turns(systems, plain[:count])
    print(f"  {count} queries with filter and spatial sort", flush=True)
    conditional_series = query_in_turns(systems, conditional[:count])
    print(f"  {NEAREST} queries for the nearest", flush=True)
    nearest_series = query_in_turns(systems, nearest)
    return Recalls(plain_series, conditional_series, nearest_series, conditional[:count], nearest)
