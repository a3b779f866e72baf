"""What a decision of automation reads: inputs resolved, owners, cells, clocks, for many partitions of many steps at once.

The same reading serves the visits that ask and the people who want to know why nothing was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from partita.assets import AssetKey, CellSpec, DepSpec, NodeSpec
from partita.assets.conditions import nodes_of
from partita.core.automation.judge import condition_of_step
from partita.core.automation.timing import StepTimes
from partita.core.automation.values import deciding, subject_of
from partita.core.automation.view import Consumer, World, upstream_of_cell
from partita.core.catalog import Catalog, CatalogAsset, StepKey, resolve_inputs
from partita.core.catalog.names import names_of
from partita.core.duties.values_attempts import ResolvedInputs
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, CellRef
from partita.core.store.values_freshness import FreshState


@dataclass(frozen=True, slots=True)
class StepCells:
    """The candidates of one step: per ordinal its cells."""

    key: StepKey
    cells: Mapping[int, tuple[CellRef, ...]]

    def only(self, ordinals: Collection[int]) -> StepCells:
        return StepCells(self.key, {at: cells for at, cells in self.cells.items() if at in ordinals})


def is_apart(catalog: Catalog, key: StepKey) -> bool:
    """Whether the members of a step are asked for each by itself."""
    members = catalog.steps[key]
    return len(members) > 1 and members[0].spec.subsettable


def step_cells(catalog: Catalog, now: datetime, key: StepKey, ordinals: Iterable[int]) -> StepCells:
    """The cells of these partitions of a step."""
    members = catalog.steps[key]
    names = names_of(catalog.space(members[0].key, now))
    return StepCells(key, {at: tuple(CellRef(asset.id, names.key(at)) for asset in members) for at in ordinals})


@dataclass(frozen=True, slots=True)
class Candidate:
    """One partition of a step with all that its decision needs. `above` are the cells that it reads. The world is shared by all
    candidates of a reading: who asks for one adds its cells to `world.asked` before going on to the next. `members` has the
    cells of a subsettable group one by one; of others it is empty."""

    step: StepCells
    at: int
    consumer: Consumer
    inputs: ResolvedInputs
    world: World
    above: Sequence[CellRef]
    members: Sequence[Consumer]


def read_candidates(
    tx: Tx, catalog: Catalog, now: datetime, steps: Sequence[StepCells], *, regardless: bool = False
) -> Iterator[Candidate]:
    """The candidates in topological order; all is read before the first. `regardless` of upstreams that are under way."""
    resolved: dict[StepKey, ResolvedInputs] = {}
    above: dict[StepKey, dict[int, list[CellRef]]] = {}
    for step in steps:
        with deciding(subject_of(catalog, step.key)):
            inputs = resolved[step.key] = _resolve(catalog, now, step)
            above[step.key] = {
                at: [ref for cell in cells for ref in upstream_of_cell(inputs, cell, _beside(catalog, step.key, cells))]
                for at, cells in step.cells.items()
            }
    every = {ref for found in above.values() for refs in found.values() for ref in refs}
    # Ownership first: whatever ends between the two statements brings an event of its own.
    under_way = {} if regardless else tx.open_owners(sorted(every))
    own = {ref for step in steps for cells in step.cells.values() for ref in cells}
    facts = tx.read_cells(sorted(every | own))
    words = {step.key: _words(condition_of_step(catalog, step.key)) for step in steps}
    world = World(
        facts,
        under_way.keys(),
        set(),
        lambda asset_id: catalog.by_id[asset_id].key,
        *_judgements(tx, steps, above, words),
        _began(tx, steps, words),
    )
    clocks = tx.clocks_of([asset.id for step in steps for asset in catalog.steps[step.key] if asset.timed])
    for step in steps:
        with deciding(subject_of(catalog, step.key)):
            condition = condition_of_step(catalog, step.key)
            times = StepTimes(catalog, step.key, now, clocks)
            consumers = [
                (at, Consumer(cells, condition, _absent(catalog, now, _assets(catalog, cells), at), times.of(at)))
                for at, cells in step.cells.items()
            ]
        if any(asset.keeps_latest for asset in catalog.steps[step.key]):
            consumers.reverse()  # the newest first: the older ones go by what becomes of it
        for at, consumer in consumers:
            members = _one_by_one(catalog, now, step.key, at, consumer)
            yield Candidate(step, at, consumer, resolved[step.key], world, above[step.key][at], members)


def _one_by_one(catalog: Catalog, now: datetime, key: StepKey, at: int, whole: Consumer) -> list[Consumer]:
    if not is_apart(catalog, key):
        return []
    group = frozenset(asset.id for asset in catalog.steps[key])
    return [
        replace(whole, cells=(cell,), absent=_absent(catalog, now, _assets(catalog, [cell]), at), group=group)
        for cell in whole.cells
    ]


def _assets(catalog: Catalog, cells: Iterable[CellRef]) -> list[CatalogAsset]:
    return [catalog.by_id[cell.asset_id] for cell in cells]


def _words(condition: NodeSpec) -> tuple[set[str], set[str]]:
    """The words about the cell itself, and about what it reads."""
    nodes = list(nodes_of(condition))
    return {one.is_ for one in nodes if isinstance(one, CellSpec)}, {
        one.is_ for one in nodes if isinstance(one, DepSpec)
    }


def _judgements(
    tx: Tx,
    steps: Sequence[StepCells],
    above: Mapping[StepKey, Mapping[int, Sequence[CellRef]]],
    words: Mapping[StepKey, tuple[set[str], set[str]]],
) -> tuple[dict[CellRef, datetime], dict[AssetId, datetime]]:
    """Checks that did not pass, and assets that are late, of those that a condition asks about: most ask about neither."""

    def asked(word: str) -> set[CellRef]:
        own = {ref for step in steps if word in words[step.key][0] for refs in step.cells.values() for ref in refs}
        return own | {
            ref for step in steps if word in words[step.key][1] for refs in above[step.key].values() for ref in refs
        }

    checked, timed = asked("check_failed"), {ref.asset_id for ref in asked("late")}
    policies = tx.freshness_of(sorted(timed)) if timed else {}
    late = {key: one.state_since for key, one in policies.items() if one.state is FreshState.LATE}
    return tx.failed_checks(sorted(checked)) if checked else {}, late


def _began(
    tx: Tx, steps: Sequence[StepCells], words: Mapping[StepKey, tuple[set[str], set[str]]]
) -> dict[CellRef, datetime]:
    """When the attempts began that made the cells of which a condition asks whether something moved since."""
    cells = {ref for step in steps if "updated" in words[step.key][1] for refs in step.cells.values() for ref in refs}
    return tx.read_began(sorted(cells)) if cells else {}


def _resolve(catalog: Catalog, now: datetime, step: StepCells) -> ResolvedInputs:
    return resolve_inputs(catalog, now, [cell for cells in step.cells.values() for cell in cells])


def _absent(catalog: Catalog, now: datetime, members: Sequence[CatalogAsset], at: int) -> list[AssetKey]:
    """The upstream assets of which a partition needs what does not exist."""
    return [one.upstream for asset in members for one in asset.unresolved] + [
        one.upstream
        for asset in members
        for one in asset.inputs
        if one.upstream != asset.key and catalog.edge(asset.key, one, now).absent[at]
    ]


def _beside(catalog: Catalog, key: StepKey, cells: Sequence[CellRef]) -> set[AssetId]:
    """The assets that are made together with these cells: what they read of each other is not above them."""
    return set() if is_apart(catalog, key) else {cell.asset_id for cell in cells}
