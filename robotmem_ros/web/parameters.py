"""Check a request before anything reads it: it may change something, and every name of its query is known."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import Request

from ..memory.errors import InvalidFieldError, ReadOnlyError, did_you_mean

LOGIN = "/api/login"


def writable(*, read_only: bool) -> Callable[[Request], None]:
    """Return a check that refuses what would change something, but a login, in a console that only reads."""

    def check(request: Request) -> None:
        if read_only and request.method not in {"GET", "HEAD"} and request.url.path != LOGIN:
            raise ReadOnlyError

    return check


def check_query(request: Request) -> None:
    """Refuse a name that the path does not have, and a second value of a parameter that takes one.

    Raises:
        InvalidFieldError: the query has such a name or value.
    """
    query = request.query_params
    if not query:
        return
    takes_many = _parameters(request)
    for name, values in ((name, query.getlist(name)) for name in query):
        if name not in takes_many:
            choice = f"it takes {', '.join(takes_many)}" if takes_many else "it takes none"
            reason = f"is for no parameter of this path{did_you_mean(name, takes_many)}; {choice}"
            raise InvalidFieldError(name, values[0], reason)
        if len(values) > 1 and not takes_many[name]:
            raise InvalidFieldError(name, values[1], f"is given after {values[0]!r}; the parameter takes one value")


def _parameters(request: Request) -> dict[str, bool]:
    # Of the description: names, and whether each may be repeated.
    operation = request.app.openapi()["paths"][request.scope["route"].path_format][request.method.lower()]
    in_query = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    return {parameter["name"]: parameter["schema"].get("type") == "array" for parameter in in_query}
