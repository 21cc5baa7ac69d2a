"""Headers that every response has: no scripts of others, no frames, no guesses about types."""

from __future__ import annotations

from .guard import App, Message, Receive, Scope, Send

_POLICY = (
    b"default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'; object-src 'none'"
)
_ALWAYS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class SecurityHeaders:
    """Adds the headers to the responses of an application."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *_ALWAYS]
                if all(name.lower() != b"cache-control" for name, _ in headers):
                    is_of_memory = scope["path"].startswith("/api/")
                    headers.append((b"cache-control", b"no-store" if is_of_memory else b"no-cache"))
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)
