"""Two consoles on one file of areas lose no change of each other."""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from robotmem_ros.memory.areas import read_areas

from ..support.web import console

TRIANGLE = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]
NUMBER = 12


def answered(client: httpx.Client, method: str, path: str, **body: object) -> int:
    """Ask again while the other console has the file, as the refusal says; return the status."""
    while (response := client.request(method, path, json=body)).status_code == 409:
        assert response.json()["field"] == "areas_file", response.text
    return response.status_code


@pytest.mark.slow
def test_no_change_of_two_consoles_is_lost(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "areas.yaml"
    options = ("--areas-file", str(file))
    with (
        console(db, *options) as one, console(db, *options) as other,
        one.client() as first, other.client() as second, ThreadPoolExecutor(4) as pool,
    ):  # fmt: skip
        names = [f"area {number}" for number in range(NUMBER)]

        def add(name: str) -> int:
            client = first if int(name.split()[1]) % 2 else second
            return answered(client, "POST", "/api/areas", name=name, polygon=TRIANGLE)

        def remove(name: str) -> int:
            client = second if int(name.split()[1]) % 2 else first
            return answered(client, "DELETE", f"/api/areas/{name}")

        assert list(pool.map(add, names)) == [201] * NUMBER
        assert {area.name for area in read_areas(file)} == set(names)
        added, removed = pool.map(add, [f"area {number + NUMBER}" for number in range(NUMBER)]), pool.map(remove, names)
        assert (list(added), list(removed)) == ([201] * NUMBER, [200] * NUMBER)
    assert {area.name for area in read_areas(file)} == {f"area {number + NUMBER}" for number in range(NUMBER)}
    assert [path.name for path in tmp_path.iterdir() if "areas" in path.name] == ["areas.yaml"]


def test_a_file_that_another_program_holds_is_told(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "areas.yaml"
    with console(db, "--areas-file", str(file)) as server, server.client() as client, file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused = client.post("/api/areas", json={"name": "shelf", "polygon": TRIANGLE})
        assert (refused.status_code, refused.json()["field"]) == (409, "areas_file")
        assert "is being changed by another program; try again" in refused.json()["error"]
        assert client.get("/api/areas").json() == {"areas": []}
