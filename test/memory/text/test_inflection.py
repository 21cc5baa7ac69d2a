"""Inflected words of other languages than English are found in all of their forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.text.inflection import MARKERS
from robotmem_ros.memory.text.tokens import analyse, indexed_text

from ...support.forks import output_of
from ...support.subprocesses import without
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
    "المزهرية على النافذة مكسورة": "مزهرية",
    "صندوق للأدوات في الممر": "أين الأدوات؟",
    "توجد كرات والبطاريات في الخزانة": "بطاريات",
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


LABELS = {
    "Der Roboter ist in der Halle und wartet auf den Aufzug": (("Tassen", "Tasse"), ("Stühle", "Stuhl")),
    "El robot está en la sala y espera al ascensor con la puerta": (("tornillo", "tornillos"), ("papel", "papeles")),
    "Le robot est dans le couloir et attend la fin de la pause": (("marteaux", "marteau"), ("chevaux", "cheval")),
    "Il robot è nella sala e non ha la mappa della cucina": (("bottiglie", "bottiglia"), ("tavolo", "tavoli")),
    "O robô está na sala e não tem o mapa da cozinha": (("garrafas", "garrafa"), ("caixa", "caixas")),
    "De robot is in de hal en wacht op het signaal van de lift": (("flessen", "fles"), ("doos", "dozen")),
    "Roboten är i hallen och väntar på att hissen ska komma": (("flaskor", "flaska"), ("stol", "stolar")),
    "Robot salonda ve bir kat için asansör bekliyor ama yok": (("bardaklar", "bardak"), ("kitap", "kitaplar")),
}
"""Texts whose language is told, with labels of it, which are too short, and other forms of them."""


@pytest.mark.parametrize(("text", "labels"), LABELS.items(), ids=[text[:12] for text in LABELS])
def test_a_label_alone_is_found_in_the_languages_of_the_memory(
    text: str, labels: tuple[tuple[str, str], ...], words_only: RobotMemory
) -> None:
    ids = [words_only.save_perception(label, label=label).memory_id for label, _ in labels]
    words_only.save_perception(text)
    words_only.flush()
    assert [words_only.recall(query, n=1)[0].id for _, query in labels] == ids


def test_a_label_alone_is_found_in_the_language_of_the_query(words_only: RobotMemory) -> None:
    words_only.save_perception("flessen", label="flessen")
    words_only.flush()
    (hit,) = words_only.recall("waar is de fles?")
    assert (hit.memory.label, hit.matched_terms) == ("flessen", ("fles",))
    assert words_only.recall("waar is de fles?").brief()[0].snippet == "**flessen**"


def test_a_stem_is_that_of_the_word_itself(words_only: RobotMemory) -> None:
    words_only.save_perception("De flessen staan in de keuken van het huis")
    words_only.flush()
    assert len(words_only.recall("fles")) == 1


def test_a_label_that_is_known_as_it_is_written_is_no_other_word(words_only: RobotMemory) -> None:
    words_only.save_perception("El robot está en la sala y espera al ascensor con la puerta")
    plane = words_only.save_perception("plane", label="plane").memory_id
    for label in ("plan", "lid"):
        words_only.save_perception(label, label=label)
    words_only.flush()
    assert [found.id for found in words_only.recall("plane")] == [plane]
    assert not words_only.recall("lidar")


@given(words=st.lists(LATIN, min_size=1, max_size=6), frame=st.sampled_from(["", "der die und", "los una", "le dans"]))
def test_a_text_is_found_by_each_of_its_words_in_whatever_language_it_is_read(words: list[str], frame: str) -> None:
    indexed = set(indexed_text(" ".join([*words, frame])).split())
    for word in words:
        query = analyse(word)
        for asked in query.words:
            assert indexed.intersection(query.forms(asked, MARKERS.values()))


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
