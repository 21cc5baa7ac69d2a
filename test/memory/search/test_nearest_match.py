"""A query with a spatial sort: among the memories that really match, by distance."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from robotmem_ros.memory import Mode, RecallResult, RobotMemory
from robotmem_ros.memory.embedding import Embedder

ENGLISH = [
    "red mug", "red mug on the shelf", "a red mug", "red mugs on the kitchen table", "The mug is red.",
    "a small red mug with a broken handle next to the sink",
]  # fmt: skip
CHINESE = ["红色杯子", "架子上的红色杯子", "厨房桌子上有一个红色的杯子"]
OTHERS = ["blue mug", "green chair", "potted plant", "red chair", "a plant in a pot", "blue cup", "蓝色的椅子"]
ASKING_FOR_MUGS = [
    "red mug", "RED MUGS!", "where is the nearest red mug?", "which red mug is closest to me?", "find the red mug",
    "bring me a red mug, please", "go to the red mug near the robot", "is there any red mug in this house?",
    "can you pick up the red mug nearest to the robot's base", "a red coffee mug",
]  # fmt: skip
ASKING_IN_CHINESE = ["红色杯子", "最近的红色杯子在哪里？", "离机器人最近的红色的杯子", "请帮我找一下红色杯子"]


@dataclass(frozen=True)
class House:
    """A memory, and where its red mugs are by id: those described in English, and those in Chinese."""

    memory: RobotMemory
    english: dict[int, tuple[float, ...]]
    chinese: dict[int, tuple[float, ...]]


@pytest.fixture(scope="module", params=["model", "no model"])
def house(request: pytest.FixtureRequest, model: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with 500 red mugs described in many words, 120 in Chinese, and 700 other things."""
    path = tmp_path_factory.mktemp("house") / "memory.db"
    draw = random.Random(7)

    def fill(texts: list[str], count: int) -> dict[int, tuple[float, ...]]:
        points = [tuple(draw.uniform(-20, 20) for _ in range(3)) for _ in range(count)]
        return {
            memory.save_perception(texts[index % len(texts)], pose=point).memory_id: point
            for index, point in enumerate(points)
        }

    embedder = None if request.param == "no model" else model
    with RobotMemory(path, embedder=embedder, embedding_model="", synchronous="normal") as memory:
        house = House(memory, fill(ENGLISH, 500), fill(CHINESE, 120))
        fill(OTHERS, 700)
        memory.flush()
        yield house


def nearest(memory: RobotMemory, query: str, target: tuple[float, ...], n: int = 1, **more: object) -> RecallResult:
    """The nearest memories that match a query."""
    return memory.recall(query, n=n, spatial_sort={"field": "position", "target": list(target), **more})


@pytest.mark.parametrize("query", ASKING_FOR_MUGS)
def test_a_query_finds_the_nearest_of_500_red_mugs(house: House, query: str) -> None:
    check_nearest(house.memory, query, house.english)


@pytest.mark.parametrize("query", ASKING_IN_CHINESE)
def test_a_chinese_query_finds_the_nearest_memories(house: House, query: str) -> None:
    check_nearest(house.memory, query, house.chinese)


def check_nearest(memory: RobotMemory, query: str, mugs: dict[int, tuple[float, ...]]) -> None:
    """A query names the true nearest mugs, whatever the target."""
    draw = random.Random(query)
    for _ in range(5):
        target = tuple(draw.uniform(-20, 20) for _ in range(3))
        distances = {memory_id: math.dist(point, target) for memory_id, point in mugs.items()}
        expected = sorted(distances, key=lambda memory_id: distances[memory_id])[:3]
        result = nearest(memory, query, target, n=3)
        assert [found.id for found in result] == expected
        assert [found.distance for found in result] == pytest.approx([distances[one] for one in expected])


