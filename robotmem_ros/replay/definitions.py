"""Choose the definition of a recorded message type.

Definitions come from the recording, the message packages of this machine, the set of the ROS distribution that
recorded, and a folder, in this order. One that fits the hash in the recording comes first; if several differ and no
hash decides, the one that decodes most of the recorded messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..memory.errors import InvalidFieldError
from ..memory.validation import expanded_path
from ..perception.message_types import (
    FieldType,
    MessageClasses,
    TypeDescription,
    TypestoreTypes,
    UnknownTypeError,
)
from .recorded_file import Channel, DefinitionText

Entry = tuple[Any, Any]
"""Constants and fields of a type, as rosbags has them."""
Entries = Mapping[str, Entry]
_Key = tuple[str, DefinitionText | None]
"""A type, and which of its recorded definitions is meant, if there are several."""
_MESSAGE, _IDL = frozenset({"ros2msg", "ros1msg"}), frozenset({"ros2idl", "omgidl"})
_RULE = "=" * 80 + "\n"
_DDS = re.compile(r"/dds_/(\w+)_\Z")
_TYPE_NAME = re.compile(r"(\w+)/msg/(\w+)", re.ASCII)
_PACKAGE_NAME = re.compile(r"<name>\s*(\w+)\s*</name>")
_WIDE = "/msg/wstring"
"""End of what rosbags takes the name of the type wstring for."""
_SAMPLES = 100
"""Messages of different lengths that are decoded to choose between definitions."""
_NEWEST_FIRST = ("lyrical", "kilted", "jazzy", "iron", "humble", "galactic", "foxy", "eloquent", "dashing")
_WAYS_OUT = "source the ROS that has its package, or name a folder with its .msg file by --definitions"
OTHER_VERSION = "if it is of another version, name a folder with its .msg file by --definitions"
RECORDING = "the recording"
"""Source of a definition that the recording has."""


class Source(Protocol):
    """Where definitions come from."""

    name: str
    is_exact: bool
    """Whether the bounds of arrays and texts are known, which count for the hash."""

    def entry(self, type_name: str) -> Entry | None:
        """Return what defines a type; None if this does not."""
        ...


class Definition(NamedTuple):
    """A type with all its parts."""

    type_name: str
    source: str
    """Where it comes from, in words."""
    store: Any
    """Typestore of rosbags."""
    fits: bool | None
    """Whether it has the hash in the recording; None if that cannot be told."""

    @property
    def types(self) -> TypestoreTypes:
        """Description of the type and its parts."""
        return TypestoreTypes(self.store)

    def decoded(self, raw: bytes, encoding: str) -> Any:
        """Return a message.

        Raises:
            Exception: the bytes are none.
        """
        if encoding == "ros1":
            return self.store.deserialize_ros1(raw, self.type_name)
        return self.store.deserialize_cdr(raw, self.type_name)

    def decodes(self, raw: bytes, encoding: str) -> bool:
        """Tell whether bytes are such a message."""
        with suppress(Exception):
            self.decoded(raw, encoding)
            return True
        return False

    def layout(self) -> Mapping[str, tuple[tuple[str, FieldType], ...]]:
        """Return the fields of all its types, in their order."""
        types = self.types
        return {name: tuple(types.fields(name).items()) for name in self.store.fielddefs}


class Definitions(TypeDescription):
    """Definitions of the types of a recording, chosen when first asked for.

    `samples` yields the serialised messages of channels, with their encoding. `folder` has `.msg` and `.idl` files.

    Raises:
        InvalidFieldError: the folder has none.
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        distro: str,
        samples: Callable[[Collection[Channel]], Iterable[tuple[bytes, str]]],
        folder: Path | str | None = None,
    ) -> None:
        super().__init__()
        self._channels = channels
        self._distro = distro
        self._samples = samples
        self._folder = None if folder is None else _Folder(folder)
        self._chosen: dict[_Key, Definition] = {}
        self._texts: dict[str, set[DefinitionText]] = {}
        for channel in channels:
            if channel.definition:
                self._texts.setdefault(channel.type_name, set()).add(channel.definition)

    @property
    def chosen(self) -> tuple[Definition, ...]:
        """The definitions that were chosen so far."""
        return tuple(self._chosen.values())

    def of(self, type_name: str, text: DefinitionText | None = None) -> Definition:
        """Return the definition of a recorded type; where several are recorded, that of the channels with a `text`.

        Raises:
            UnknownTypeError: nothing defines it, or a part of it.
        """
        key = type_name, text if len(self._texts.get(type_name, ())) > 1 else None
        if key not in self._chosen:
            self._chosen[key] = self._choose(*key)
        return self._chosen[key]

    def _fields(self, type_name: str) -> Mapping[str, FieldType]:
        # A part is described as the type defines it that has it.
        own = self._chosen.get((type_name, None))
        for definition in self.chosen if own is None else [own]:
            if type_name in definition.store.fielddefs:
                return definition.types.fields(type_name)
        return self.of(type_name).types.fields(type_name)

    def _choose(self, type_name: str, text: DefinitionText | None) -> Definition:
        channels = [one for one in self._channels if one.type_name == type_name and text in {None, one.definition}]
        texts = dict.fromkeys(channel.definition for channel in channels if channel.definition)
        recorded = [_Recorded(text, type_name, self._channels) for text in texts]
        sources = [*recorded, *self._known(is_ros1=any(channel.encoding == "ros1" for channel in channels))]
        hashes = {channel.type_hash for channel in channels} - {""}
        found, problem = _definitions(type_name, sources, hashes)
        if not found:
            raise UnknownTypeError(type_name, problem)
        return next((one for one in found if one.fits), None) or self._most_decoding(found, channels)

    def _known(self, *, is_ros1: bool) -> list[Source]:
        if is_ros1:
            known: list[Source] = [_Distro("ROS1", "noetic")]
        else:
            distros = [self._distro] if self._distro in _NEWEST_FIRST else _NEWEST_FIRST
            known = [_Machine(), *(_Distro("ROS2", name) for name in distros)]
        return known if self._folder is None else [*known, self._folder]

    def _most_decoding(self, found: Sequence[Definition], channels: Collection[Channel]) -> Definition:
        if len(found) == 1:
            return found[0]
        counts = [0] * len(found)
        # Messages of one length mostly have the same parts: an empty array tells nothing of its elements.
        seen: set[int] = set()
        different = (one for one in self._samples(channels) if len(one[0]) not in seen)
        for raw, encoding in islice(different, _SAMPLES):
            seen.add(len(raw))
            for number, definition in enumerate(found):
                counts[number] += definition.decodes(raw, encoding)
        return found[counts.index(max(counts))]


