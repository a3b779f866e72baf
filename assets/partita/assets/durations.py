"""Durations as people write them: seconds as a number, "30s" "5m" "2h" "1d", or a timedelta. Owns only that."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from partita.assets.errors import DefinitionError

Duration = float | str | timedelta

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")


def seconds(value: Duration, *, what: str) -> float:
    """`value` in seconds. Raises DefinitionError, naming `what`, when it is no duration, negative or not finite."""
    if isinstance(value, timedelta):
        found = value.total_seconds()
    elif isinstance(value, str):
        match = _TEXT.fullmatch(value)
        if match is None:
            raise _refused(value, what)
        found = float(match[1]) * _UNITS_S[match[2]]
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(value, what)
    else:
        found = float(value)
    if found < 0 or not math.isfinite(found):
        raise _refused(value, what)
    return found


def _refused(value: object, what: str) -> DefinitionError:
    return DefinitionError(
        what=f"{what} is {value!r}",
        rule="a duration is a number of seconds, a timedelta, or a text with one unit, and not negative",
        fix='write for example 30, "30s", "5m", "2h" or "1d"',
    )
