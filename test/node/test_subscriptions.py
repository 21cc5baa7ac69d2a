"""What the numbers of messages leave out was lost."""

from __future__ import annotations

from typing import Any

from robotmem_ros.node.subscriptions import LostMessages


def info(number: int | None, publisher: bytes = b"one") -> dict[str, Any]:
    return {"publication_sequence_number": number, "publisher_gid": {"data": publisher}}


def test_gaps_are_counted_for_each_publisher() -> None:
    lost = LostMessages(alone=lambda: True)
    came = [(5, b"one"), (6, b"one"), (100, b"two"), (9, b"one"), (101, b"two"), (104, b"two"), (10, b"one")]
    assert [lost.before(info(*one)) for one in came] == [0, 0, 0, 2, 0, 2, 0]


def test_what_comes_again_to_a_new_subscription_is_no_gap() -> None:
    lost = LostMessages(alone=lambda: True)
    assert [lost.before(info(number)) for number in (1, 2, 3, 1, 2, 3, 4)] == [0] * 7


def test_without_sequence_numbers_no_loss_is_counted() -> None:
    lost = LostMessages(alone=lambda: True)
    assert [lost.before(info(None)), lost.before({}), lost.before({"publication_sequence_number": None})] == [0, 0, 0]


def test_without_a_publisher_id_gaps_of_the_only_publisher_are_counted() -> None:
    publishers = 2
    lost = LostMessages(alone=lambda: publishers == 1)
    assert [lost.before({"publication_sequence_number": number}) for number in (5, 1000, 6, 1001, 7)] == [0] * 5
    publishers = 1
    assert [lost.before({"publication_sequence_number": number}) for number in (1002, 1004, 1005)] == [0, 1, 0]


def test_publishers_that_come_and_go_are_forgotten() -> None:
    lost = LostMessages(alone=lambda: True)
    for publisher in range(1000):
        lost.before(info(1, str(publisher).encode()))
    assert len(lost._last) <= 256
