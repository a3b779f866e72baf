"""What alerts are about and how bad it is: the words that the configuration shares with the rows."""

from __future__ import annotations

from enum import StrEnum


class AlertKind(StrEnum):
    """What people can be told of; `on` of a rule names some of these."""

    FAILED = "failed"  # an attempt failed, whether or not it is tried again
    RETRIES_EXHAUSTED = "retries_exhausted"  # a partition failed and is not tried again
    LATE = "late"  # a partition was not there by its deadline, or an asset breaks its freshness policy
    SLO_BURN = "slo_burn"  # the error budget of an asset burns too fast
    BLOCKED = "blocked"  # a step of a run waits for longer than it may
    CHECK_FAILED = "check_failed"
    RUN_FAILED = "run_failed"
    LOAD_ERROR = "load_error"  # a module of a location does not load
    LOCATION_DOWN = "location_down"  # a location has no live code server


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
