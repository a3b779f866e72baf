"""One trace for all that comes of a request, in the terms of W3C trace context (S-248). Pure.

A run has one trace id: that of the `traceparent` it was asked for with, else one that follows from the run itself. Spans of
tasks and attempts follow from the trace and their ids, so that no row keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

CAUSE = "traceparent"
"""Where the cause of a run, and an event from outside, keep the traceparent that they came with."""

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


def known_traceparent(text: str | None) -> str | None:
    """The traceparent, or None for one that the standard tells to ignore: then a trace of our own begins.

    >>> known_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    >>> known_traceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01")
    """
    found = _TRACEPARENT.fullmatch((text or "").strip())
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    if not (found[2].strip("0") and found[3].strip("0")):
        return None
    return f"00-{found[2]}-{found[3]}-{found[4]}"


def in_trace(text: str | None) -> dict[str, str]:
    """What a cause or an event keeps of the traceparent that it came with; nothing where it came with none."""
    known = known_traceparent(text)
    return {} if known is None else {CAUSE: known}


def trace_of(run_id: int, as_of: datetime, cause: Mapping[str, Any]) -> str:
    """The trace id of a run: 32 hex digits."""
    given = known_traceparent(str(cause.get(CAUSE) or ""))
    if given is not None:
        return given[3:35]
    return _digits(f"partita run {run_id} {as_of.isoformat()}", 32)


def traceparent(trace_id: str, kind: Literal["run", "task", "attempt"], number: int) -> str:
    """What is handed on: the trace, with the span of a run, task or attempt as the parent of what comes below."""
    return f"00-{trace_id}-{span_id(trace_id, kind, number)}-01"


def span_id(trace_id: str, kind: Literal["run", "task", "attempt"], number: int) -> str:
    """16 hex digits."""
    return _digits(f"{trace_id} {kind} {number}", 16)


def _digits(text: str, count: int) -> str:
    return sha256(text.encode()).hexdigest()[:count]
