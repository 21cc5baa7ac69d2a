"""Tokens, cookies and how long they hold, by a clock."""

from __future__ import annotations

import pytest

from robotmem_ros.web.access import COOKIE_SECONDS, Access, TooManyAttemptsError

TOKEN = "a-token-that-nobody-guesses-42"


class Clock:
    """Shows what it is set to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(clock: Clock) -> Access:
    return Access(TOKEN, clock=clock)


def test_each_login_has_a_cookie_of_its_own_and_ends_by_itself(access: Access, clock: Clock) -> None:
    mine, yours = access.log_in(), access.log_in()
    assert mine != yours
    assert TOKEN not in mine
    access.log_out(mine)
    assert [access.has_cookie(one) for one in (mine, yours, "", "x")] == [False, True, False, False]
    clock.now += COOKIE_SECONDS - 1
    assert access.has_cookie(yours)
    clock.now += 1
    assert not access.has_cookie(yours)


def test_a_cookie_of_another_server_lets_nobody_in(access: Access) -> None:
    assert not access.has_cookie(Access(TOKEN).log_in())


def test_logins_are_bounded_and_the_oldest_end_first(access: Access) -> None:
    cookies = [access.log_in() for _ in range(1100)]
    assert not access.has_cookie(cookies[0])
    assert access.has_cookie(cookies[-1])


def test_the_right_token_lets_in_after_any_number_of_wrong_ones(access: Access, clock: Clock) -> None:
    for _ in range(10):
        assert not access.has_token("wrong", "1.2.3.4")
    for _ in range(100):
        with pytest.raises(TooManyAttemptsError, match="try again in 60 s"):
            access.has_token("wrong", "1.2.3.4")
    assert access.has_token(TOKEN, "1.2.3.4")
    assert not access.has_token("wrong", "5.6.7.8")
    clock.now += 60
    assert not access.has_token("wrong", "1.2.3.4")
