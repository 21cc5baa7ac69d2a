"""Words of queries and memories, and how they match in the text index."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.text import scripts
from robotmem_ros.memory.text.tokens import analyse, indexed_piece, indexed_text, plain_text, query_words

from ...support.forks import output_of
from ...support.subprocesses import without
from ..conftest import OpenMemory


@pytest.fixture
def words_only(open_memory: OpenMemory) -> RobotMemory:
    """Open a memory without a model."""
    return open_memory(embedder=None, embedding_model="")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What did the red mug do?", ["red", "mug"]),
        ("RED Mugs mug", ["red", "mug"]),
        ("grip_force is 12.5 N", ["grip", "forc", "12٫5", "n"]),
        ("the", ["the"]),
        ("where is it?", ["where", "is", "it"]),
        ("a b c", ["b", "c"]),
        ("toolbox in room 3?", ["toolbox", "room", "3"]),
        ("x axis of robot 2", ["x", "axi", "robot", "2"]),
        ("3号房", ["3", "号房"]),
        ("A区", ["a", "区"]),
        ("x轴", ["x", "轴"]),
        ("!? -- \"' ()*", []),
        ("", []),
        ("红色的杯子在哪里？", ["红色", "杯子"]),
        ("杯", ["杯"]),
        ("robot看见了red杯子", ["robot", "看见", "red", "杯子"]),
        ("Äpfel Œuvre café", ["apfel", "oeuvr", "cafe"]),
    ],
)
def test_a_query_keeps_its_content_words(text: str, words: list[str]) -> None:
    assert query_words(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "dock A", "dock a", "Dock A is free", "dock a is free", "go to A now", "from dock a to dock b",
        "DOCK A, PLEASE", "Charging Dock A", "docks B, A and C", "the 'A' dock", "dock A's charger", "section a-3",
        "A", "Ａ区",
    ],
)  # fmt: skip
def test_a_letter_is_a_name_where_no_article_can_stand(text: str) -> None:
    assert "a" in query_words(text)
    assert "a" in indexed_text(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "a mug", "A mug is on the table", "Empty.  A mug fell", "docks\nA mug", "See: A mug", "Find A Red Mug",
        "BRING A MUG", "a few mugs", "bring a 3 m rope", "à la cuisine", "il y a du café",
    ],
)  # fmt: skip
def test_articles_are_dropped(text: str) -> None:
    assert "a" not in query_words(text)
    assert "a" not in indexed_text(text).split()


def test_the_pronoun_i_and_letters_after_an_apostrophe_are_dropped() -> None:
    assert query_words("the mug that I left at bay I") == ["mug", "left", "bai", "i"]
    assert query_words("the robot's arm can't reach what we'll need") == ["robot", "arm", "reach", "need"]
    assert query_words("l'atelier d’eau") == ["ateli", "eau"]


def test_words_about_the_sort_are_dropped_from_a_spatial_query() -> None:
    assert analyse("find the red mug nearest to the robot").subject == ["red", "mug"]
    assert analyse("nearest").subject == ["nearest"]


def test_compounds_are_phrases() -> None:
    assert analyse("Grip_Force 12.5 in src/arm.py, on-board; a_ _b x").phrases == (
        "grip forc",
        "src arm py",
        "on board",
        "forc 12٫5",
    )
    assert analyse("no compound here.").phrases == ()


@given(text=st.text())
def test_any_text_gives_words_without_repetition_that_its_index_holds(text: str) -> None:
    words = query_words(text)
    assert len(words) == len(set(words))
    assert all(words)
    assert set(words) <= set(indexed_text(text).split(" "))
    assert all(f" {phrase} " in f" {indexed_text(text)} " for phrase in analyse(text).phrases)


@given(text=st.text())
def test_fts5_keeps_indexed_words_as_they_are(text: str) -> None:
    # FTS5 would not find a word that its tokenizer changes or divides.
    indexed = indexed_text(text)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(x, tokenize = 'ascii')")
    connection.execute("INSERT INTO f VALUES (?)", (indexed,))
    for word in indexed.split():
        known = connection.execute("SELECT count(*) FROM f WHERE f MATCH ?", (f'"{word}"',)).fetchone()
        assert known == (1,)
    connection.close()


@pytest.mark.parametrize(
    ("memory_says", "query"),
    [
        ("a red mug", "mugs"),
        ("two mugs", "mug"),
        ("grasping the handle failed", "grasp"),
        ("the grasp slipped", "grasping"),
        ("Café au lait", "cafe"),
        ("naïve plan", "NAIVE"),
        ("grip_force was 12.5", "grip force"),
        ("edited src/arm.py", "arm.py"),
        ("厨房里的红色杯子", "杯子"),
        ("厨房里的红色杯子", "厨房里有什么？"),
        ("コップはテーブルの上", "コップ"),
        ("emergency-stop pressed", "emergency stop"),
    ],
)
def test_forms_of_a_word_match_each_other(words_only: RobotMemory, memory_says: str, query: str) -> None:
    words_only.learn("nothing of interest")
    memory_id = words_only.learn(memory_says).memory_id
    assert [found.id for found in words_only.recall(query)] == [memory_id]


def test_content_words_outrank_function_words(words_only: RobotMemory) -> None:
    wanted = words_only.learn("gripper slipped off a wet glass").memory_id
    for index in range(50):
        words_only.learn(f"what did the robot do when it was in the room with the others, and what was that {index}")
    answer = words_only.recall("what did the robot do when it was the gripper that slipped?")
    assert answer[0].id == wanted
    assert words_only.recall("what was it that slipped?")[0].id == wanted


def test_adjacent_words_of_a_compound_rank_first(words_only: RobotMemory) -> None:
    apart = words_only.learn("force of the wind, grip of the road").memory_id
    together = words_only.learn("grip_force of the hand, on the road").memory_id
    apart_again = words_only.learn("force of the sea, grip of the sand").memory_id
    assert [found.id for found in words_only.recall("grip_force")] == [together, apart_again, apart]


def test_summary_scope_and_label_are_searched_too(words_only: RobotMemory) -> None:
    ids = [
        words_only.learn("one", human_summary="about a zebra").memory_id,
        words_only.learn("two", scope_files=["src/zebra.py"]).memory_id,
        words_only.learn("three", scope_entities=["zebra crossing"]).memory_id,
        words_only.save_perception("four", label="zebra").memory_id,
    ]
    assert sorted(found.id for found in words_only.recall("zebra")) == ids


def test_bm25_prefers_rare_words_and_short_texts(words_only: RobotMemory) -> None:
    words_only.parameters = words_only.parameters.changed(deduplication="off")
    for _ in range(20):
        words_only.learn("mug on the table")
    rare = words_only.learn("spatula and a mug").memory_id
    long = words_only.learn("spatula beside many other things that lie around here in the kitchen").memory_id
    answer = words_only.recall("mug spatula")
    assert [answer[0].id, answer[1].id] == [rare, long]
    assert answer[0].score == 1.0


def test_without_jieba_and_icu_queries_are_cut_into_pairs_and_the_index_is_the_same() -> None:
    code = """
