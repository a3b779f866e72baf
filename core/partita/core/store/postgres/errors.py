"""The database's errors as the store's: what may be tried again, what a constraint refused, what is a lost connection."""

from __future__ import annotations

import psycopg
from psycopg import errors

from partita.core.store.port import Busy, StoreError, Unavailable, Violation

RETRYABLE = (errors.DeadlockDetected, errors.SerializationFailure)
_GONE = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout)


def is_lost(error: BaseException | None) -> bool:
    """Whether the connection is gone (or could not be made)."""
    if isinstance(error, _GONE):
        return True
    return (isinstance(error, psycopg.OperationalError) and error.sqlstate is None) or isinstance(
        error, psycopg.InterfaceError
    )


def store_error(error: BaseException | None) -> StoreError | None:
    """The store's error for this one of the driver, or None when it is a fault of ours that must show as it is."""
    if is_lost(error):
        return Unavailable(f"the database does not answer: {_first_line(error)}")
    if isinstance(error, errors.LockNotAvailable | errors.QueryCanceled):
        return Busy(f"a statement waited longer than its time limit: {_first_line(error)}")
    if isinstance(error, errors.IntegrityError):
        return Violation(_first_line(error))
    if _has_trouble(error):
        return Unavailable(f"the database cannot answer: {_first_line(error)}")
    return None


def _has_trouble(error: BaseException | None) -> bool:
    """No disk, no memory, no connections: its trouble, which passes. A limit of a statement (class 54) is ours."""
    return (
        isinstance(error, psycopg.OperationalError)
        and not isinstance(error, RETRYABLE)
        and not (error.sqlstate or "").startswith("54")
    )


def _first_line(error: BaseException | None) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
