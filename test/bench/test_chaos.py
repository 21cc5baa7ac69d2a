"""Each storm of `python3 -m bench chaos`, for a moment: nothing acknowledged is lost, nothing purged is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bench.suites.chaos.ledger import UnavailableError
from bench.suites.chaos.storms import STORMS

_SEED = 27
_SECONDS = 3.0


@pytest.mark.slow
@pytest.mark.parametrize("name", STORMS)
def test_nothing_is_lost_or_found_or_hangs_in_a_storm(name: str, tmp_path: Path) -> None:
    try:
        result = STORMS[name].run(tmp_path, random.Random(f"{_SEED}{name}"), _SECONDS)
    except UnavailableError as error:
        pytest.skip(str(error))
    assert result.complaints == []
    assert result.wrong == 0
    assert result.rounds
    assert result.acknowledged