@pytest.fixture(params=["model", "no model"])
def room(request: pytest.FixtureRequest, model: Embedder) -> Iterator[RobotMemory]:
    """A room with blue mugs, chairs and plants next to the robot, and one red mug 30 m away."""
    with RobotMemory(":memory:", embedder=model if request.param == "model" else None, embedding_model="") as memory:
        memory.save_perception("red mug on the window sill", pose=(30.0, 0.0, 0.0))
        for index in range(60):
            memory.save_perception(["blue mug", "red chair", "plant", "white mug"][index % 4], pose=(index / 100, 0, 0))
        memory.flush()
        yield memory


@pytest.mark.parametrize("query", ["red mug", "where is the nearest red mug?", "find the red mugs"])
def test_a_red_mug_30_m_away_comes_before_other_things_next_to_the_robot(room: RobotMemory, query: str) -> None:
    result = nearest(room, query, (0.0, 0.0, 0.0), n=5)
    assert [hit.memory.content for hit in result] == ["red mug on the window sill"]
    assert result[0].distance == 30.0
    assert result[0].score == 1.0


@pytest.fixture(scope="module", params=["model", "no model"])
def docks(request: pytest.FixtureRequest, model: Embedder) -> Iterator[RobotMemory]:
    """Pairs of things that one character tells apart; the wrong one of each is nearer."""
    pairs = [
        ("a red toolbox in room 3", "a red toolbox in room 4"),
        ("charging dock A", "This is a charging dock, named B."),
        ("shelf C holds screws", "shelf D holds screws"),
        ("gripper of robot 2 is broken", "gripper of robot 1 is fine"),
        ("the x axis drifts", "the y axis drifts"),
        ("A区有一个托盘", "B区有一个托盘"),
        ("3号房的椅子", "4号房的椅子"),
    ]
    with RobotMemory(":memory:", embedder=model if request.param == "model" else None, embedding_model="") as memory:
        for right, wrong in pairs:
            memory.save_perception(right, pose=(9.0, 0.0, 0.0))
            memory.save_perception(wrong, pose=(1.0, 0.0, 0.0))
        memory.flush()
        yield memory


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("toolbox in room 3", "a red toolbox in room 3"),
        ("where is the toolbox of room 3?", "a red toolbox in room 3"),
        ("charging dock A", "charging dock A"),
        ("bring me to charging dock a", "charging dock A"),
        ("screws on shelf C", "shelf C holds screws"),
        ("robot 2 gripper", "gripper of robot 2 is broken"),
        ("drift of the x axis", "the x axis drifts"),
        ("A区的托盘", "A区有一个托盘"),
        ("3号房的椅子", "3号房的椅子"),
    ],
)
def test_one_character_tells_things_apart(docks: RobotMemory, query: str, wanted: str) -> None:
    by_distance = nearest(docks, query, (0.0, 0.0, 0.0))
    assert [found.memory.content for found in by_distance] == [wanted]
    assert docks.recall(query, n=1)[0].memory.content == wanted


def test_a_single_character_without_a_match_is_left_out(memory: RobotMemory) -> None:
    memory.save_perception("a toolbox in room 4", pose=(5.0, 0.0, 0.0))
    memory.save_perception("a chair in room 3", pose=(1.0, 0.0, 0.0))
    memory.flush()
    result = nearest(memory, "toolbox in room 3", (0.0, 0.0, 0.0), n=5)
    assert [found.memory.content for found in result] == ["a toolbox in room 4"]


def test_a_query_without_a_known_word_is_matched_by_its_vector(real_memory: RobotMemory) -> None:
    real_memory.save_perception("sofa", pose=(9.0, 0.0, 0.0))
    real_memory.save_perception("screwdriver", pose=(1.0, 0.0, 0.0))
    real_memory.flush()
    result = nearest(real_memory, "couch", (0.0, 0.0, 0.0), n=5)
    assert [hit.memory.content for hit in result] == ["sofa"]
    assert result.mode is Mode.VEC_ONLY


def test_without_a_model_what_holds_most_of_the_words_matches(room: RobotMemory) -> None:
    assert nearest(room, "red mug elephant", (0.0, 0.0, 0.0))[0].memory.content == "red mug on the window sill"


