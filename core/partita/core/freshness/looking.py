"""The freshness duty: judges the policies whose time has come, and those that are late, from what is there.

An asset that keeps its policy is looked at when something is due; one that is late when something was published, too, and every
quarter of a minute. A row is locked by the look that judges it: a miss is told once, whatever the number of schedulers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from partita.core.automation.values import ActiveCatalog
from partita.core.automation.view import upstream_of_cell
from partita.core.catalog import Catalog, resolve_inputs
from partita.core.decide.burn import budget_s, burning, late_s, next_change
from partita.core.decide.freshness import Span
from partita.core.decide.spent import said, spent_on
from partita.core.duties.channels import Channel
from partita.core.freshness.heeding import to_look_at
from partita.core.freshness.judging import Asked, Facts, Found, last_cell, question, verdict_on
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, NewEvent
from partita.core.store.values_alerts import AlertKind, NewSignal
from partita.core.store.values_freshness import Freshness, FreshnessUpdate, FreshState, LateSpan

log = logging.getLogger(__name__)

POLICIES = 200
"""Policies that one look takes."""
AGAIN = timedelta(seconds=15)
KEPT = timedelta(days=100)
"""Spans that ended are kept so long: longer than any objective counts."""
_MENDED = timedelta(minutes=15)
_TASKS = 8
_NOT_YET = datetime.max.replace(tzinfo=UTC)

Spans = dict[AssetId, list[LateSpan]]


@dataclass(frozen=True, slots=True)
class LookedAt:
    """`taken` policies; of these `broken` became late and `kept` are late no more."""

    taken: int = 0
    broken: int = 0
    kept: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.taken


def look_at_freshness(store: Store, catalogs: ActiveCatalog, limit: int = POLICIES) -> LookedAt:
    """Judges up to `limit` policies, and tells of those that are broken."""
    return store.run(lambda tx: _look(tx, catalogs, limit))


def _look(tx: Tx, catalogs: ActiveCatalog, limit: int) -> LookedAt:
    taken = tx.take_due_freshness_skip(limit)
    if not taken:
        return LookedAt()
    catalog, now = catalogs.active(), tx.now()
    asked = [new for row in taken if (new := _asked(catalog, row, now)) is not None]
    facts = tx.read_cells(sorted({cell for each in asked for cell in each.cells()}))
    found = [verdict_on(each, facts, now) for each in asked]
    before = tx.late_spans([each.row.asset_id for each in asked], now - KEPT)
    spans = _late_spans(tx, catalog, found, before, facts)
    judged = {each.row.asset_id for each in asked}
    updates = [_later(row, now + _MENDED) for row in taken if row.asset_id not in judged]
    signals: list[NewSignal] = []
    events: list[NewEvent] = []
    for one in found:
        row = one.asked.row
        own = _merged(before.get(row.asset_id, ()), spans.get(row.asset_id, ()))
        update = _update(one, own, now)
        updates.append(update)
        signals += _signals(one, update, own, now)
        if update.state is not row.state:
            body = {"state": update.state.value, "since": update.state_since.isoformat()}
            events.append(NewEvent("freshness", asset_id=row.asset_id, body=body))
    moved = [one.asked.row for one in found if one.verdict.state is not one.asked.row.state]
    tx.put_late_spans([span for own in spans.values() for span in own])
    tx.prune_late_spans([row.asset_id for row in moved], now - KEPT)
    tx.write_freshness(updates)
    tx.gather(to_look_at(catalog, [one for one in found if one.asked.row in moved], now))
    tx.append_events(events)
    tx.append_signals(signals)
    kept = sum(row.state is FreshState.LATE for row in moved)
    broken = sum(one.verdict.state is FreshState.LATE for one in found if one.asked.row.state is not FreshState.LATE)
    return LookedAt(len(taken), broken, kept, len(taken) == limit, (Channel.EVENT,) if events else ())


def _asked(catalog: Catalog, row: Freshness, now: datetime) -> Asked | None:
    """None: it is not defined now, or cannot be judged."""
    asset = catalog.by_id.get(row.asset_id)
    if asset is None or asset.spec.freshness is None:
        return None
    try:
        return question(asset, asset.spec.freshness, catalog.space(asset.key, now), row, now)
    except Exception:  # one policy must not take the others with it
        log.exception("the freshness of %s cannot be judged; it will be tried again in %s", asset.key, _MENDED)
        return None


# ------------------------------------------------------------------------------------------------- when it was late
def _late_spans(
    tx: Tx, catalog: Catalog, found: Sequence[Found], before: Mapping[AssetId, Sequence[LateSpan]], facts: Facts
) -> Spans:
    """The spans to write, with what consumed the time."""
    made: Spans = {}
    cells: dict[CellRef, None] = {}
    for one in found:
        row = one.asked.row
        known = {span.from_at: span for span in before.get(row.asset_id, ())}
        for start, end in one.verdict.spans:
            span = known.get(start) or _new_span(one, (start, end), facts)
            made.setdefault(row.asset_id, []).append(replace(span, until_at=end))
            if span.partition is not None:
                cells[CellRef(row.asset_id, span.partition)] = None
    if not cells:
        return made
    stories = tx.stories(list(cells), _TASKS)
    above = _above(tx, catalog, list(cells), tx.now())

    def told(span: LateSpan) -> LateSpan:
        cell = CellRef(span.asset_id, span.partition or "")
        if cell not in cells:
            return span
        end = span.until_at or tx.now()
        spent = spent_on(stories.get(cell, ()), span.counted_from, end, above_at=above.get(cell))
        return replace(span, spent=spent)

    return {asset_id: [told(span) for span in own] for asset_id, own in made.items()}


def _new_span(one: Found, span: Span, facts: Facts) -> LateSpan:
    asked = one.asked
    due = next((due for due in asked.dues if due.at == span[0]), None)
    cell = one.awaited or (last_cell(asked.windows.get(due.window, ()), facts) if due is not None else None)
    counts_from = due.counts_from if due is not None else span[0]
    if asked.by_age and asked.policy.max_lag_s is not None:
        counts_from = span[0] - timedelta(seconds=asked.policy.max_lag_s)
    return LateSpan(
        asked.row.asset_id, span[0], span[1], min(counts_from, span[0]), None if cell is None else cell.partition, {}
    )


def _above(tx: Tx, catalog: Catalog, cells: Sequence[CellRef], now: datetime) -> dict[CellRef, datetime]:
    """When the last of what each of these cells reads was there."""
    reads: dict[CellRef, list[CellRef]] = {}
    for cell in cells:
        asset = catalog.by_id[cell.asset_id]
        members = {one.id for one in catalog.steps[asset.step]}
        try:
            reads[cell] = upstream_of_cell(resolve_inputs(catalog, now, [cell]), cell, members)
        except Exception:
            log.exception("what %s %s reads cannot be resolved", asset.key, cell.partition)
    facts = tx.read_cells(sorted({one for refs in reads.values() for one in refs}))
    found: dict[CellRef, datetime] = {}
    for cell, refs in reads.items():
        at = [facts[one].published_at if one in facts else None for one in refs]
        if at:
            found[cell] = max(one or _NOT_YET for one in at)
    return found


def _merged(before: Sequence[LateSpan], now: Sequence[LateSpan]) -> list[LateSpan]:
    return list({span.from_at: span for span in (*before, *now)}.values())


# ------------------------------------------------------------------------------------------------- what becomes of it
def _update(one: Found, spans: Sequence[LateSpan], now: datetime) -> FreshnessUpdate:
    row, policy, verdict = one.asked.row, one.asked.policy, one.verdict
    late = verdict.state is FreshState.LATE
    when = [one.next_due_at, now + AGAIN if late else None]
    burn = None
    if policy.objective is not None:
        times = [(span.from_at, span.until_at) for span in spans]
        burn = burning(times, policy.objective, policy.over_s, now)
        when.append(next_change(times, policy.objective, policy.over_s, now))
    return FreshnessUpdate(
        row.asset_id,
        verdict.state,
        verdict.state_since,
        verdict.due_at if late else one.next_due_at,
        one.fresh_to,
        None if one.awaited is None else one.awaited.partition,
        burn,
        None if burn is None else row.burn_since or now,
        min((at for at in when if at is not None), default=None),
    )


def _later(row: Freshness, until: datetime) -> FreshnessUpdate:
    return FreshnessUpdate(
        row.asset_id, row.state, row.state_since, row.due_at, row.fresh_to, row.awaited, row.burn, row.burn_since, until
    )


def _signals(one: Found, update: FreshnessUpdate, spans: Sequence[LateSpan], now: datetime) -> list[NewSignal]:
    """A policy that is broken now and was not; a budget that burns now and did not. The cause is the asset, not a cell: it stays
    one while the windows go by."""
    row, policy = one.asked.row, one.asked.policy
    about = {"asset": row.asset_id, "policy": policy.text, "partition": update.awaited}
    found = []
    if update.state is FreshState.LATE and row.state is not FreshState.LATE and update.due_at is not None:
        spent = said(spans[-1].spent) if spans else ""
        due_at = update.due_at.isoformat(timespec="seconds")
        found.append(NewSignal(AlertKind.LATE, detail=about | {"due_at": due_at, "spent": spent}))
    if update.burn is not None and row.burn is None and policy.objective is not None:
        budget = budget_s(policy.objective, policy.over_s)
        times = [(span.from_at, span.until_at) for span in spans]
        left = 1 - late_s(times, now - timedelta(seconds=policy.over_s), now) / budget
        found.append(NewSignal(AlertKind.SLO_BURN, detail=about | {"within": update.burn, "left": round(left, 4)}))
    return found
