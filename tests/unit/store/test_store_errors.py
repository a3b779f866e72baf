"""What an error of the driver means: what passes, what a constraint refused, and what is a fault of ours."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from partita.core.store.port import Busy, Unavailable, Violation
from partita.core.store.postgres.errors import store_error


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (psycopg.OperationalError("connection failed"), Unavailable),
        (errors.AdminShutdown("stopped"), Unavailable),
        (errors.DiskFull("no space left on device"), Unavailable),
        (errors.OutOfMemory("out of memory"), Unavailable),
        (errors.TooManyConnections("sorry, too many clients already"), Unavailable),
        (errors.IoError("could not read block"), Unavailable),
        (errors.LockNotAvailable("lock timeout"), Busy),
        (errors.QueryCanceled("statement timeout"), Busy),
        (errors.UniqueViolation("twice"), Violation),
        # Tried again by the store itself.
        (errors.DeadlockDetected("deadlock"), None),
        # What we said was wrong: waiting mends nothing.
        (errors.ProgramLimitExceeded("index row size exceeds maximum"), None),
        (errors.NumericValueOutOfRange("bigint out of range"), None),
    ],
)
def test_trouble_of_the_database_is_told_from_faults(error: psycopg.Error, means: type[Exception] | None) -> None:
    """A report that met a full disk is sent again; one that can never be stored fails its task."""
    found = store_error(error)
    assert (None if found is None else type(found)) is means
