"""An import that is interrupted on its way goes on, to what it would have been without."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ..support.bags import POSE, SECOND, START, Messages, config_file, write_bag
from .conftest import Import

ROOT = Path(__file__).resolve().parents[2]
MESSAGES, PLACES = 12_000, 60
CONFIG = f"""
perception_topics: [docks]
docks: {{topic: /pose, type: {POSE}, label: "'dock'", description: a dock, min_interval: 0.015}}
"""
TABLES = {
    "memories": "content, label, confidence, observed_at, x, y, z, status",
    "objects": "*",
    "sightings": "*",
    "imported": "*",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.rare), signal.SIGKILL])
def test_an_interrupted_import_goes_on(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, how: signal.Signals
) -> None:
    stamps = [START + n * SECOND // 100 for n in range(MESSAGES)]
    content = [
        ("/pose", stamp, messages.pose("map", stamp, n % PLACES + (n % 7) / 100)) for n, stamp in enumerate(stamps)
    ]
    bag = write_bag(tmp_path / "bag", messages, content)
    file = config_file(tmp_path, CONFIG)
    # Who runs these tests in the background of a shell hands down that interrupts are ignored.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "robotmem_ros.cli", "replay", str(bag)]
    command += ["--config", str(file), "--db", str(db)]
    with subprocess.Popen(
        [*command, "--no-model"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and _count(db) == 0:
            time.sleep(0.01)
        process.send_signal(how)
        _, said = process.communicate(timeout=180)
    assert process.returncode == (130 if how is signal.SIGINT else -how)
    assert ("goes on from there" in said) == (how is signal.SIGINT)
    before = _count(db)
    assert 0 < before < MESSAGES // 2
    assert _finished(db) == [None]
    assert imported(bag, config=CONFIG) == 0
    whole = tmp_path / "whole.db"
    assert imported(bag, config=CONFIG, into=whole) == 0
    assert _count(db) == MESSAGES // 2
    for table, columns in TABLES.items():
        assert _rows(db, table, columns) == _rows(whole, table, columns), table
    assert _finished(db) != [None]


def _count(db: Path) -> int:
    if not db.exists():
        return 0
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM imported").fetchone()[0])
        except sqlite3.Error:
            return 0


def _rows(db: Path, table: str, columns: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(db)) as connection:
        return connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3, 4").fetchall()


def _finished(db: Path) -> list[str | None]:
    with closing(sqlite3.connect(db)) as connection:
        return [row[0] for row in connection.execute("SELECT finished_at FROM imports")]