def test_memories_without_a_vector_yet_match_by_their_words(real_memory: RobotMemory) -> None:
    real_memory.save_perception("a red mug", pose=(1.0, 0.0, 0.0))
    # Asked at once, before or after the background embedded it: the result is the same.
    result = nearest(real_memory, "elephant sized red mug", (0.0, 0.0, 0.0))
    assert [hit.memory.content for hit in result] == ["a red mug"]


def test_a_maximum_distance_is_a_condition_that_holds_before_words_are_compared(memory: RobotMemory) -> None:
    # In the corner of the box around the target, but outside of the circle.
    memory.save_perception("red mug", pose=(0.9, 0.9, 0.0))
    memory.save_perception("mug", pose=(0.5, 0.0, 0.0))
    memory.save_perception("red mug", pose=(0.0, 0.0, 5.0))
    memory.flush()
    result = nearest(memory, "red mug", (0.0, 0.0, 0.0), max_distance=1.0)
    assert [found.memory.content for found in result] == ["mug"]


def test_a_query_with_nothing_near_enough_has_an_empty_result_without_a_reason(memory: RobotMemory) -> None:
    memory.save_perception("red mug", pose=(5.0, 0.0, 0.0))
    memory.flush()
    result = nearest(memory, "red mug", (0.0, 0.0, 0.0), max_distance=1.0)
    assert (len(result), result.mode, result.reason) == (0, Mode.HYBRID, "")


def test_a_rare_condition_finds_its_one_memory_among_20000(memory: RobotMemory) -> None:
    from robotmem_ros.memory.models import NewPerception
    from robotmem_ros.memory.new_memory import new_perception

    futures = [
        memory.store(
            new_perception(
                memory.parameters,
                NewPerception(
                    description=f"red mug {index % 50}",
                    context={"task": {"rare": index == 123}},
                    pose=(float(index % 200), float(index // 200), 0.0),
                    session_id="one" if index == 777 else "many",
                    observed_at=index + 1,
                ),
                now=lambda: 1,
            )
        )
        for index in range(20_000)
    ]
    ids = [future.result().memory_id for future in futures]
    rare = {"task.rare": True}
    target = {"field": "position", "target": [0.0, 99.0]}
    assert [found.id for found in memory.recall("red mug", context_filter=rare)] == [ids[123]]
    assert [found.id for found in memory.recall("", context_filter=rare)] == [ids[123]]
    assert [found.id for found in memory.recall("red mug", context_filter=rare, spatial_sort=target)] == [ids[123]]
    assert [found.id for found in memory.recall("mug", session_id="one")] == [ids[777]]
    assert [found.id for found in memory.recall("mug", after=5001, before=5002)] == [ids[5000]]


def test_the_same_perception_saved_20_times_is_20_perceptions(real_memory: RobotMemory) -> None:
    ids = {real_memory.save_perception("a red mug on the table").memory_id for _ in range(20)}
    real_memory.flush()
    assert len(ids) == 20
    assert {memory.id for memory in real_memory.recall("red mug", n=100, fold=False)} == ids
    assert real_memory.status().perceptions == 20


@pytest.mark.parametrize("copies", [300, 700])
def test_many_memories_at_the_same_distance_are_ranked_once_each_newest_first(memory: RobotMemory, copies: int) -> None:
    from robotmem_ros.memory.models import NewFact
    from robotmem_ros.memory.new_memory import new_fact

    texts = ["mug"] * copies + [f"plant number {index}" for index in range(2500)]
    random.Random(3).shuffle(texts)
    futures = [memory.store(new_fact(memory.parameters, NewFact(insight=text), now=lambda: 1)) for text in texts]
    mugs = [future.result().memory_id for future, text in zip(futures, texts, strict=True) if text == "mug"]
    memory.flush()
    assert [found.id for found in memory.recall("mug", n=100, fold=False)] == mugs[::-1][:100]
