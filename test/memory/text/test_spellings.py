"""A word is found in whatever form it was typed, and no other word is found for it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.text.letters import compose, fold
from robotmem_ros.memory.text.tokens import analyse, indexed_text, query_words, without_function_letters

from ..conftest import OpenMemory

SAME = [
    # Latin, Greek, Cyrillic
    ("Straße", "STRASSE"), ("straße", "strasse"), ("café", "cafe\u0301"), ("Œuvre", "oeuvre"), ("ﬁlter", "filter"),
    ("İstanbul", "istanbul"), ("ISPARTA", "ısparta"), ("Ångström", "angstrom"), ("Smørrebrød", "smorrebrod"),
    ("Łódź", "lodz"), ("ΟΔΟΣ", "οδός"), ("Σίσυφος", "ΣΊΣΥΦΟΣ"), ("ЁЛКА", "елка"), ("об'єкт", "обʼєкт"),
    ("Greif\u00adarm", "Greifarm"), ("ＤＯＣＫ７", "dock7"), ("ⅷ", "VIII"), ("㎏", "kg"), ("naïve", "NAIVE"),
    # Arabic, Persian, Hebrew: vowels, the long stroke, forms of a letter, digits
    ("مِفْتَاح", "مفتاح"), ("مـفـتـاح", "مفتاح"), ("أحمر", "احمر"), ("غرفة ٣", "غرفه 3"), ("کتاب", "كتاب"),
    ("می\u200cخواهم", "میخواهم"), ("מַפְתֵּחַ", "מפתח"), ("שָׁלוֹם", "שלום"),
    # Hindi, Bengali, Tamil, Malayalam
    ("नीला", unicodedata.normalize("NFD", "नीला")), ("ज़मीन", "जमीन"), ("चाँद", "चांद"), ("कमरा ३", "कमरा 3"),
    ("কক্ষ ৩", "কক্ষ 3"), ("கொண்டு", unicodedata.normalize("NFD", "கொண்டு")), ("അവന്\u200d", "അവൻ"),
    # Burmese, Thai, Lao, Khmer
    ("အခန်း ၃", "အခန်း 3"), ("น้ำ", "นํ้า"), ("น้ำ", unicodedata.normalize("NFKD", "น้ำ")), ("แก้ว", "เเก้ว"),
    ("ห้อง ๓", "ห้อง 3"), ("ນ້ຳ", unicodedata.normalize("NFKD", "ນ້ຳ")), ("បន្ទប់ ៣", "បន្ទប់ 3"),
    # Korean, Japanese, Chinese
    ("머그컵", unicodedata.normalize("NFD", "머그컵")), ("コップ", "ｺｯﾌﾟ"), ("リンゴ", "りんご"),
    ("がんばる", "か\u3099んは\u3099る"),
    ("プリンター", "プリンタ"), ("會議室", "会议室"), ("3号", "三号"), ("二十三号", "23号"), ("３楼", "三楼"),
    # Numbers beside letters
    ("room3", "room 3"), ("R2", "r 2"), ("12b", "12 B"), ("5kg", "5 kg"), ("3rd", "3"), ("utf8", "UTF-8"),
    ("−5", "-5"), ("-0.5", "−0.5"), ("٣٫١٤", "3.14"),
]  # fmt: skip
DIFFERENT = [
    ("नीला", "नाला"), ("दिन", "दीन"), ("कल", "काल"), ("คา", "ค่า"), ("ขาว", "ข้าว"), ("ပန်", "ပန်း"), ("ຂາວ", "ເຂົ້າ"),
    ("カメ", "ガメ"), ("ハシ", "バシ"), ("머그", "머구"), ("كلب", "قلب"), ("ספר", "ספד"),
    ("பால்", "பல்"), ("3.14", "3.15"), ("3.1", "3.10"), ("-1", "1"), ("12b", "12c"), ("3号", "2号"), ("红", "绿"),
    ("dock A", "dock B"), ("R2D2", "R2D3"), ("мир", "мор"),
]  # fmt: skip
FORMS: list[Callable[[str], str]] = [
    lambda text: unicodedata.normalize("NFC", text),
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: unicodedata.normalize("NFKC", text),
    lambda text: unicodedata.normalize("NFKD", text),
    lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_a_word_are_indexed_and_asked_for_in_the_same_way(one: str, other: str) -> None:
    assert indexed_text(one) == indexed_text(other) != ""
    assert query_words(one) == query_words(other) != []


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_words_that_only_look_alike_stay_apart(one: str, other: str) -> None:
    assert not set(query_words(one)) <= set(indexed_text(other).split())
    assert not set(query_words(other)) <= set(indexed_text(one).split())


@given(st.text())
def test_all_forms_of_a_text_have_the_same_words(text: str) -> None:
    for form in FORMS:
        assert indexed_text(form(text)) == indexed_text(text)
        assert query_words(form(text)) == query_words(text)
        assert analyse(form(text)).phrases == analyse(text).phrases


@given(st.text())
def test_letter_case_counts_only_for_letters_that_are_names(text: str) -> None:
    for form in (str.upper, str.lower, str.title):
        assert fold(compose(form(text))) == fold(compose(text))
        assume(without_function_letters(compose(form(text))) == compose(form(text)))
        assume(without_function_letters(compose(text)) == compose(text))
        assert query_words(form(text)) == query_words(text)


def test_every_character_is_folded_alike_in_all_of_its_forms() -> None:
    for code in range(0x110000):
        if unicodedata.category(character := chr(code)) not in {"Cn", "Co", "Cs"}:
            forms = {form(character) for form in (str.upper, str.lower, str.casefold, *FORMS[:4])}
            assert {fold(compose(form)) for form in forms} == {fold(compose(character))}, hex(code)


@pytest.fixture
def words_only(open_memory: OpenMemory) -> RobotMemory:
    """Open a memory without a model."""
    return open_memory(embedder=None, embedding_model="")


@pytest.mark.parametrize(
    ("memory_says", "query", "others"),
    [
        ("빨간 머그컵이 주방에 있다", "머그컵은 어디에 있나요?", ["빨간 의자가 거실에 있다"]),
        ("컵을 떨어뜨렸다", "컵이", ["종이를 주웠다", "문을 닫았다"]),
        ("赤いマグカップは台所にあります", "マグカップはどこですか", ["青い椅子は廊下にあります"]),
        ("充電ドックは玄関の横です", "充電ドックを探して", ["電気ポットは玄関の横です"]),
        ("りんごは籠の中", "赤いリンゴ", ["猫は籠の中"]),
        ("แก้วสีแดงอยู่บนโต๊ะ", "แก้วอยู่ที่ไหน", ["กล้องอยู่บนโต๊ะ", "เก้าอี้อยู่ที่ประตู"]),
        ("ခွက်နီက စားပွဲပေါ်မှာ ရှိတယ်", "ခွက်ဘယ်မှာလဲ", ["သော့က စားပွဲပေါ်မှာ ရှိတယ်"]),
        ("កែវក្រហមនៅលើតុ", "កែវនៅឯណា", ["ឆ្មានៅលើតុ"]),
        ("ຈອກສີແດງຢູ່ເທິງໂຕະ", "ຈອກຢູ່ໃສ", ["ແມວຢູ່ເທິງໂຕະ"]),
        ("नीला मग मेज़ पर है", "नीला मग कहाँ है", ["लाल कुर्सी मेज़ पर है"]),
        ("المفتاح الأحمر في المطبخ", "أَيْنَ المِفتاح؟", ["الكرسي في المطبخ"]),
        ("机器人在第二会议室", "会议室", ["机器人在第二厨房"]),
        ("第二会議室の床", "会議室", ["台所の床"]),
    ],
)
def test_a_sentence_is_found_by_a_query_in_its_language(
    words_only: RobotMemory, memory_says: str, query: str, others: list[str]
) -> None:
    for other in others:
        words_only.learn(other)
    wanted = words_only.learn(memory_says).memory_id
    assert words_only.recall(query)[0].id == wanted


@pytest.mark.parametrize("noun", "종이 고양이 카메라 바나나 열쇠 계단 냉장고 컵 문 방 도로 회의 마을 높이 국가".split())  # noqa: SIM905
@pytest.mark.parametrize("particles", [("이", "가"), ("을", "를"), ("은", "는"), ("에", "에"), ("에서", "에서")])
def test_a_korean_noun_is_found_with_and_without_particles(noun: str, particles: tuple[str, str]) -> None:
    ends_with_consonant = (ord(noun[-1]) - 0xAC00) % 28 > 0
    written = noun + particles[not ends_with_consonant]
    assert set(query_words(written)) <= set(indexed_text(noun).split())
    assert set(query_words(noun)) <= set(indexed_text(written).split())