def _definitions(type_name: str, sources: Sequence[Source], hashes: set[str]) -> tuple[list[Definition], str]:
    """Return the different definitions of a type, and what is wrong if there is none."""
    found: list[Definition] = []
    problem = ""
    for source in sources:
        if source.entry(type_name) is None:
            continue
        # Parts that the source lacks come from the others.
        entries, missing = _with_parts(type_name, [source, *sources])
        if missing:
            problem = problem or f"has the part {missing!r}, which nothing defines; {_WAYS_OUT}"
            continue
        try:
            definition = _definition(type_name, source, entries, hashes)
            if all(definition.layout() != other.layout() for other in found):
                # Compiles what decodes, which takes most of the time, and fails if the definition cannot be used.
                definition.store.get_msgdef(type_name)
                found.append(definition)
        except Exception as cause:
            problem = problem or f"has a definition in {source.name} that cannot be used: {cause}"
    return found, problem or f"cannot be found: neither the recording nor this machine defines it; {_WAYS_OUT}"


def _definition(type_name: str, source: Source, entries: Entries, hashes: set[str]) -> Definition:
    from rosbags.typesys import Stores, get_typestore

    if any(_is_wide(field) for _, fields in entries.values() for _, field in fields):
        raise ValueError("it has a wstring, which is not read")
    store = get_typestore(Stores.EMPTY)
    store.register({name: entry for name, entry in entries.items() if name not in store.fielddefs})
    fits = None
    if hashes and source.is_exact:
        with suppress(Exception):
            fits = store.hash_rihs01(type_name) in hashes
    return Definition(type_name, source.name, store, fits)


def _with_parts(type_name: str, sources: Sequence[Source]) -> tuple[Entries, str]:
    """Return the entries of a type and its parts, and the name of a part that no source has."""
    entries: dict[str, Entry] = {}
    waiting = [type_name]
    while waiting:
        name = waiting.pop()
        if name in entries:
            continue
        entry = next(filter(None, (source.entry(name) for source in sources)), None)
        if entry is None:
            return {}, name
        entries[name] = entry
        waiting += [part for _, field in entry[1] if (part := _part(field))]
    return entries, ""


def _part(field: Any) -> str:
    """Return the name of the message type in the type of a field; empty for others."""
    kind, detail = field
    if kind.name in {"ARRAY", "SEQUENCE"}:
        return _part(detail[0])
    return detail if kind.name == "NAME" and not _is_wide(field) else ""


def _is_wide(field: Any) -> bool:
    kind, detail = field
    return _is_wide(detail[0]) if kind.name in {"ARRAY", "SEQUENCE"} else str(detail).endswith(_WIDE)


