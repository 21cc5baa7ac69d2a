"""Cutting a long text: nothing is lost, nothing is too long, and sentences stay whole where they can."""

from __future__ import annotations

import re
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory.text.sentences import cut

texts = st.lists(
    st.sampled_from(
        ["the dock", " ", "is free", ". ", "! ", "?\n", "\n\n", "充电桩", "。", "3.14", "खाली है।", string.ascii_letters]
    )
).map(lambda tokens: "".join(f"{number}{token}" for number, token in enumerate(tokens)))


def words(text: str) -> int:
    """Count as a tokenizer might: words, signs and letters of Chinese, and long words in pieces."""
    return sum(1 + len(word) // 8 for word in re.findall(r"[\u4e00-\u9fff]|\w+|[^\w\s]", text))


@settings(max_examples=200, deadline=None)
@given(texts, st.integers(8, 40), st.integers(0, 20))
def test_pieces_have_all_of_a_text_in_order_and_fit(text: str, limit: int, overlap: int) -> None:
    pieces, end = [*cut(text, limit=limit, overlap=overlap, count=words)], 0
    for number, piece in enumerate(pieces):
        assert words(piece) <= limit
        start = text.find(piece, max(0, end - len(piece)), end + len(piece))
        assert 0 <= start <= end
        assert start + len(piece) > end
        assert not number or words(text[start:end]) <= overlap
        end = start + len(piece)
    assert end == len(text)


def test_a_piece_ends_with_a_sentence_and_the_next_repeats_it() -> None:
    text = "The dock is free. The lift is not. Wait at the door.\nCall the desk。"
    assert [*cut(text, limit=11, overlap=5, count=words)] == [
        "The dock is free. The lift is not. ",
        "The lift is not. Wait at the door.\n",
        "Wait at the door.\nCall the desk。",
    ]
