"""Who may use the console: those with the token, or with the cookie that a login gave them."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import stat
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from pathlib import Path

from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.validation import expanded_path

TOKEN_VARIABLE = "ROBOTMEM_WEB_TOKEN"
_MIN_LENGTH = 16
_MAX_LENGTH = 1024
_WINDOW = 60.0
"""Seconds for which a wrong attempt counts."""
_ATTEMPTS = 10
"""Wrong tokens of an address in that time that are answered as wrong; the others have to wait."""
_ADDRESSES = 1024
COOKIE_SECONDS = 7 * 86_400
"""Duration of a login."""
_LOGINS = 1024
_LOG = logging.getLogger(__name__)


class TooManyAttemptsError(RobotMemoryError):
    """An address tried too many wrong tokens."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"token: too many wrong ones were tried from this address; try again in {seconds} s")
        self.seconds = seconds


class Access:
    """Checks tokens and cookies in constant time.

    The right token and a valid cookie always let in, whatever others try from the same address, which may be that of a
    proxy. What keeps those who guess out is the length of the token.

    Args:
        token: The token that callers must have; empty if they need none.
        clock: Gives seconds.
    """

    def __init__(self, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = token.encode()
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._logins: OrderedDict[bytes, float] = OrderedDict()
        """End of each login by the digest of its cookie; the oldest first."""

    @property
    def is_open(self) -> bool:
        """Return whether callers need no token."""
        return not self._token

    def log_in(self) -> str:
        """Return the value of a new cookie."""
        cookie = new_token()
        self._logins[_digest(cookie)] = self._clock() + COOKIE_SECONDS
        while len(self._logins) > _LOGINS:
            self._logins.popitem(last=False)
        return cookie

    def log_out(self, cookie: str) -> None:
        """Let a cookie in no more, whoever has it."""
        self._logins.pop(_digest(cookie), None)

    def has_cookie(self, cookie: str) -> bool:
        """Tell whether this is the cookie of a login that has not ended."""
        return self.is_open or self._clock() < self._logins.get(_digest(cookie), 0.0)

    def has_token(self, token: str, address: str) -> bool:
        """Tell whether this is the token, and count a wrong one against its address.

        Raises:
            TooManyAttemptsError: it is wrong, and too many wrong ones came from the address.
        """
        # Digests have one length, so the time does not tell that of the token.
        if self.is_open or hmac.compare_digest(hashlib.sha256(self._token).digest(), _digest(token)):
            return True
        failures = self._recent(address)
        if len(failures) >= _ATTEMPTS:
            raise TooManyAttemptsError(max(1, round(failures[0] + _WINDOW - self._clock())))
        failures.append(self._clock())
        if len(failures) == _ATTEMPTS:
            _LOG.warning("%d wrong tokens came from %s within a minute", _ATTEMPTS, address)
        return False

    def _recent(self, address: str) -> deque[float]:
        failures = self._failures.setdefault(address, deque())
        self._failures.move_to_end(address)
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)
        while failures and failures[0] <= self._clock() - _WINDOW:
            failures.popleft()
        return failures


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def new_token() -> str:
    """Make a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def read_token(file: str | None, environment: Mapping[str, str]) -> str:
    """Return the token of a file, else of the environment; empty if neither is given.

    A file that does not exist is made, for its owner alone, with a new token.

    Raises:
        InvalidFieldError: the file cannot be read or made, others may read it, or its token cannot be used.
    """
    if file:
        return _check("--token-file", _of_file(expanded_path("--token-file", file)))
    token = environment.get(TOKEN_VARIABLE, "")
    return _check(TOKEN_VARIABLE, token) if token else ""


def _of_file(path: Path) -> str:
    try:
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as new:
                new.write(f"{new_token()}\n")
        with path.open(encoding="utf-8") as file:
            _check_is_private(path, os.fstat(file.fileno()))
            return file.read(_MAX_LENGTH + 2).strip()
    except (OSError, UnicodeDecodeError) as cause:
        raise InvalidFieldError("--token-file", path, f"cannot be used ({cause})") from cause


def _check_is_private(path: Path, status: os.stat_result) -> None:
    # As ssh does with its keys: of a file of somebody else, such as a secret of a container, they decide.
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid == os.getuid() and mode & 0o077:
        reason = f"has mode {mode:04o}, so that others may read or change it; chmod 600 it, or give another file"
        raise InvalidFieldError("--token-file", path, reason)


def _check(field: str, token: str) -> str:
    # The message must not show it.
    if not _MIN_LENGTH <= len(token) <= _MAX_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        rule = f"must hold a token of {_MIN_LENGTH} to {_MAX_LENGTH} ASCII characters without blanks"
        raise InvalidFieldError(field, "<hidden>", rule)
    return token
