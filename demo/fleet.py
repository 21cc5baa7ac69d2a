"""Three robots in the house of the patrol share what they know, while their network and their database fail.

The scout drives the first round and the porter the second. The cook sees nothing: it subscribes to what they know, and
asks their fleet. The fleet is a PostgreSQL server with a synchronous standby, behind a network that can be cut. At the
end the cook is asked what `make demo` asks a robot that has seen everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from demo.console import console
from demo.memory_node import MemoryNode, free_domain, memory_node
from demo.network import Proxy
from demo.planner import Planner
from demo.postgres import Server, server, standby
from demo.questions import Question, in_chinese, nearest_red_mug, questions
from demo.record_patrol import Truth
from demo.stages import play, put, say
from robotmem_ros.fleet import administration
from robotmem_ros.fleet.connection import open_database
from robotmem_ros.srv import Recall

_COLLECTION = "default"
_PATIENCE = 30.0
_DOOR = "the study door needs a pull of 40 N, 28 N do not move it"
_CAT = "the cat sleeps in the middle of the living room, go round it on the left"
_STORED = """
    SELECT count(*) FROM robotmem.memories AS m JOIN robotmem.robots AS r ON r.id = m.robot
    WHERE r.name = '{}' AND m.status = 'active' AND m.model = '{}'
"""


@dataclass(frozen=True)
class _Robot:
    """A robot of the fleet: its node, and whoever asks it."""

    name: str
    node: MemoryNode
    planner: Planner

    def wait_for_backlog(self, is_right: Callable[[int], bool], purpose: str) -> int:
        """Wait until the number of changes that the fleet lacks is right, and return it."""
        planner = self.planner
        planner.wait_until(
            lambda: is_right(planner.status.fleet_backlog), seconds=_PATIENCE, purpose=f"the {self.name} {purpose}"
        )
        return int(planner.status.fleet_backlog)

    def wait_for_fact(self, fact: str) -> float:
        """Wait until the robot's own file has a fact, and return the seconds that took."""
        start = time.monotonic()
        request = Recall.Request(query=fact, kinds=["fact"], n=1)
        self.planner.wait_until(
            lambda: any(memory.content == fact for memory in self.planner.recall(request)[0].memories),
            seconds=_PATIENCE,
            purpose=f"the {self.name} knows that {fact}",
        )
        return time.monotonic() - start


@dataclass
class _Fleet:
    """The robots and their servers, each of which has a network before it."""

    primary: Server
    standby: Server
    networks: tuple[Proxy, ...]
    recording: Path
    truth: Truth
    scout: _Robot
    porter: _Robot
    cook: _Robot
    answers: int = 0
    wrong: int = 0

    def __post_init__(self) -> None:
        self.current = self.primary

    def share(self) -> None:
        """Let the scout learn, and the cook answer by what came down to its file and by what is in the fleet."""
        say("1. The scout drives the first round. The cook is asked, which has seen nothing.")
        self._play(self.scout, lap=1)
        self.scout.planner.learn(_DOOR)
        seconds = self.cook.wait_for_fact(_DOOR)
        say(f"down     {seconds:.1f} s after the scout learned a fact, the file of the cook has it, too")
        self._wait_until_stored(self.scout)
        self._ask(_fact(_DOOR), _from_fleet(nearest_red_mug(self.truth)), _from_fleet(in_chinese(self.truth)))

    def cut_the_network(self) -> None:
        """Let the robots go on without a network, and catch up afterwards."""
        say("2. The network is cut. The cook answers from its own file, and says why.")
        for network in self.networks:
            network.cut()
        self.scout.planner.learn(_CAT)
        backlog = self.scout.wait_for_backlog(lambda number: number > 0, "has a backlog")
        say(f"cut      the scout learned another fact, and has a backlog of {backlog}")
        self._ask(_from_file(_fact(_DOOR)), _from_file(nearest_red_mug(self.truth)))
        for network in self.networks:
            network.mend()
        self.scout.wait_for_backlog(lambda number: number == 0, "has no backlog")
        seconds = self.cook.wait_for_fact(_CAT)
        say(f"mended   the scout has no backlog, and {seconds:.1f} s later the cook has the fact")
        self._ask(_fact(_CAT))

    def fail_over(self) -> None:
        """Kill the primary while the porter drives, and find all in the standby, which takes over."""
        say("3. The porter drives the second round. Halfway the primary is killed, and the standby takes over.")
        half = len(self._events(2)) // 2
        self._play(self.porter, lap=2, progress=lambda number: self._kill() if number == half else None)
        self._wait_until_stored(self.scout, self.porter)
        self._ask(*map(_from_fleet, questions(self.truth)))

    def _kill(self) -> None:
        self.primary.kill()
        self.standby.promote()
        self.current = self.standby

    def _events(self, lap: int) -> list[int]:
        return [event.stamp for event in self.truth.events if event.pose.lap == lap]

    def _play(self, robot: _Robot, *, lap: int, progress: Callable[[int], None] = lambda number: None) -> None:
        stamps = self._events(lap)
        between = range(stamps[0], stamps[-1] + 1)
        play(robot.planner, self.recording, len(stamps), between=between, progress=progress)

    def _wait_until_stored(self, *robots: _Robot) -> None:
        numbers = ", ".join(f"{self._stored(robot)} of the {robot.name}" for robot in robots)
        say(f"up       the fleet has all memories, with vectors: {numbers}")

    def _stored(self, robot: _Robot) -> int:
        """Wait until the fleet has all that a robot remembers, and return how much that is."""
        robot.wait_for_backlog(lambda number: number == 0, "has no backlog")

        def is_stored() -> bool:
            status = robot.planner.status
            return self.current.query(_STORED.format(robot.name, status.embedding_model)) == str(status.memories)

        purpose = f"the fleet has all that the {robot.name} remembers, with vectors"
        robot.planner.wait_until(is_stored, seconds=_PATIENCE, purpose=purpose)
        return int(robot.planner.status.memories)

    def _ask(self, *asked: Question) -> None:
        self.answers += len(asked)
        self.wrong += put(self.cook.planner, asked)


