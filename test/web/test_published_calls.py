"""The routes of the published robotmem: see docs/features.md."""

from __future__ import annotations

from pathlib import Path

from ..support.published import ROUTES
from ..support.web import client_of


def test_the_routes_of_robotmem(db: Path) -> None:
    with client_of(db) as client:
        memory = client.get("/api/search?q=grip").json()["memories"][0]
        session = client.get("/api/sessions").json()["sessions"][0]["session_id"]
        # What withdraws comes last.
        for route, rest in sorted(ROUTES.items(), key=lambda entry: entry[0].startswith("DELETE")):
            method, path = route.split()
            path = path.replace("sessions/<id>", f"sessions/{session}").replace("<id>", str(memory["id"]))
            body = {"PUT": {"content": "a grip force of 7 N holds it"}, "DELETE": {"reason": "a test"}}.get(method)
            answer = client.request(method, path + rest, json=body)
            assert answer.status_code == 200, (route, answer.text)
            assert answer.json(), route
        assert client.get(f"/api/memory/{memory['id']}").json()["status"] == "invalidated"
        assert memory["id"] not in [found["id"] for found in client.get("/api/search?q=grip").json()["memories"]]
