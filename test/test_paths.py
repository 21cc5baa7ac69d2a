"""Paths in a home folder that is not known are refused where they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import InvalidFieldError, Parameters, RobotMemory
from robotmem_ros.perception import load_presets
from robotmem_ros.replay import Bag, load_config

UNKNOWN = "~nobody-of-that-name/file"


@pytest.mark.parametrize("name", ["areas_file", "rules_file", "taxonomy_file", "retention_export"])
def test_an_unusable_path_is_reported_with_its_parameter(tmp_path: Path, name: str) -> None:
    options: dict[str, object] = {name: UNKNOWN}
    with pytest.raises(
        InvalidFieldError, match=f"^{name}: '{UNKNOWN}' lies in a home folder that is not known; give a"
    ):
        RobotMemory(tmp_path / "memory.db", embedding_model="", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_export_path_is_refused_when_the_parameter_is_set() -> None:
    with pytest.raises(InvalidFieldError, match="retention_export"):
        Parameters().changed(retention_export=UNKNOWN)


def test_a_missing_model_is_reported(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model=UNKNOWN) as memory:
        memory.warm_up()
        assert f"embedding_model: '{UNKNOWN}' lies in a home folder that is not known" in memory.status().reason


def test_an_unusable_path_of_presets_configuration_or_recording_is_reported_with_its_field() -> None:
    for field, read in (("presets_file", load_presets), ("config", load_config), ("recording", Bag)):
        with pytest.raises(InvalidFieldError, match=f"^{field}: .* lies in a home folder that is not known"):
            read(UNKNOWN)
