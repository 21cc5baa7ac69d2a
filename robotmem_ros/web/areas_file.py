"""Read and change the file of the areas; what else stands in it stays as it is, comments too."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from ..memory import validation
from ..memory.areas import Area, checked_area, read_areas
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, StorageError
from ..memory.yaml_file import read_yaml
from .responses import ConflictError, NotThereError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_PATIENCE, _PAUSE = 10.0, 0.01
"""Seconds that a change waits for others to be done, and between two looks."""


def areas_of(parameters: Parameters) -> tuple[Area, ...]:
    """Return the areas of `areas_file`, the smallest first; none if that is not set.

    Raises:
        InvalidFieldError: the file cannot be used.
    """
    file = _file(parameters)
    return read_areas(file) if file else ()


def add_area(parameters: Parameters, name: str, polygon: Sequence[Sequence[float]]) -> Area:
    """Add an area to `areas_file`.

    Raises:
        ConflictError: no file is configured, or it has an area of this name.
        InvalidFieldError: the area cannot be used.
        StorageError: the file cannot be written.
    """
    corners = [[float(part) for part in corner] for corner in polygon]
    clean = _name(name)
    checked_area("polygon", clean, corners)

    def add(before: str, areas: _Areas) -> _Change:
        _check_is_new(clean, areas)
        return _appended(before, clean, corners), {**areas, clean: corners}

    return next(area for area in _change(parameters, clean, add) if area.name == clean)


def rename_area(parameters: Parameters, name: str, new_name: str) -> Area:
    """Give an area of `areas_file` another name.

    Raises:
        ConflictError: no file is configured, or it has an area of the new name.
        NotThereError: it has no area of this name.
        InvalidFieldError: the new name cannot be used.
        StorageError: the file cannot be written.
    """
    clean = _name(new_name)

    def rename(before: str, areas: _Areas) -> _Change:
        old = _spelling(name, areas)
        _check_is_new(clean, areas)
        key, _ = _place(before, old)
        new_key = yaml.safe_dump({clean: 0}, allow_unicode=True, width=10**6).removesuffix(": 0\n")
        text = before[: key.start_mark.index] + new_key + before[key.end_mark.index :]
        return text, {clean if area == old else area: corners for area, corners in areas.items()}

    return next(area for area in _change(parameters, clean, rename) if area.name == clean)


def remove_area(parameters: Parameters, name: str) -> None:
    """Take an area out of `areas_file`.

    Raises:
        ConflictError: no file is configured.
        NotThereError: it has no area of this name.
        StorageError: the file cannot be written.
    """

    def remove(before: str, areas: _Areas) -> _Change:
        old = _spelling(name, areas)
        key, value = _place(before, old)
        rest = {area: corners for area, corners in areas.items() if area != old}
        if value.start_mark.index < key.start_mark.index:
            return "", rest  # an alias: the corners stand elsewhere, so all is written anew
        lines, first = before.splitlines(keepends=True), key.start_mark.line
        entry = before[key.start_mark.index : value.end_mark.index].splitlines()
        while entry[-1].strip()[:1] in {"", "#"}:
            entry.pop()  # a list that is written line by line ends where the next thing begins
        text = "".join([*lines[:first], *lines[first + len(entry) :]])
        return text, rest

    _change(parameters, name, remove)


_Areas = dict[str, Any]
"""Areas of the file, as it has them."""
_Change = tuple[str, _Areas]
"""Text of a file with as little changed as possible, and the areas that it is to have."""


def _change(parameters: Parameters, name: str, change: Callable[[str, _Areas], _Change]) -> tuple[Area, ...]:
    file = _file(parameters)
    if file is None:
        raise ConflictError("areas_file", "", "is not set; start the console with --areas-file FILE")
    read_areas(file)
    try:
        with _lock(file):
            read_areas(file)
            before = file.read_text(encoding="utf-8")
            text, areas = change(before, yaml.safe_load(before)["areas"])
            return _write(file, name, text, areas)
    except OSError as cause:
        raise StorageError(f"write the areas to {str(file)!r}", cause) from cause


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    """Keep all other threads and processes from changing a file that is replaced by each change."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with file.open("rb") as lock:
            # Whoever held the lock before has put another file there, which nobody holds yet.
            if _is_taken(lock.fileno()) and os.path.samestat(os.fstat(lock.fileno()), file.stat()):
                yield
                return
        time.sleep(_PAUSE)
    raise ConflictError("areas_file", str(file), "is being changed by another program; try again")


def _is_taken(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _check_is_new(name: str, areas: _Areas) -> None:
    if name in {area.strip() for area in areas}:
        raise ConflictError("name", name, "is the name of an area already; give another one")


def _name(text: str) -> str:
    clean = validation.name("name", text)
    if not clean:
        raise InvalidFieldError("name", text, "is blank; give a name")
    return clean


def _spelling(name: str, areas: _Areas) -> str:
    # In the file a name may stand between quoted blanks, which belong to no name.
    for spelling in areas:
        if spelling.strip() == name.strip():
            return spelling
    raise NotThereError("name", name, "is no area of the file")


def _place(text: str, name: str) -> tuple[yaml.Node, yaml.Node]:
    # Where its name and its corners stand.
    whole: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    ((_, areas),) = whole.value
    return next((key, corners) for key, corners in areas.value if key.value == name)


def _file(parameters: Parameters) -> Path | None:
    # A link stays one: the file that it names is written.
    path = parameters.areas_file
    return validation.expanded_path("areas_file", path).resolve() if path else None


def _write(file: Path, name: str, text: str, areas: _Areas) -> tuple[Area, ...]:
    # Readers see the old file or the new one. It is read as they will before it takes the place of the old one.
    whole = yaml.safe_dump({"areas": areas}, default_flow_style=None, allow_unicode=True, width=120, sort_keys=False)
    descriptor, path = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    new = Path(path)
    try:
        os.close(descriptor)
        # If the file is not written in the way that was expected, all of it is written anew.
        for candidate in (text, whole):
            with new.open("w", encoding="utf-8") as unfinished:
                unfinished.write(candidate)
                unfinished.flush()
                os.fsync(unfinished.fileno())
            if _says(new, areas):
                result = read_areas(new)
                new.chmod(file.stat().st_mode & 0o777)
                new.replace(file)
                return result
    finally:
        new.unlink(missing_ok=True)
    raise InvalidFieldError("name", name, "cannot be written to the file of the areas")


def _appended(before: str, name: str, corners: list[list[float]]) -> str:
    # A line at the end, which keeps comments.
    line = yaml.safe_dump({name: corners}, default_flow_style=None, allow_unicode=True, width=10**6)
    indented = "".join(f"{_indent(before)}{part}\n" for part in line.splitlines())
    return before + ("" if before.endswith("\n") else "\n") + indented


def _indent(before: str) -> str:
    inside = [line for line in before.splitlines() if line[:1] == " " and line.strip()[:1] not in {"", "#", "-", "["}]
    return inside[-1][: len(inside[-1]) - len(inside[-1].lstrip(" "))] if inside else "  "


def _says(file: Path, areas: _Areas) -> bool:
    try:
        return bool(read_yaml("areas_file", file).value == {"areas": areas})
    except InvalidFieldError:
        return False
