"""Which of the targets are planned, for which reason, and which cannot run. Pure, given the statuses.

Steps are taken in topological order, so that what an upstream will do is known. A target is planned when its mode asks for
it, or when an upstream is planned and the mode follows; it is blocked when it needs a partition that does not exist, or
one that is missing and not planned. The members of an atomic group are planned together. Minimal: nothing else is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey
from partita.core.catalog import Catalog, CatalogAsset, CatalogInput, set_of
from partita.core.catalog.edges import Bools, EdgeMap, in_order
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.planner.targets import Targets, follows, wanted
from partita.core.planner.values import Blocked, Reason

Reasons = npt.NDArray[np.uint8]
REASONS = tuple(Reason)
_CELLS_NAMED = 100  # of more blocked cells nobody is told which partitions they miss
_KEYS_NAMED = 3
_CODE = {reason: index + 1 for index, reason in enumerate(REASONS)}


def reason_code(reason: Reason) -> int:
    """The number of a reason in `Choice.reason`."""
    return _CODE[reason]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The planned cells of one asset: `run` as a mask, the reason of each as an index + 1 into REASONS (0: not planned),
    and those that run only if an upstream changes."""

    run: Bools
    reason: Reasons
    conditional: Bools


@dataclass(slots=True)
class Decided:
    """`choices` in topological order of steps; assets without planned cells are left out."""

    choices: dict[AssetKey, Choice] = field(default_factory=dict)
    blocked: list[Blocked] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Own:
    """One self-dependency of a step."""

    edge: EdgeMap
    draft: _Draft
    input: CatalogInput


@dataclass(slots=True)
class _Draft:
    """One member of a step while its step is decided."""

    asset: CatalogAsset
    status: AssetStatus
    asked: Bools
    """Wanted by the mode."""
    may: Bools
    """Planned when an upstream is."""
    follows: Bools
    """Planned because an upstream is."""
    surely: Bools
    """Of these, the ones whose inputs will change whatever comes out: a missing upstream is made."""


def decide(catalog: Catalog, statuses: Statuses, targets: Targets) -> Decided:
    """Choose the cells of a plan."""
    decided = Decided()
    refused: dict[AssetKey, Bools] = {}
    asked_for = {**targets.added, **targets.cells}.keys()
    statuses.prefetch(asked_for, ancestors=False)
    for members in catalog.steps.values():
        if any(asset.key in asked_for for asset in members):
            _decide_step(statuses, targets, members, decided, refused)
    return decided


def _decide_step(
    statuses: Statuses,
    targets: Targets,
    members: Sequence[CatalogAsset],
    decided: Decided,
    refused: dict[AssetKey, Bools],
) -> None:
    drafts = [_draft(statuses, targets, asset, decided) for asset in members]
    run = np.logical_or.reduce([draft.asked | draft.follows for draft in drafts])
    may = np.logical_or.reduce([draft.may for draft in drafts])
    if not run.any():
        return
    inside = {asset.key for asset in members}
    blocked: list[tuple[AssetKey, Bools, str, CatalogInput]] = []
    for draft in drafts:
        for one in draft.asset.inputs:
            if one.upstream not in inside:
                blocked += [
                    (draft.asset.key, *what) for what in _missing_above(statuses, draft.asset, one, decided, refused)
                ]
    stopped = np.logical_or.reduce([mask for _, mask, _, _ in blocked] or [np.zeros(len(run), dtype=np.bool_)])
    if any(asset.unresolved for asset in members):
        _block_unloaded(members, run, decided)
        stopped = np.ones(len(run), dtype=np.bool_)
    own = [
        _Own(statuses.edge(draft.asset, one), draft, one)
        for draft in drafts
        for one in draft.asset.inputs
        if one.upstream == draft.asset.key
    ]
    if own:
        ends = _along(own, run, may, stopped)
        blocked += [
            (mine.draft.asset.key, mask, "upstream_missing", mine.input) for mine, mask in zip(own, ends, strict=True)
        ]
    for key, mask, reason, one in blocked:
        _note_blocked(statuses, decided, key, mask & run, reason, one)
    for draft in drafts:
        refused[draft.asset.key] = run & stopped
    run &= ~stopped
    if run.any():
        for draft in drafts:
            decided.choices[draft.asset.key] = _choice(draft, run, alone=len(drafts) == 1)


def _draft(statuses: Statuses, targets: Targets, asset: CatalogAsset, decided: Decided) -> _Draft:
    status = statuses.direct(asset.key)
    none = np.zeros(status.space.size, dtype=np.bool_)
    selected = targets.cells.get(asset.key, none)
    added = targets.added.get(asset.key, none)
    more = targets.mode_of_added()
    asked = (selected & wanted(status, targets.mode)) | (added & wanted(status, more))
    may = none.copy()
    if follows(targets.mode):
        may |= selected
    if follows(more):
        may |= added
    changed, surely = none.copy(), none.copy()
    for one in asset.inputs:
        above = decided.choices.get(one.upstream)
        if above is None or one.upstream == asset.key:
            continue
        edge = statuses.edge(asset, one)
        changed |= edge.any(above.run)
        surely |= edge.any(above.run & statuses.direct(one.upstream).missing)
    return _Draft(asset, status, asked, may, changed & may, surely)


