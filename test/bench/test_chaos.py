"""Each storm of `python3 -m bench chaos`, for a moment: nothing acknowledged is lost, nothing purged is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.suites.chaos.ledger import UnavailableError
from bench.suites.chaos.storms import STORMS

_SEED = 27
_SECONDS = (3.0, 15.0, 60.0)
"""How long a storm lasts: longer where the machine is too busy for anything to be acknowledged."""
_RARE = {"writers": pytest.mark.rare}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=_RARE.get(name, ())) for name in STORMS])
def test_nothing_is_lost_or_found_or_hangs_in_a_storm(name: str, tmp_path: Path) -> None:
    for seconds in _SECONDS:
        try:
            folder = tmp_path / str(seconds)
            folder.mkdir()
            result = STORMS[name].run(folder, random.Random(f"{_SEED}{name}"), seconds)
        except UnavailableError as error:
            pytest.skip(str(error))
        assert result.complaints == []
        assert result.wrong == 0
        assert result.rounds
        if result.acknowledged:
            return
    pytest.fail("nothing was acknowledged")
