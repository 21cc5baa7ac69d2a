"""Inflected words of other languages than English are found in all of their forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.text.inflection import MARKERS, forms
from robotmem_ros.memory.text.tokens import indexed_text, query_words

from ...support.subprocesses import output_of, without
from ..conftest import OpenMemory

TEXTS = {
    "Die rote Tasse steht auf dem Tisch": "Tassen",
    "Wir haben die Flaschen in die Küche gebracht": "Wo ist die Flasche?",
    "La taza roja está en la mesa de la cocina": "tazas rojas",
    "Les bouteilles sont dans la cuisine": "bouteille",
    "As garrafas estão na cozinha": "garrafa",
    "I bicchieri sono sul tavolo della cucina": "bicchiere",
    "Sticla este pe masa din bucătărie": "sticle",
    "Bardaklar masanın üzerinde ve temiz": "bardak",
    "De stoelen staan in de keuken van het huis": "stoel",
    "Flaskorna står på bordet i köket och det är bra": "flaska",
    "бутылка стоит на кухне": "бутылки",
    "το μπουκάλι είναι στην κουζίνα": "μπουκάλια",
    "الكوب في المطبخ": "كوب",
    "बोतलें रसोई में हैं": "बोतल",
    "The red mug is on the shelf": "mugs",
}
LATIN = st.text("abcdefghijklmnoprstuvzäöüéèáíñçşğ", min_size=2, max_size=9)


@pytest.fixture
def words_only(open_memory: OpenMemory) -> RobotMemory:
    return open_memory(embedder=None, embedding_model="")


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what is found first for each query, among texts of all languages."""
    with RobotMemory(tmp_path_factory.mktemp("languages") / "memory.db", embedding_model="") as memory:
        for text in TEXTS:
            memory.save_perception(text)
        memory.flush()
        found = {query: memory.recall(query, n=1) for query in TEXTS.values()}
    return {query: hits.memories[0].content if hits else "" for query, hits in found.items()}


@pytest.mark.parametrize(("text", "query"), TEXTS.items())
def test_a_word_finds_its_other_forms(known: dict[str, str], text: str, query: str) -> None:
    assert known[query] == text


def test_what_one_language_confuses_remains_two_words_in_another(words_only: RobotMemory) -> None:
    words_only.save_perception("El plan de la cocina no es para los planes de hoy")
    lid = words_only.save_perception("the lid of the pot").memory_id
    lidar = words_only.save_perception("the lidar of the base").memory_id
    words_only.flush()
    assert [found.id for found in words_only.recall("lidar")] == [lidar]
    assert [found.id for found in words_only.recall("lid")] == [lid]


@given(words=st.lists(LATIN, min_size=1, max_size=6), frame=st.sampled_from(["", "der die und", "los una", "le dans"]))
def test_a_text_is_found_by_each_of_its_words_in_whatever_language_it_is_read(words: list[str], frame: str) -> None:
    indexed = set(indexed_text(" ".join([*words, frame])).split())
    for word in words:
        for asked in query_words(word):
            assert indexed.intersection(forms(asked, [*MARKERS.values()]))


def test_words_are_told_as_the_query_spells_them_and_marked_in_the_text(words_only: RobotMemory) -> None:
    words_only.save_perception("Die Tasse steht auf dem Tisch")
    words_only.flush()
    result = words_only.recall("blaue Tassen")
    assert tuple(result[0].matched_terms) == ("Tassen",)
    assert result.brief()[0].snippet == "Die **Tasse** steht auf dem Tisch"


def test_without_the_package_a_word_is_found_as_it_is_written(tmp_path: Path) -> None:
    code = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    memory.save_perception("бутылки на кухне")
    memory.flush()
    print(len(memory.recall("бутылки")), len(memory.recall("бутылка")))
"""
    assert output_of(without("snowballstemmer") + code, tmp_path / "memory.db") == "1 0\n"
