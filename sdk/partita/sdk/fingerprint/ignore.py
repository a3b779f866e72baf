"""`@ignore_for_version`: code whose changes make nothing stale. The fingerprint knows it by its name in the source alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def ignore_for_version(one: T) -> T:
    """Leave a function or class out of the fingerprints of the assets that reach it, with all that only it reaches.

    For code that cannot change what is stored: logging, progress, retries of a connection. Returns `one` itself.

    >>> @ignore_for_version
    ... def progress(done: int) -> str:
    ...     return f"{done} rows so far"
    >>> progress(3)
    '3 rows so far'
    """
    return one
