"""What the script that sets everything up says is missing."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chrome")


@pytest.fixture
def without_browser(tmp_path: Path) -> Path:
    """A folder of all commands of this machine but its browsers."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for directory in map(Path, os.environ["PATH"].split(os.pathsep)):
        for command in directory.iterdir() if directory.is_dir() else ():
            link = folder / command.name
            if not any(name in command.name for name in BROWSERS) and not link.is_symlink():
                link.symlink_to(command)
    return folder


def missing(commands: Path, ci: str) -> list[str]:
    """Return the packages that the script names."""
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "setup.sh", "--missing"],
        env={**os.environ, **dict.fromkeys(("PATH", "HOME", "PLAYWRIGHT_BROWSERS_PATH"), str(commands)), "CI": ci},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_a_browser_is_asked_for_in_ci_alone(without_browser: Path) -> None:
    is_debian = platform.freedesktop_os_release()["ID"] == "debian"
    assert ("chromium" in missing(without_browser, "true")) == is_debian
    assert "chromium" not in missing(without_browser, "")
    (without_browser / "google-chrome").symlink_to("/bin/true")
    assert "chromium" not in missing(without_browser, "true")
