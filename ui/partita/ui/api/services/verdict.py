"""The first line of an asset page: a verdict in words, then what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from partita.ui.api.models import Verdict
from partita.ui.api.models.base import Cadence, Severity
from partita.ui.api.services.words import plural, seconds_text

_UNITS: dict[Cadence | None, str] = {"hour": "hour", "day": "day", "week": "week", "month": "month"}
_BUSY = ("running", "queued", "scheduled", "up_for_retry", "deferred", "awaiting_input")


def verdict_of(
    counts: Mapping[str, int],
    *,
    partitioned: bool,
    cadence: Cadence | None,
    external: bool,
    fresh_to: str | None,
    next_due_at: datetime | None,
    now: datetime,
    stale_because: str | None,
    load_error: str | None,
    late_since: datetime | None = None,
) -> Verdict:
    """`stale_because` explains the first stale cell; `late_since`: it breaks its freshness policy."""
    unit = _UNITS.get(cadence, "partition") if partitioned else "partition"

    def some(state: str) -> str:
        return plural(counts[state], unit) if partitioned else "It"

    sentences = (
        [f"Its module does not load, so it stands on its last good definition: {load_error}"] if load_error else []
    )
    if late_since is not None:
        sentences.append(f"Late for {seconds_text(max((now - late_since).total_seconds(), 0.0))}.")
    if external:
        sentences.append("External: partita does not make it.")
        return _said(sentences, None, "bad" if late_since else "warn" if load_error else "idle", fresh_to, None)
    if fresh_to is not None:
        sentences.append(f"Fresh to {fresh_to}.")
    elif counts and set(counts) == {"fresh"}:
        sentences.append("All partitions are fresh." if partitioned else "Fresh.")
    if counts.get("failed"):
        sentences.append(f"{some('failed')} failed.")
    if counts.get("stale"):
        cause = f": {stale_because}" if stale_because else ""
        sentences.append(f"{some('stale')} {_is(counts['stale'], partitioned)} stale{cause}.")
    if counts.get("upstream_stale"):
        many = counts["upstream_stale"]
        sentences.append(
            f"{some('upstream_stale')} {_is(many, partitioned)} stale through {_its(many, partitioned)} upstreams."
        )
    if counts.get("missing"):
        never = "was never materialized" if not partitioned or counts["missing"] == 1 else "were never materialized"
        sentences.append(f"{some('missing')} {never}.")
    busy = sum(counts.get(state, 0) for state in _BUSY)
    if busy:
        sentences.append(f"{plural(busy, unit)} in progress." if partitioned else "In progress.")
    if next_due_at is not None:
        sentences.append(f"Next due in {seconds_text((next_due_at - now).total_seconds())}.")
    severity = "bad" if late_since is not None else _severity(counts, load_error)
    return _said(sentences, _advice(counts, unit, partitioned), severity, fresh_to, next_due_at)


def _said(
    sentences: list[str], advice: str | None, severity: Severity, fresh_to: str | None, next_due_at: datetime | None
) -> Verdict:
    return Verdict(
        sentence=" ".join(sentences) or "It has no partitions yet.",
        advice=advice,
        severity=severity,
        fresh_to=fresh_to,
        next_due_at=next_due_at,
    )


def _advice(counts: Mapping[str, int], unit: str, partitioned: bool) -> str | None:
    def what(count: int) -> str:
        return f"the {plural(count, unit)}" if partitioned else "it"

    if counts.get("failed"):
        return f"Read the log of the last attempt, then materialize {what(counts['failed'])} again."
    stale = counts.get("stale", 0)
    if stale:
        return f"Preview a plan for {what(stale)} to see what would run."
    if counts.get("upstream_stale"):
        return "Materialize its upstreams first, or plan it with upstream."
    if counts.get("missing"):
        return f"Preview a plan for {what(counts['missing'])} to fill the gap."
    return None


def _severity(counts: Mapping[str, int], load_error: str | None) -> Severity:
    if counts.get("failed"):
        return "bad"
    if load_error or counts.get("stale") or counts.get("upstream_stale"):
        return "warn"
    if counts.get("fresh"):
        return "ok"
    return "idle"


def _is(count: int, partitioned: bool) -> str:
    return "are" if partitioned and count != 1 else "is"


def _its(count: int, partitioned: bool) -> str:
    return "their" if partitioned and count != 1 else "its"
