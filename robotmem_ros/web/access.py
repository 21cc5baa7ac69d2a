"""Who may use the console: the token, the cookie that stands for it, and how often a wrong one may be tried."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from pathlib import Path

from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.validation import expanded_path

TOKEN_VARIABLE = "ROBOTMEM_WEB_TOKEN"
_LEAST = 16
_MOST = 1024
_WINDOW = 60.0
"""Seconds for which a wrong attempt counts."""
_ADDRESSES = 1024


class TooManyAttemptsError(RobotMemoryError):
    """An address tried too many wrong tokens."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"token: too many wrong ones were tried from this address; try again in {seconds} s")
        self.seconds = seconds


class Access:
    """Checks tokens and cookies in constant time.

    Args:
        token: The token that callers must have; empty if they need none.
        attempts: How many wrong tokens an address may try in a minute.
        clock: Gives seconds.
    """

    def __init__(self, token: str, *, attempts: int = 10, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = token.encode()
        self._attempts = attempts
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    @property
    def is_open(self) -> bool:
        """Return whether callers need no token."""
        return not self._token

    @property
    def cookie(self) -> str:
        """Return the value of the cookie, which stands for the token but does not tell it."""
        return hmac.new(self._token, b"robotmem console", hashlib.sha256).hexdigest()

    def has_cookie(self, value: str) -> bool:
        """Tell whether this is the value of the cookie."""
        return self.is_open or hmac.compare_digest(value.encode(), self.cookie.encode())

    def has_token(self, given: str, address: str) -> bool:
        """Tell whether this is the token, and count a wrong one against its address.

        Raises:
            TooManyAttemptsError: too many wrong ones came from the address; this one was not compared.
        """
        if self.is_open:
            return True
        failures = self._recent(address)
        if len(failures) >= self._attempts:
            raise TooManyAttemptsError(max(1, round(failures[0] + _WINDOW - self._clock())))
        # Digests have one length, so the time does not tell that of the token.
        wanted, found = (hashlib.sha256(one).digest() for one in (self._token, given.encode("utf-8", "replace")))
        if hmac.compare_digest(wanted, found):
            return True
        failures.append(self._clock())
        return False

    def _recent(self, address: str) -> deque[float]:
        failures = self._failures.setdefault(address, deque())
        self._failures.move_to_end(address)
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)
        while failures and failures[0] <= self._clock() - _WINDOW:
            failures.popleft()
        return failures


def new_token() -> str:
    """Make a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def given_token(file: str | None, environment: Mapping[str, str]) -> str:
    """Return the token of a file, else of the environment; empty if neither is given.

    A file that does not exist is made, for its owner alone, with a new token.

    Raises:
        InvalidFieldError: the file cannot be read or made, or its token cannot be used.
    """
    if file:
        return _checked("--token-file", _of_file(expanded_path("--token-file", file)))
    given = environment.get(TOKEN_VARIABLE, "")
    return _checked(TOKEN_VARIABLE, given) if given else ""


def _of_file(path: Path) -> str:
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as made:
                made.write(f"{new_token()}\n")
        with path.open(encoding="utf-8") as stored:
            return stored.read(_MOST + 2).strip()
    except (OSError, UnicodeDecodeError) as cause:
        raise InvalidFieldError("--token-file", path, f"cannot be used ({cause})") from cause


def _checked(field: str, token: str) -> str:
    # The message must not show it.
    if not _LEAST <= len(token) <= _MOST or not token.isascii() or not token.isprintable() or " " in token:
        wanted = f"must hold a token of {_LEAST} to {_MOST} ASCII characters without blanks"
        raise InvalidFieldError(field, "<hidden>", wanted)
    return token