class _Recorded:
    """The definition that the recording has, its parts also from definitions of other types."""

    name = RECORDING
    is_exact = True

    def __init__(self, definition: DefinitionText, type_name: str, channels: Sequence[Channel]) -> None:
        self._definition = definition
        self._type_name = type_name
        self._channels = channels

    def entry(self, type_name: str) -> Entry | None:
        if type_name == self._type_name or type_name in self._own:
            return self._own.get(type_name)
        # As they are written: "std_msgs/Header", and with its middle part.
        names = type_name, type_name.replace("/msg/", "/")
        for channel in self._channels:
            text = channel.definition
            if text and (channel.type_name == type_name or any(name in text.text for name in names)):
                entries = _parsed(text, channel.type_name)
                if type_name in entries:
                    return entries[type_name]
        return None

    @cached_property
    def _own(self) -> Entries:
        return _parsed(self._definition, self._type_name)


class _Machine:
    """The message packages of this machine: those of a sourced ROS, and those that this Python can import."""

    name = "this machine"
    is_exact = False

    def __init__(self) -> None:
        self._classes = MessageClasses()

    def entry(self, type_name: str) -> Entry | None:
        match = _TYPE_NAME.fullmatch(type_name)
        if match is None:
            return None
        for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            stem = Path(prefix, "share", match[1], "msg", match[2])
            if entry := _parsed_file(stem.with_suffix(".msg"), type_name):
                return entry
            if entry := _parsed_file(stem.with_suffix(".idl"), type_name):
                return entry
        with suppress(UnknownTypeError):
            return [], [(name, _node(field)) for name, field in self._classes.fields(type_name).items()]
        return None


class _Distro:
    """The messages of a ROS distribution, which rosbags brings."""

    is_exact = True

    def __init__(self, version: str, distro: str) -> None:
        self._key = f"{version}_{distro.upper()}"
        self.name = f"the set of ROS {version[-1]} {distro.capitalize()}"

    def entry(self, type_name: str) -> Entry | None:
        from rosbags.typesys import Stores, get_typestore

        entry: Entry | None = get_typestore(Stores[self._key]).fielddefs.get(type_name)
        return entry


class _Folder:
    """A folder of .msg and .idl files, as packages keep them."""

    is_exact = True

    def __init__(self, path: Path | str) -> None:
        folder = expanded_path("definitions", path)
        files = [file for ending in ("*.msg", "*.idl") for file in sorted(folder.resolve().rglob(ending))]
        if not files:
            raise InvalidFieldError("definitions", path, "must be a folder with .msg files, such as my_msgs/msg/A.msg")
        self.name = f"the folder {str(folder)!r}"
        self._files: dict[str, Path] = {}
        for file in files:
            self._files.setdefault(f"{_package_of(file)}/msg/{file.stem}", file)

    def entry(self, type_name: str) -> Entry | None:
        file = self._files.get(type_name)
        return None if file is None else _parsed_file(file, type_name)


def _package_of(file: Path) -> str:
    folder = file.parent.parent if file.parent.name == "msg" else file.parent
    with suppress(OSError, UnicodeDecodeError):
        if match := _PACKAGE_NAME.search((folder / "package.xml").read_text(encoding="utf-8")):
            return match[1]
    return folder.name


def _parsed_file(file: Path, type_name: str) -> Entry | None:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return _parsed(DefinitionText(text, f"ros2{file.suffix[1:]}"), type_name).get(type_name)


def _parsed(definition: DefinitionText, type_name: str) -> Entries:
    """Return the types that a text defines; none if it cannot be read."""
    from rosbags.typesys import get_types_from_idl, get_types_from_msg

    text = definition.text.replace("\r\n", "\n")
    entries: dict[str, Entry] = {}
    # What cannot be parsed ends in errors of many kinds.
    with suppress(Exception):
        if definition.encoding in _MESSAGE:
            entries.update(get_types_from_msg(text, type_name))
        elif definition.encoding in _IDL:
            parts = [part.partition("\n")[2] for part in text.split(_RULE) if part.startswith("IDL: ")]
            for part in parts or [text]:
                entries.update(get_types_from_idl(part))
    return {_ros_name(name): _without_dds(entry) if _DDS.search(name) else entry for name, entry in entries.items()}


def _ros_name(name: str) -> str:
    return _DDS.sub(r"/\1", name)


def _without_dds(entry: Entry) -> Entry:
    """Return a type as ROS names it and its fields: DDS adds `dds_` and `_`."""
    constants, fields = entry
    return constants, [(name.removesuffix("_"), _renamed(field)) for name, field in fields]


def _renamed(field: Any) -> Any:
    kind, detail = field
    if kind.name in {"ARRAY", "SEQUENCE"}:
        return kind, (_renamed(detail[0]), detail[1])
    return kind, _ros_name(detail) if kind.name == "NAME" else detail


def _node(field: FieldType) -> Any:
    """Return the type of a field as rosbags has it."""
    from rosbags.interfaces import Nodetype

    if field.is_array:
        length = field.length or 0
        return Nodetype.ARRAY if length else Nodetype.SEQUENCE, (_node(field.element), length)
    return (Nodetype.NAME, field.name) if "/" in field.name else (Nodetype.BASE, (field.name, 0))