def _missing_above(
    statuses: Statuses, asset: CatalogAsset, one: CatalogInput, decided: Decided, refused: dict[AssetKey, Bools]
) -> Iterator[tuple[Bools, str, CatalogInput]]:
    edge = statuses.edge(asset, one)
    if edge.absent.any():
        yield edge.absent, "upstream_absent", one
    gone = ~statuses.present(one)
    above = decided.choices.get(one.upstream)
    if above is not None:
        gone &= ~above.run
    if not gone.any():
        return
    stopped = refused.get(one.upstream, np.zeros(len(gone), dtype=np.bool_))
    by_blocked = edge.any(gone & stopped)
    if by_blocked.any():
        yield by_blocked, "upstream_blocked", one
    rest = gone & ~stopped
    under_way = edge.any(rest & statuses.direct(one.upstream).open) & ~by_blocked
    if under_way.any():
        yield under_way, "upstream_in_progress", one
    missing = edge.any(rest) & ~by_blocked & ~under_way
    if missing.any():
        yield missing, "upstream_missing", one


def _along(own: Sequence[_Own], run: Bools, may: Bools, stopped: Bools) -> list[Bools]:
    """Decide self-dependencies in order: earlier partitions first. Changes the masks; returns what each one blocks."""
    ends = [np.zeros(len(run), dtype=np.bool_) for _ in own]
    there = [mine.draft.status.held.published | mine.draft.status.skipped for mine in own]
    for ordinal in in_order([mine.edge for mine in own], run | may):
        for mine, held, blocks in zip(own, there, ends, strict=True):
            before = [slice(start, stop) for start, stop in mine.edge.ranges_of(ordinal)]
            live = [run[part] & ~stopped[part] for part in before]
            if may[ordinal] and any(part.any() for part in live):
                run[ordinal] = mine.draft.follows[ordinal] = True
                published = mine.draft.status.held.published
                mine.draft.surely[ordinal] |= any(
                    (made & ~published[part]).any() for made, part in zip(live, before, strict=True)
                )
            if run[ordinal] and any((~held[part] & ~made).any() for made, part in zip(live, before, strict=True)):
                blocks[ordinal] = stopped[ordinal] = True
    return ends


def _choice(draft: _Draft, run: Bools, *, alone: bool) -> Choice:
    """The reasons of one member. A member that is fresh runs because its group does."""
    status = draft.status
    reason = np.zeros(len(run), dtype=np.uint8)
    reason[run] = _CODE[Reason.FORCED]
    followed = run & draft.follows
    reason[followed] = _CODE[Reason.STALE_DATA]
    for why, mask in (
        (Reason.STALE_DATA, status.stale_data),
        (Reason.STALE_DEPENDENCIES, status.stale_dependencies),
        (Reason.STALE_CODE, status.stale_code),
        (Reason.MISSING, status.missing),
        (Reason.FAILED, status.failed),
    ):
        reason[run & mask] = _CODE[why]
    conditional = followed & ~draft.asked & ~draft.surely
    if not alone:
        conditional &= ~(status.missing | status.stale | status.failed)
    return Choice(run.copy(), reason, conditional)


def _note_blocked(
    statuses: Statuses, decided: Decided, key: AssetKey, mask: Bools, reason: str, one: CatalogInput
) -> None:
    if not mask.any():
        return
    absent: tuple[str, ...] = ()
    if reason == "upstream_absent":
        edge = statuses.edge(statuses.catalog.assets[key], one)
        absent = edge.mapped(int(np.flatnonzero(mask)[0])).absent
    elif reason == "upstream_missing" and one.upstream != key:
        absent = _missing_keys(statuses, decided, key, mask, one)
    decided.blocked.append(Blocked(key, set_of(mask), reason, one.upstream, absent))


def _missing_keys(
    statuses: Statuses, decided: Decided, key: AssetKey, mask: Bools, one: CatalogInput
) -> tuple[str, ...]:
    """The partitions of the upstream that keep these cells from running, when they are few; else none."""
    ordinals = np.flatnonzero(mask)
    if len(ordinals) > _CELLS_NAMED:
        return ()
    gone = ~statuses.present(one)
    above = decided.choices.get(one.upstream)
    if above is not None:
        gone &= ~above.run
    edge = statuses.edge(statuses.catalog.assets[key], one)
    needed = np.zeros(len(gone), dtype=np.bool_)
    for ordinal in ordinals:
        for part in edge.ranges_of(int(ordinal)):
            needed[slice(*part)] = True
    found = np.flatnonzero(gone & needed)
    if len(found) > _KEYS_NAMED:
        return ()
    space = statuses.direct(one.upstream).space
    return tuple(name for name in (str(space.key_at(int(at))) for at in found) if name)


def _block_unloaded(members: Sequence[CatalogAsset], run: Bools, decided: Decided) -> None:
    for asset in members:
        for one in asset.unresolved:
            decided.blocked.append(Blocked(asset.key, set_of(run), "upstream_unloaded", one.upstream))