def show_fleet(folder: Path, truth: Truth, *, keep: bool) -> int:
    """Run the demo of the fleet; the exit code is 0 if all answers are the truth."""
    start, domain = time.monotonic(), free_domain()
    with _running(folder, truth, domain) as fleet:
        fleet.share()
        fleet.cut_the_network()
        fleet.fail_over()
        true = fleet.answers - fleet.wrong
        say(f"{true} of {fleet.answers} answers are the truth; {time.monotonic() - start:.1f} s")
        if keep:
            _stay(fleet, folder, domain)
    return 1 if fleet.wrong else 0


@contextmanager
def _running(folder: Path, truth: Truth, domain: int) -> Iterator[_Fleet]:
    start = time.monotonic()
    with server() as primary, standby(primary) as second, ExitStack() as stack:
        seconds = time.monotonic() - start
        say(
            f"server   PostgreSQL at port {primary.port}, a synchronous standby at {second.port}, after {seconds:.1f} s"
        )
        networks = (Proxy(primary.port), Proxy(second.port))
        for network in networks:
            stack.enter_context(closing(network))
        urls = _add_robots(primary, folder, [network.port for network in networks])
        start = time.monotonic()
        robots = [stack.enter_context(_robot(folder / name, domain, url)) for name, url in urls.items()]
        for robot in robots:
            robot.planner.wait_for_node(_PATIENCE)
        seconds = time.monotonic() - start
        names = ", ".join(f"/{robot.name}/memory" for robot in robots)
        say(f"nodes    {names} on ROS domain {domain}, active after {seconds:.1f} s")
        scout, porter, cook = robots
        yield _Fleet(primary, second, networks, folder / "patrol", truth, scout, porter, cook)


def _add_robots(primary: Server, folder: Path, ports: list[int]) -> dict[str, str]:
    """Make the fleet and its robots; return the URL of each, with both servers."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    urls = {}
    with closing(open_database(primary.url("postgres"))) as connection:
        administration.initialize(connection)
        for name in ("scout", "porter", "cook"):
            (folder / name).mkdir()
            password_file = folder / name / "password"
            role = administration.add_robot(connection, name, password_file)
            urls[name] = (
                f"postgresql://{role}@{hosts}/postgres?target_session_attrs=read-write&passfile={password_file}"
            )
        administration.grant(connection, "cook", _COLLECTION)
    return urls


@contextmanager
def _robot(folder: Path, domain: int, url: str) -> Iterator[_Robot]:
    parameters = {"fleet_url": url, "map_id": "house"}
    if folder.name == "cook":
        parameters["fleet_subscriptions"] = _COLLECTION
    namespace = f"/{folder.name}"
    with (
        memory_node(folder, domain, namespace, **parameters) as node,
        closing(Planner(domain, node.check, namespace)) as planner,
    ):
        yield _Robot(folder.name, node, planner)


def _fact(fact: str) -> Question:
    return Question(
        words=f"What is known of {' '.join(fact.split()[:3])}?",
        request=Recall.Request(query=" ".join(fact.split()[:3]), kinds=["fact"], n=1),
        reading=lambda memories: f"{memories[0].content} ({memories[0].collection})",
        truth=fact,
        is_true=lambda memories: memories[0].content == fact and memories[0].collection == f"@scout/{_COLLECTION}",
    )


def _from_fleet(question: Question) -> Question:
    """Put a question to the fleet, which names the robots that remember the answer."""
    question.request.scope, question.request.deadline = "fleet", _PATIENCE
    return replace(
        question,
        reading=lambda memories: (
            f"{', '.join(sorted({memory.robot for memory in memories}))}: {question.reading(memories)}"
        ),
        is_true=lambda memories: all(memory.robot for memory in memories) and question.is_true(memories),
    )


def _from_file(question: Question) -> Question:
    """Put a question to the fleet, which cannot be reached."""
    question.request.scope = "fleet"
    return replace(question, reason="this is what the robot knows")


def _stay(fleet: _Fleet, folder: Path, domain: int) -> None:
    url = fleet.current.url("postgres")
    say("The nodes and the server stay until Ctrl-C. In another shell:")
    say(f"  . scripts/env.sh; export ROS_DOMAIN_ID={domain} ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST")
    say(f"  export ROBOTMEM_FLEET_URL='{url}'")
    say("  robotmem fleet status")
    say("  robotmem fleet recall 'red mug'")
    say("  ros2 service call /cook/memory/recall robotmem_ros/srv/Recall '{query: red mug, scope: fleet}'")
    with suppress(KeyboardInterrupt), console(folder, "--fleet-url", url) as address:
        say(address)
        while True:
            for robot in (fleet.scout, fleet.porter, fleet.cook):
                robot.node.check()
            time.sleep(1.0)
