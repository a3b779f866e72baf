"""Observations of external assets: what their cells hold, recorded as facts, with the event that consumers follow.

One way in for all who observe: `@observe` functions and the intake of events. Owns that the same version twice is one event,
and that consumers are told in the transaction that records it. Names and rules are `changes.observed`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from partita.core.decide.observe import Observation, judge, newest
from partita.core.duties.channels import Channel
from partita.core.duties.values import AUTOMATION, BATCH_TASKS
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, NewEvent


@dataclass(frozen=True, slots=True)
class Observed:
    """`moved` cells hold another version than before; `confirmed` ones the same."""

    moved: tuple[CellRef, ...] = ()
    confirmed: int = 0

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Whom to wake after the commit."""
        return (Channel.EVENT, Channel.TODO) if self.moved else ()


def observe(store: Store, observations: Sequence[Observation], *, by: str, followed: Collection[AssetId]) -> Observed:
    """Records them, in transactions of bounded size; said again, they change nothing. `followed` are the assets that have
    automated consumers (`Catalog.automation_assets`); `by` names who observed, for people."""
    moved: list[CellRef] = []
    confirmed = 0
    told = newest(observations)
    for start in range(0, len(told), BATCH_TASKS):
        batch = told[start : start + BATCH_TASKS]
        done = store.run(lambda tx, batch=batch: observe_in(tx, batch, by=by, followed=followed))  # type: ignore[misc]
        moved += done.moved
        confirmed += done.confirmed
    return Observed(tuple(moved), confirmed)


def observe_in(
    tx: Tx,
    observations: Sequence[Observation],
    *,
    by: str,
    followed: Collection[AssetId],
    told: Mapping[str, str] = {},
) -> Observed:
    """`observe` as a part of a larger transaction, which must hold no cell yet. Of a cell that is named twice the last word
    counts. `told` stands in the events, too."""
    said = newest(observations)
    if not said:
        return Observed()
    tx.ensure_cells({one.cell: one.window for one in said})
    facts = tx.lock_cells([one.cell for one in said])
    seen = judge(said, facts, by=by)
    if seen.moved:
        tx.publish_by_hand(seen.moved, tx.next_fence())
        tx.append_events(
            [
                NewEvent(
                    "observed",
                    asset_id=one.cell.asset_id,
                    partition=one.cell.partition,
                    body={"data_version": one.data_version, "by": by, **told},
                    for_consumers=(AUTOMATION,) if one.cell.asset_id in followed else (),
                )
                for one in seen.moved
            ]
        )
    if seen.confirmed:
        tx.confirm_cells(seen.confirmed)
    return Observed(tuple(one.cell for one in seen.moved), len(seen.confirmed))
