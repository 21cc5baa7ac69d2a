"""A model has no vote on a text whose script it does not read: it gets no vector, and words alone rank."""

from __future__ import annotations

import math

import pytest

from robotmem_ros.memory import Mode
from robotmem_ros.memory.embedding.profile import profile_of

from ...support.consistency import check_file
from ...support.embedders import WordVectors
from ..conftest import OpenMemory

ENGLISH = "all-MiniLM-L6-v2-int7"
WHY = f"the embedding model '{ENGLISH}' does not read the script of the text"


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("red mug", True),
        ("grüne Tasse, 12 µm", True),
        ("cái cốc màu đỏ ở đâu", True),
        ("12.5", True),
        ("扫描 dock 7", True),
        ("红杯子在哪里", False),
        ("P-101 压力表的读数", False),
        ("где красная кружка", False),
        ("أين الكوب الأحمر", False),
    ],
)
def test_a_model_of_english_reads_what_is_mostly_in_latin_script(text: str, is_read: bool) -> None:
    for model in (ENGLISH, "BAAI/bge-small-en-v1.5", "ollama:all-minilm", "ollama:nomic-embed-text", "all-mpnet-base"):
        assert profile_of(model).reads(text) is is_read
    for other in ("ollama:bge-m3", "intfloat/multilingual-e5-large", "ollama:nomic-embed-text-v2-moe", "openai:any"):
        assert profile_of(other).reads(text)


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("red mug", True),
        ("ｒｅｄ ｍｕｇ", True),
        ("🚗 🏠", True),
        ("ᱥᱟᱱᱛᱟᱲᱤ", False),
        ("བོད་ཡིག་ནི་བོད་ཀྱི་སྐད་ཡིག་ཡིན།", False),
        ("ދިވެހިރާއްޖެ", False),
        ("ᱥᱟᱱᱛᱟᱲᱤ red mug on the shelf", True),
        ("где красная кружка", True),
        ("एक लाल मग", True),
        ("カップ", True),
        ("빨간 컵", True),
        ("12.5 %", True),
    ],
)
def test_a_model_of_many_languages_does_not_read_scripts_of_which_it_knows_no_letter(text: str, is_read: bool) -> None:
    assert profile_of("multilingual-e5-small").reads(text) is is_read


def test_a_model_of_english_reads_symbols_in_a_sentence_and_none_alone() -> None:
    assert profile_of(ENGLISH).reads("ok 🐈🐈🐈")
    assert not profile_of(ENGLISH).reads("🐈🐈🐈")


def test_a_text_that_the_model_does_not_read_is_not_embedded_and_found_by_its_words(open_memory: OpenMemory) -> None:
    model = WordVectors(name=ENGLISH)
    memory = open_memory(embedder=model)
    chinese = memory.learn("红色的杯子在厨房里")
    assert chinese.reason == f"meanings were not compared: {WHY}"
    mug = memory.learn("the red mug is in the kitchen").memory_id
    memory.flush()
    assert memory.status().pending_vectors == 0
    assert not any("杯子" in text for text in model.embedded)
    check_file(memory.path)

    result = memory.recall("杯子在哪里")
    assert (result.mode, result.reason) == (Mode.BM25_ONLY, WHY)
    assert [hit.id for hit in result] == [chinese.memory_id]
    assert math.isnan(result[0].similarity)
    assert result[0].relevance > 0

    result = memory.recall("the red mug", n=5)
    assert (result.mode, result.reason) == (Mode.HYBRID, "")
    assert [hit.id for hit in result] == [mug]


def test_texts_that_only_a_new_model_reads_get_their_vectors_from_it(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=WordVectors(name=ENGLISH))
    path, memory_id = memory.path, memory.learn("红色的 杯子 在 厨房里").memory_id
    memory.flush()
    memory.close()
    memory = open_memory(path, embedder=WordVectors(name="multilingual"))
    memory.flush()
    result = memory.recall("杯子 在 哪里")
    assert (result.mode, [hit.id for hit in result]) == (Mode.HYBRID, [memory_id])
    assert not math.isnan(result[0].similarity)
