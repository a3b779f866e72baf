"""What automation would decide about partitions, for people: the same reading and the same decision, and nothing is asked for.

An instant other than the present answers "what would it do then, were the cells as they are now".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from partita.assets import AssetKey
from partita.assets.conditions import Part
from partita.core.automation.assumed import State, assumed
from partita.core.automation.judge import Verdict, condition_of_step, tree_of
from partita.core.automation.members import verdicts
from partita.core.automation.reading import read_candidates, step_cells
from partita.core.automation.timing import next_look
from partita.core.catalog import Catalog
from partita.core.planner.values import Reason
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, CellRef


@dataclass(frozen=True, slots=True)
class Told:
    """What becomes of one partition. `asked_before`: it holds, and this very state has asked already: it asks no more.
    `waits_for` is the cell above it that is being made; `owned`: a task of its own is open."""

    partition: str
    verdict: Verdict
    tree: Part
    reason: Reason | None
    asked_before: bool
    owned: bool
    waits_for: CellRef | None


def tell(
    tx: Tx,
    catalog: Catalog,
    key: AssetKey,
    ordinals: Iterable[int],
    now: datetime,
    given: Mapping[AssetId, State] | None = None,
) -> list[Told]:
    """Decide about these partitions of an asset as automation would; `given` says which assets to take as in another state."""
    asset = catalog.asset(key)
    step = step_cells(catalog, now, asset.step, ordinals)
    owners = tx.open_owners(sorted(ref for cells in step.cells.values() for ref in cells))
    found = []
    for one in read_candidates(tx, catalog, now, [step]):
        cell = next(cell for cell in one.consumer.cells if cell.asset_id == asset.id)
        world = replace(one.world, asked=set())  # each partition by itself
        apart = replace(one, world=assumed(world, [*one.above, *one.consumer.cells], given or {}, now))
        judged = verdicts(apart, {})[cell]
        consumer = next((member for member in one.members if member.cells == (cell,)), one.consumer)
        cells, asks = consumer.cells, judged.verdict is Verdict.ASK
        waits = judged.verdict is Verdict.WAIT
        found.append(
            Told(
                partition=cells[0].partition,
                verdict=judged.verdict,
                tree=tree_of(consumer, one.inputs, apart.world),
                reason=judged.reason if asks else None,
                asked_before=asks and bool(tx.known_requests(dict.fromkeys(cells, judged.state))),
                owned=any(cell in owners for cell in cells),
                waits_for=next((ref for ref in one.above if ref in apart.world.under_way), None) if waits else None,
            )
        )
    return found


def next_looks(catalog: Catalog, key: AssetKey, after: datetime, count: int) -> list[datetime]:
    """The next instants at which time may make the condition of an asset true; fewer when there are no more."""
    asset = catalog.asset(key)
    condition = condition_of_step(catalog, asset.step)
    found: list[datetime] = []
    while len(found) < count:
        following = next_look(catalog, asset, condition, found[-1] if found else after)
        if following is None:
            break
        found.append(following)
    return found
