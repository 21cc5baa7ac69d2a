"""Find the files of a recording. `metadata.yaml` is a hint: what the files hold is read, and differences are told."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..memory.display import time_text
from ..memory.errors import InvalidFieldError
from ..memory.yaml_file import read_yaml
from .mcap_file import zstd
from .recorded_file import RecordedFile

METADATA = "metadata.yaml"
FORMATS = (".mcap", ".db3", ".bag")
ZSTD = ".zstd"
_NS = 1e9
_SLACK_NS = 1_000_000


@dataclass(frozen=True)
class Metadata:
    """What metadata.yaml says, as far as it can be read."""

    files: tuple[str, ...] = ()
    """Names of files, without folders."""
    messages: int | None = None
    start_ns: int | None = None
    duration_ns: int | None = None
    distro: str = ""
    storage: str = ""
    problem: str = ""
    """Reason why it cannot be read; empty if it can be."""

    def differences(self, files: Sequence[RecordedFile]) -> list[str]:
        """Say where the files hold something else; nothing of an empty recording."""
        counts = sum(channel.messages for file in files for channel in file.channels)
        start_ns = min((file.start_ns for file in files if file.end_ns), default=0)
        last_ns = max((file.end_ns - 1 for file in files), default=0)
        told = []
        if self.messages is not None and self.messages != counts:
            told.append(f"{METADATA} counts {self.messages:,} messages, the files hold {counts:,}; the files are read")
        if counts and self.start_ns is not None and self.duration_ns is not None:
            end_ns = self.start_ns + self.duration_ns
            if abs(self.start_ns - start_ns) > _SLACK_NS or abs(end_ns - last_ns) > _SLACK_NS:
                window = f"{METADATA} says {_window(self.start_ns, end_ns)}"
                told.append(f"{window}, the files hold {_window(start_ns, last_ns)}; the files are read")
        return told


def read_metadata(folder: Path) -> Metadata:
    """Read metadata.yaml; what in it is of another kind than it should be counts as not there."""
    try:
        content = read_yaml("recording", folder / METADATA).value
    except InvalidFieldError as cause:
        return Metadata(problem=str(cause))
    told = _mapping(_mapping(content).get("rosbag2_bagfile_information"))
    if not told:
        return Metadata(problem=f"{METADATA} has no rosbag2_bagfile_information")
    paths = told.get("relative_file_paths")
    return Metadata(
        # The paths of old recordings have the folder in which they were made.
        files=tuple(Path(path).name for path in paths if isinstance(path, str)) if isinstance(paths, list) else (),
        messages=_whole(told.get("message_count")),
        start_ns=_whole(_mapping(told.get("starting_time")).get("nanoseconds_since_epoch")),
        duration_ns=_whole(_mapping(told.get("duration")).get("nanoseconds")),
        distro=_text(told.get("ros_distro")),
        storage=_text(told.get("storage_identifier")),
    )


def recorded_files(folder: Path, listed: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the files of a recording and the names of others: copies of them in another format.

    Those that are listed come first; others of their format are read, too.
    """
    found = {file.name: file for file in sorted(folder.iterdir()) if format_of(file) and file.stat().st_size}
    files = [found[name] for name in listed if name in found]
    formats = {format_of(file) for file in files} or {format_of(file) for file in found.values()}
    stems = {_stem(file) for file in files}
    others = []
    for name, file in found.items():
        if file in files:
            continue
        if format_of(file) in formats and _stem(file) not in stems:
            files.append(file)
            stems.add(_stem(file))
        else:
            others.append(name)
    return files, others


def format_of(file: Path) -> str:
    """Return the ending that says the format of a file, such as ".db3"; empty if it is no part of a recording."""
    ending = Path(file.stem).suffix if file.suffix == ZSTD else file.suffix
    return ending if ending in FORMATS else ""


def decompressed(file: Path, folder: Path) -> Path:
    """Return a file that is not compressed; of a compressed one, a copy in a folder."""
    if file.suffix != ZSTD:
        return file
    copy = folder / file.stem
    with zstd().open(file, "rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    return copy


def _stem(file: Path) -> str:
    return Path(file.stem).stem if file.suffix == ZSTD else file.stem


def _window(start_ns: int, end_ns: int) -> str:
    return f"{(end_ns - start_ns) / _NS:,.1f} s from {time_text(start_ns)}"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
