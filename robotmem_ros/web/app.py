"""Put the console together: the paths, their errors, the page, and the guard before all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI
from starlette.types import ASGIApp

from ..memory import RobotMemory
from .access import Access
from .events import Events, event_routes
from .fleet import fleet_routes, scopes_of
from .guard import Guard, Limits
from .headers import SecurityHeaders
from .memories import changing_routes, detail_routes, list_routes, look_routes
from .overview import count_routes, overview_routes
from .page import STATIC, add_page, login_routes
from .parameters import LOGIN, check_query, writable
from .places import past_routes, place_routes
from .responses import OF_ALL, SafeJSONResponse, add_handlers, describe, responses
from .tags import tag_routes

EVENTS = "/api/events"
_OPEN = ("/", "/favicon.ico", LOGIN)


@dataclass(frozen=True)
class Settings:
    """Settings of the console."""

    token: str = ""
    """Token of callers; empty if they need none."""
    hosts: tuple[str, ...] = ()
    """Names by which it may be called, besides those of the loopback device and the address of a connection."""
    read_only: bool = False
    is_fleet_alone: bool = False
    """The file is an empty one, which reads the queries to the fleet."""
    static: Path = STATIC
    """Folder of the page."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Console:
    """The application in its guard, and what ends its streams."""

    asgi: ASGIApp
    api: FastAPI
    events: Events
    limits: Limits


def create_console(memory: RobotMemory, settings: Settings | None = None) -> Console:
    """Make the console of a memory, which stays the caller's to close."""
    settings = settings or Settings()
    access, events = Access(settings.token), Events(memory.parts.database)
    api = create_api(memory, settings, access, events)
    guard = Guard(
        api,
        access,
        hosts=settings.hosts,
        limits=settings.limits,
        open_to_all=lambda path: path in _OPEN or path.startswith("/static/"),
        is_stream=lambda path: path == EVENTS,
    )
    return Console(SecurityHeaders(guard), api, events, settings.limits)


def create_api(memory: RobotMemory, settings: Settings, access: Access, events: Events) -> FastAPI:
    """Make the application without its guard."""

    @asynccontextmanager
    async def limited_threads(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = settings.limits.workers
        yield

    api = FastAPI(
        title="robotmem",
        summary="What a robot remembers.",
        version="1",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=SafeJSONResponse,
        lifespan=limited_threads,
    )
    add_handlers(api)
    routers: Iterable[APIRouter] = (
        overview_routes(
            memory,
            read_only=settings.read_only,
            needs_token=not access.is_open,
            scopes=scopes_of(memory, is_alone=settings.is_fleet_alone),
        ),
        count_routes(memory),
        list_routes(memory),
        detail_routes(memory),
        changing_routes(memory),
        look_routes(memory),
        tag_routes(memory),
        place_routes(memory),
        past_routes(memory),
        fleet_routes(memory),
        event_routes(events),
        login_routes(access),
    )
    checks = [Depends(writable(read_only=settings.read_only)), Depends(check_query)]
    for router in routers:
        api.include_router(router, dependencies=checks, responses=responses(*OF_ALL))
    add_page(api, settings.static)
    describe(api)
    return api
