"""After a purge, no byte of what was purged stands in any file of the database."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewMemory, NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.consistency import check_file
from ...support.embedders import WordVectors
from ...support.examples import examples
from ...support.raw_bytes import files_of, found, of_position, of_vector, of_words
from ..conftest import OpenMemory

SPOT = (12.345678, -7.654321, 0.987654321)
THING = (3.141592, 2.718281, 1.414213)
WORDS = ("qzxalice", "vkjwbedroom", "xqzsummary", "wvkcategory", "jqxtag", "zvkfile", "kxjentity", "qjvsession")
CHINESE = "秘密病历"
SEEN = ("xvqdescription", "zjqmetadata", "vqklabel", "kqzframe", "jzxvmap", "xkjpath", "qvzvalue")
OLD = ("xwzold", "vjkreason")
DATA = b"\x8f\x9e\xad\xbc thumbnail"


def fill(memory: RobotMemory, count: int) -> None:
    """Memories that stay, with words of their own."""
    for number in range(count):
        memory.save_perception(f"plain mug {number} on shelf {number % 7}", pose=[number % 31, number % 17, 1.0])


def needles() -> dict[str, bytes]:
    """All that tells of the memories of `tell`."""
    vectors = WordVectors()
    words = of_words([*WORDS, *SEEN, CHINESE, *OLD]) | {"data": DATA}
    told = {**of_vector(vectors.embed_one(f"{WORDS[0]} sleeps in {WORDS[1]}")), **of_position(SPOT)}
    return {**words, **told, **{f"thing {name}": value for name, value in of_position(THING).items()}}


def tell(memory: RobotMemory) -> list[int]:
    """Two memories that hold a secret in every column and index, one of them changed before."""
    fact = memory.learn(
        "xwzold text",
        {"spatial": {"bed": list(SPOT)}, SEEN[5]: {"deep": SEEN[6]}},
        session_id=WORDS[7],
        human_summary=f"{WORDS[2]} {CHINESE}",
        category=WORDS[3],
        tags=[WORDS[4]],
        scope_files=[WORDS[5]],
        scope_entities=[WORDS[6]],
    ).memory_id
    memory.flush()
    memory.update(fact, f"{WORDS[0]} sleeps in {WORDS[1]}")
    memory.recall(WORDS[0])
    perception = memory.save_perception(
        SEEN[0], data=DATA * 3000, metadata={SEEN[1]: 1}, pose=THING, label=SEEN[2],
        frame_id=SEEN[3],
    ).memory_id  # fmt: skip
    memory.flush()
    memory.forget(perception, "vjkreason")
    return [fact, perception]


@pytest.mark.parametrize("others", [0, 300])
def test_neither_text_nor_vector_nor_position_stays_in_the_file(open_memory: OpenMemory, others: int) -> None:
    memory = open_memory(map_id=SEEN[4])
    fill(memory, others)
    ids = tell(memory)
    memory.flush()
    path = memory.path
    there = found(path, needles())
    of_numbers = {"kept vector[0]", "x as text", "thing x as double", "data"}
    assert {*WORDS, *SEEN, *OLD, CHINESE, *of_numbers} <= there
    done = memory.purge(ids=ids)
    assert done.memories == 2
    # The name of this map is that of the other memories too.
    assert found(path, needles()) == ({SEEN[4]} if others else set())
    memory.close()
    assert found(path, needles()) == ({SEEN[4]} if others else set())
    assert check_file(path) == others


def test_the_memories_that_stay_are_found_as_before(open_memory: OpenMemory) -> None:
    memory = open_memory()
    fill(memory, 50)
    here = {"field": "position", "target": [3.0, 3.0, 1.0]}
    memory.flush()
    before = [memory.recall("shelf 3", n=20), memory.recall("mug", spatial_sort=here, n=20)]
    memory.purge(ids=tell(memory))
    after = [memory.recall("shelf 3", n=20), memory.recall("mug", spatial_sort=here, n=20)]
    assert [[one.id for one in answer] for answer in after] == [[one.id for one in answer] for answer in before]


def test_sightings_of_a_purged_object_leave_no_trace(open_memory: OpenMemory) -> None:
    memory = open_memory()
    fill(memory, 100)
    draw = random.Random(3)
    places = [tuple(5.0 + draw.uniform(-0.05, 0.05) for _ in range(3)) for _ in range(40)]
    for number, place in enumerate(places):
        new = sighting(memory, place, 10**9 * (number + 1) * 2)
        (stored,) = memory.store_sightings([new]).result()
    assert len(memory.object_history(stored.memory_id)) == 40
    pieces = {f"{n} {name}": piece for n, place in enumerate(places) for name, piece in of_position(place).items()}
    assert {f"{n} x as double" for n in range(40)} <= found(memory.path, pieces)
    done = memory.purge(ids=[stored.memory_id])
    assert (done.memories, done.sightings) == (1, 40)
    assert found(memory.path, {**pieces, **of_words(["zqvtoothbrush"])}) == set()


def sighting(memory: RobotMemory, place: tuple[float, ...], when: int) -> NewMemory:
    """One sighting of a thing with a telling label."""
    return new_perception(
        memory.parameters,
        NewPerception(description="a zqvtoothbrush", label="zqvtoothbrush", pose=place, observed_at=when),
        now=lambda: 1,
    )


def test_backups_beside_the_database_go_too(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "my[1].db")
    names = ("my[1].db.v1.bak", "my[1].db.v12.bak")
    strangers = ("my1.db.v1.bak", "my[1].db2", "my[1].db.notes.txt", "other.db.v1.bak")
    for name in (*names, *strangers):
        (tmp_path / name).write_bytes(b"copy")
    memory.purge(ids=[memory.learn("mug").memory_id])
    left = {file.name for file in tmp_path.iterdir()} - {"my[1].db", "my[1].db-wal", "my[1].db-shm"}
    assert left == set(strangers)


LETTERS = "qxzjvkwy"
STEPS = st.lists(st.tuples(st.sampled_from(("learn", "learn", "update", "forget", "flush", "see")), st.integers(0, 40)))


@settings(max_examples=examples(25))
@given(steps=STEPS.filter(bool), seed=st.integers(0, 2**32))
def test_no_word_of_any_purged_memory_stays_whatever_was_done_before(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], seed: int
) -> None:
    draw = random.Random(seed)
    path = tmp_path_factory.mktemp("purge") / "memory.db"
    secret: set[str] = set()
    plain: set[str] = set()
    owner: dict[int, str] = {}
    with RobotMemory(path, embedder=WordVectors(), synchronous="normal") as memory:
        for step, number in steps:
            collection = draw.choice(("secret", "plain"))
            words = ["".join(draw.choices(LETTERS, k=12)) for _ in range(number % 5 + 1)]
            active = sorted(owner)
            if step in ("learn", "see"):
                place = None if step == "learn" else [draw.uniform(-9, 9) for _ in range(3)]
                stored = memory.save_perception(" ".join(words), collection=collection, pose=place)
                owner[stored.memory_id] = collection
            elif step == "update" and active:
                chosen = active[number % len(active)]
                collection = owner[chosen]
                memory.update(chosen, " ".join(words))
            elif step == "forget" and active:
                chosen = active[number % len(active)]
                collection = owner.pop(chosen)
                memory.forget(chosen, " ".join(words))
            else:
                memory.flush()
                continue
            (secret if collection == "secret" else plain).update(words)
        memory.flush()
        memory.purge(collection="secret")
        assert found(path, of_words(secret)) == set()
    assert len(files_of(path)) == 1
    with RobotMemory(path, embedding_model="") as again:
        assert again.status().memories == sum(collection == "plain" for collection in owner.values())
    check_file(path)
    assert found(path, of_words(plain)) == plain
