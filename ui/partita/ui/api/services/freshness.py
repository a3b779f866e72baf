"""Freshness for people: each policy with its state and budget, and the times in which it was broken with what consumed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from partita.assets import FreshnessSpec
from partita.core.decide.burn import budget_s, late_s
from partita.core.decide.spent import said
from partita.core.store.queries import api_freshness as sql
from partita.core.store.queries.api_read import now, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import FreshnessPage, FreshnessView, MissView, Need
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import cell_link, cell_text, seconds_text

Row = Mapping[str, Any]
_MISSES = 50
_SHOWN = timedelta(days=30)
_COUNTED = timedelta(days=90)


class FreshnessService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def page(self, asset: str | None = None) -> FreshnessPage:
        """All policies, or that of one asset. Raises UnknownAsset."""
        catalog = self._backend.catalogs.active()
        wanted = None if asset is None else catalog.asset(asset).id
        with self._backend.store.read() as reader:
            at = now(reader)
            found = [
                (row, policy)
                for row in rows(reader, sql.POLICIES, asset_id=wanted)
                if row["asset_id"] in catalog.by_id
                and (policy := catalog.by_id[row["asset_id"]].spec.freshness) is not None
            ]
            ids = [row["asset_id"] for row, _ in found]
            spans = rows(reader, sql.SPANS, assets=ids, after=at - _COUNTED) if ids else []
        of: dict[int, list[Row]] = {}
        for span in spans:
            of.setdefault(span["asset_id"], []).append(span)
        views = [_view(row, policy, of.get(row["asset_id"], ()), at) for row, policy in found]
        recent = [one for one in spans if one["until_at"] is None or one["until_at"] > at - _SHOWN]
        return FreshnessPage(policies=views, misses=[_miss(one, at) for one in recent[:_MISSES]])


def freshness_needs(reader: Reader, limit: int) -> list[Need]:
    """Assets that break their policy now, for the list of what needs a person."""
    at = now(reader)
    found = []
    for row in rows(reader, sql.LATE, limit=limit):
        spent = said(row["spent"] or {})
        since = seconds_text(max((at - row["state_since"]).total_seconds(), 0.0))
        what = f" {cell_text('', row['awaited']).strip()} is not there." if row["awaited"] else ""
        found.append(
            Need(
                severity="bad",
                text=f"{row['asset']} is late for {since}.{what}" + (f" Of the time: {spent}." if spent else ""),
                link=cell_link(row["asset"], row["awaited"] or ""),
            )
        )
    return found


def _view(row: Row, policy: FreshnessSpec, spans: Sequence[Row], at: datetime) -> FreshnessView:
    late = budget = None
    if policy.objective is not None:
        times = [(one["from_at"], one["until_at"]) for one in spans]
        late = late_s(times, at - timedelta(seconds=policy.over_s), at)
        budget = budget_s(policy.objective, policy.over_s)
    return FreshnessView(
        asset=row["asset"],
        policy=policy.text,
        state=row["state"],
        since=row["state_since"],
        due_at=row["due_at"],
        fresh_to=row["fresh_to"],
        awaited=row["awaited"],
        objective=policy.objective,
        over_s=policy.over_s if policy.objective is not None else None,
        late_s=late,
        budget_s=budget,
        burn=row["burn"],
        burn_since=row["burn_since"],
        sentence=_sentence(row, spans, late, budget, at),
    )


def _sentence(row: Row, spans: Sequence[Row], late: float | None, budget: float | None, at: datetime) -> str:
    for_s = seconds_text(max((at - row["state_since"]).total_seconds(), 0.0))
    if row["state"] == "late":
        open_one = next((one for one in spans if one["until_at"] is None), None)
        spent = said(open_one["spent"]) if open_one is not None else ""
        text = f"Late for {for_s}" + (f": {row['awaited']} is not there" if row["awaited"] else "")
        text += f". Of the time: {spent}" if spent else ""
    elif row["state"] == "fresh":
        text = f"Fresh for {for_s}"
    else:
        text = "Nothing has been due yet"
    if late is not None and budget is not None:
        left = max(budget - late, 0.0)
        text += f". {left / budget:.0%} of the error budget is left ({seconds_text(left)})"
    if row["burn"] is not None:
        text += f"; it burns too fast within {row['burn']}"
    return f"{text}."


def _miss(row: Row, at: datetime) -> MissView:
    took = seconds_text(max(((row["until_at"] or at) - row["from_at"]).total_seconds(), 0.0))
    text = f"{took} late" if row["until_at"] is not None else f"late for {took}"
    spent = said(row["spent"])
    return MissView(
        **{name: row[name] for name in ("asset", "partition", "counted_from", "from_at", "until_at", "spent")},
        text=f"{text}: {spent}" if spent else text,
    )
