"""Put the results into one table, ours beside robotmem's, with notes on how to read it."""

from __future__ import annotations

from typing import NamedTuple

from bench.peers.robotmem_client import Robotmem
from bench.suites.run.recall import EMPTY, IN_PROCESS, LEAST_SERVICE, NEAREST, PEER, SERVICE, Recalls
from bench.suites.run.saves import Filled, Saves
from bench.table import markdown

_HEAD = ("", "in process", "through ROS", Robotmem.name, "ours / robotmem")


class Results(NamedTuple):
    """All that was measured in one run."""

    memories: int
    node_fill: Filled
    peer_fill: Filled
    recalls: Recalls
    saves: Saves


def table(results: Results) -> str:
    """Return the table."""
    node_fill, peer_fill, recalls, saves = results.node_fill, results.peer_fill, results.recalls, results.saves
    topic = results.memories / node_fill.stored_seconds
    right = {name: str(series.right(recalls.nearest_queries)) for name, series in recalls.nearest.items()}
    rows = []
    for query_kind, series in (("recall", recalls.plain), ("recall with filter and spatial sort", recalls.conditional)):
        for percent in (50, 95):
            in_process, served, peer = (series[system].percentile(percent) for system in (IN_PROCESS, SERVICE, PEER))
            ratio = f"{in_process / peer:.2f}, {served / peer:.2f}"
            rows.append((f"{query_kind}, p{percent}, ms", f"{in_process:.1f}", f"{served:.1f}", f"{peer:.1f}", ratio))
    learn, smaller = saves.learn, node_fill.bytes_each / peer_fill.bytes_each
    peers = (("", saves.peer_learn), (", nothing compared there", saves.peer_learn_alone))
    rows += [
        (f"nearest is the true one, of {NEAREST}", right[IN_PROCESS], right[SERVICE], right[PEER], ""),
        ("perceptions saved a second", "", f"{topic:.0f}", f"{saves.peer_save:.0f}", f"{topic / saves.peer_save:.1f}"),
        *(
            (f"facts learned a second, one by one{how}", f"{learn:.0f}", "", f"{peer:.0f}", f"{learn / peer:.1f}")
            for how, peer in peers
        ),
        (
            "bytes on disk a memory",
            f"{node_fill.bytes_each:.0f}",
            "the same",
            f"{peer_fill.bytes_each:.0f}",
            f"{smaller:.2f}",
        ),
    ]
    for query_kind, service in (("the service adds", SERVICE), ("the least service adds", LEAST_SERVICE)):
        plain, conditional = (
            f"{series[service].overhead(series[IN_PROCESS]):.2f}" for series in (recalls.plain, recalls.conditional)
        )
        rows.append((f"{query_kind}, median, ms", "", plain, "", ""))
        rows.append(("the same with filter and spatial sort, ms", "", conditional, "", ""))
    rows.append(("an empty rclpy service, median, ms", "", f"{recalls.plain[EMPTY].percentile(50):.2f}", "", ""))
    return markdown(_HEAD, rows)


def notes(results: Results) -> list[str]:
    """Return how to read the table."""
    node_fill, peer_fill, recalls, saves = results.node_fill, results.peer_fill, results.recalls, results.saves
    count = len(recalls.conditional_queries)
    right = {name: series.right(recalls.conditional_queries) for name, series in recalls.conditional.items()}
    per_second = results.memories / node_fill.vector_seconds
    return [
        (
            f"Queries: {count} a row after a warm-up, in blocks that alternate between the systems; five results. "
            "No text comes twice, so every query is embedded. Times are the caller's; robotmem's within its process."
        ),
        (
            "Nearest: the true one is found by a scan of all memories; half of the queries have a filter too. Of "
            f"the {count} queries with filter and spatial sort, {right[IN_PROCESS]} (in process), {right[SERVICE]} "
            f"(through ROS) and {right[PEER]} (robotmem) first results were the true ones."
        ),
        (
            f"Perceptions: ours through the topic into an empty database, {results.memories} committed after "
            f"{node_fill.stored_seconds:.1f} s; the node computes their vectors in the background and had all "
            f"after {node_fill.vector_seconds:.1f} s ({per_second:.0f} a second). robotmem's save_perception embeds "
            f"within the call ({saves.sample} calls, the world stored before)."
        ),
        (
            "Facts: one call after the other, the world stored before. Ours are on disk when the call returns "
            "(synchronous=full), classified, embedded and compared with those before; what repeats one of them "
            "reinforces it instead, as by default. robotmem's are embedded within the "
            "call (synchronous=normal) and, as published, compared with those before: that "
            f"kept {saves.peer_published} of {saves.sample} memories. In the second row its search for similar "
            "memories is switched off."
        ),
        (
            "The world was loaded into robotmem by its learn(), that search off, with the vectors that our node had "
            "computed for the same texts by the same model; without the model that makes "
            f"{results.memories / peer_fill.stored_seconds:.0f} a second."
        ),
        (
            "The service adds: median, over the same queries, of the time through the service less that in process. "
            "There is a short pause before each query, as with a planner: a process that has slept is slower than one "
            "that has not, and that of a service sleeps between two requests. The empty service is of the same type "
            "and returns nothing; the least service calls the same recall in its callback and does nothing else."
        ),
    ]