from robotmem_ros.memory.text.tokens import indexed_text, query_words
print(query_words("红色的杯子"), query_words("杯"), query_words("แก้วอยู่ที่ไหน"), indexed_text("a红色b แก้ว"))
"""
    told = output_of(without("jieba", "icu4py") + code)
    pairs = "['红色', '色的', '的杯', '杯子'] ['杯'] ['แก้', 'ก้ว']"
    assert told == f"{pairs} {indexed_text('a红色b แก้ว')}\n" == f"{pairs} a 红 色 红色 b แ ก้ ว แก้ ก้ว\n"


@pytest.mark.parametrize(
    ("content", "query"),
    [("桌上有红色的杯子", "杯"), ("红杯子在桌上", "红色杯子"), ("컵에 물 있다", "물"), ("𠮷野家在左边", "𠮷")],
)
def test_one_character_finds_the_word_it_is_part_of(words_only: RobotMemory, content: str, query: str) -> None:
    known = words_only.learn(content).memory_id
    words_only.learn("客厅里有一把椅子 의자")
    assert [found.id for found in words_only.recall(query)] == [known]


@pytest.mark.parametrize(
    ("query", "spelled"),
    [
        ("Mugs in room 3.14", {"mug": "Mugs", "room": "room", "3٫14": "3.14"}),
        ("level -1", {"level": "level", "−1": "-1"}),
        ("Café R2", {"cafe": "Café", "r": "R", "2": "2"}),
        ("머그컵이", {"머그": "머그", "그컵": "그컵"}),
    ],
)
def test_words_are_told_as_they_are_written(query: str, spelled: dict[str, str]) -> None:
    assert analyse(query).spellings == spelled


_PARTS = [
    "a",
    "A",
    "room",
    "B2",
    "3rd",
    "5kg",
    "3.14",
    "-2.5",
    "1.2.3",
    "0",
    "_",
    "-",
    ".",
    " ",
    "(",
    "=",
    "'s",
    "\x1c",
]


@given(text=st.lists(st.sampled_from(_PARTS)).map("".join) | st.text(st.characters(codec="ascii")))
def test_the_quick_way_to_cut_ascii_gives_the_words_of_the_general_one(text: str) -> None:
    general = [word for piece in scripts.pieces(plain_text(text)) for word in indexed_piece(piece)]
    assert indexed_text(text).split(" ") == (general or [""])
