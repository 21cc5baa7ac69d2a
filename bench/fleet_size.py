"""Calculate what large fleets need, from what one server was measured to need.

Nothing of this was tried at such a size: it says what to look at first. Prices are assumptions.
"""

from __future__ import annotations

import argparse
import math

from bench.table import markdown

ROBOTS = (100, 1_000, 10_000)
_HOURS_A_MONTH = 730
_GB = 10**9
_HEAD = (
    "robots", "memories", "written a second", "disk, GB", "vectors in RAM, GB", "vCPUs busy", "connections", "shards",
    "cost a month", "breaks first",
)  # fmt: skip


def add_assumptions(parser: argparse.ArgumentParser) -> None:
    """Add the options of a plan; their defaults are what was measured, or assumptions."""
    add = parser.add_argument_group("assumptions of --plan").add_argument
    add(
        "--rate-kept",
        type=float,
        default=0.25,
        help="memories a second that stay; the patrol of the demo: 102 in 432 s",
    )
    add("--hours", type=float, default=8.0, help="hours a day in which a robot works")
    add("--days", type=float, default=30.0, help="days that a memory stays")
    add("--bytes-memory", type=float, default=1970.0, help="bytes of a memory with its indexes")
    add("--bytes-vector", type=float, default=2480.0, help="bytes of a vector with its index")
    add("--bytes-log", type=float, default=9440.0, help="bytes of a memory and its vector in the write-ahead log")
    add("--per-vcpu", type=float, default=300.0, help="memories with vectors that a vCPU stores in a second")
    add("--vcpus", type=int, default=8, help="vCPUs of a server")
    add("--ram", type=float, default=32.0, help="GB of RAM of a server, of which vectors get three quarters")
    add("--connections", type=int, default=1000, help="connections of a server")
    add("--per-robot", type=int, default=3, help="connections of a robot: one sends, one brings, one asks")
    add("--servers", type=int, default=2, help="servers of a shard, its standbys included")
    add("--price-vcpu", type=float, default=0.05, help="price of a vCPU with its RAM for an hour")
    add("--price-gb", type=float, default=0.10, help="price of a GB of disk for a month")


def plan(options: argparse.Namespace) -> str:
    """Return the table of fleets of several sizes."""
    return markdown(_HEAD, [_row(robots, options) for robots in ROBOTS])


def _row(robots: int, options: argparse.Namespace) -> tuple[str, ...]:
    rate = robots * options.rate_kept
    memories = rate * 3600 * options.hours * options.days
    disk = memories * (options.bytes_memory + options.bytes_vector) / _GB
    vectors = memories * options.bytes_vector / _GB
    vcpus = rate / options.per_vcpu
    connections = robots * options.per_robot
    loads = {
        "RAM": vectors / (0.75 * options.ram),
        "vCPUs": vcpus / options.vcpus,
        "connections": connections / options.connections,
    }
    first = max(loads, key=lambda name: loads[name])
    shards = math.ceil(loads[first])
    cost = options.servers * (shards * options.vcpus * _HOURS_A_MONTH * options.price_vcpu + disk * options.price_gb)
    return (
        f"{robots:,}", f"{memories:,.0f}", f"{rate:,.0f}, {rate * options.bytes_log / 10**6:,.1f} MB", f"{disk:,.0f}",
        f"{vectors:,.0f}", f"{vcpus:,.1f}", f"{connections:,}", f"{shards:,}", f"{cost:,.0f}",
        f"{first}, {100 * loads[first]:,.0f} % of a server",
    )  # fmt: skip
