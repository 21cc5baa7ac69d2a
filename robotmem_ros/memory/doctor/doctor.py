"""Run the checks on a memory, and mend what they can mend."""

from __future__ import annotations

from collections.abc import Callable

from ..config.parameters import Parameters
from ..errors import MALFORMED, DatabaseUnusableError, MemoryClosedError, RobotMemoryError, StorageError
from ..parts import Parts
from .checks import CHECKS, Check, Patient, Seen
from .finding import Finding, Severity

_SAVE = "stop its programs, `robotmem export` what can be read, or restore a copy of the file"


def examine(parts: Parts, parameters: Parameters, clock: Callable[[], int], *, fix: bool) -> tuple[Finding, ...]:
    """Return one finding for each check, with `fix` after mending what can be mended without a loss."""
    patient = Patient(parts, parameters, clock)
    return tuple(_examined(check, patient, fix=fix) for check in CHECKS)


def unopened(error: DatabaseUnusableError | StorageError) -> Finding:
    """Return the finding about a file that cannot be opened."""
    remedy = error.way_out if isinstance(error, DatabaseUnusableError) else _SAVE
    return Finding("file", Severity.ERROR, str(error).removesuffix(f"; {remedy}"), remedy)


def _examined(check: Check, patient: Patient, *, fix: bool) -> Finding:
    seen = _look(check, patient)
    if not fix or check.mend is None or seen.severity is Severity.OK:
        return Finding(check.name, *seen)
    try:
        check.mend(patient)
    except (RobotMemoryError, OSError, *MALFORMED) as error:
        remedy = seen.remedy if isinstance(error, StorageError) and error.is_damage else str(error)
        return Finding(check.name, seen.severity, seen.words, remedy)
    return Finding(check.name, *_look(check, patient))


def _look(check: Check, patient: Patient) -> Seen:
    try:
        return check.look(patient)
    except MemoryClosedError:
        raise
    except (RobotMemoryError, OSError) as error:
        is_damage = isinstance(error, StorageError) and error.is_damage
        return Seen(Severity.ERROR, str(error), _SAVE if is_damage else "")
    except MALFORMED as error:
        words = f"a row holds what no version writes ({type(error).__name__}: {error})"
        return Seen(Severity.ERROR, words, "see the finding `rows`")
