"""Which of the targets are planned, for which reason, and which cannot run. Pure, given the statuses.

Steps are taken in topological order, so that what an upstream will do is known. A target is planned when its mode asks for
it, or when an upstream is planned and the mode follows; it is blocked when it needs a partition that does not exist, or
one that is missing and not planned. The members of an atomic group are planned together, those of a subsettable one each by
itself (`members.py`). Minimal: nothing else is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from partita.assets import AssetKey
from partita.core.catalog import Catalog, CatalogAsset, CatalogInput, set_of
from partita.core.catalog.edges import Bools, EdgeMap, in_order, nothing
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.planner.choices import Decided, Deciding, choose, either
from partita.core.planner.decide_stack import decide_stack
from partita.core.planner.members import Member, Read, settle
from partita.core.planner.stacks import in_waves
from partita.core.planner.targets import Targets, follows, wanted
from partita.core.planner.values import Blocked

_Block = tuple[AssetKey, Bools, str, CatalogInput]
"""Cells of an asset that cannot run, why, and the input that it is about."""
_CELLS_NAMED = 100  # of more blocked cells nobody is told which partitions they miss
_KEYS_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Own:
    """One self-dependency of a step."""

    edge: EdgeMap
    draft: _Draft
    input: CatalogInput


@dataclass(slots=True)
class _Draft:
    """One member of a step while its step is decided. Where the step reads earlier partitions of itself, `_along` adds to
    `follows` and `surely`; else they may be masks of others."""

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
    deciding = Deciding(statuses, targets, Decided())
    asked_for = {**targets.added, **targets.cells}.keys()
    statuses.prefetch(asked_for, ancestors=False)
    steps = catalog.steps_of(asked_for)
    for wave in in_waves(statuses, steps):
        for stack in wave.stacks:
            for asset in decide_stack(deciding, stack):
                _decide_step(deciding, (asset,))
        for members in wave.steps:
            if len(members) > 1 and members[0].spec.subsettable:
                _decide_members(deciding, members)
            else:
                _decide_step(deciding, members)
    choices = deciding.decided.choices
    deciding.decided.choices = {
        asset.key: choices[asset.key] for members in steps for asset in members if asset.key in choices
    }
    return deciding.decided


def _decide_step(deciding: Deciding, members: Sequence[CatalogAsset]) -> None:
    decided = deciding.decided
    drafts = [_draft(deciding, asset) for asset in members]
    run: Bools = drafts[0].asked | drafts[0].follows
    may = drafts[0].may
    for draft in drafts[1:]:
        run |= draft.asked
        run |= draft.follows
        may = np.logical_or(may, draft.may)
    if not run.any():
        return
    blocked, own = _upstreams(deciding, drafts)
    stopped = np.zeros(len(run), dtype=np.bool_) if blocked or own else nothing(len(run))
    for _, mask, _, _ in blocked:
        stopped |= mask
    if any(asset.unresolved for asset in members):
        _block_unloaded(members, run, decided)
        stopped = np.ones(len(run), dtype=np.bool_)
    if own:
        ends = _along(own, run, may, stopped)
        blocked += [
            (mine.draft.asset.key, mask, "upstream_missing", mine.input) for mine, mask in zip(own, ends, strict=True)
        ]
    for key, mask, reason, one in blocked:
        _note_blocked(deciding, key, mask & run, reason, one)
    if stopped is not nothing(len(run)):
        for draft in drafts:
            deciding.refused[draft.asset.key] = run & stopped
        run &= ~stopped
        if not run.any():
            return
    for draft in drafts:
        decided.choices[draft.asset.key] = choose(draft, run, alone=len(drafts) == 1)
        makes = run & draft.status.missing
        if makes.any():
            deciding.made[draft.asset.key] = makes


def _decide_members(deciding: Deciding, members: Sequence[CatalogAsset]) -> None:
    """The members of a subsettable group: each where it is needed."""
    decided = deciding.decided
    drafts = [_draft(deciding, asset) for asset in members]
    if not any((draft.asked | draft.follows).any() for draft in drafts):
        return
    blocked, _ = _upstreams(deciding, drafts)
    stopped = {draft.asset.key: np.zeros(draft.status.space.size, dtype=np.bool_) for draft in drafts}
    for key, mask, _, _ in blocked:
        stopped[key] |= mask
    for draft in drafts:
        if draft.asset.unresolved:
            stopped[draft.asset.key][:] = True
    inputs, reads = _inside(deciding, drafts)
    settled = settle([_member(draft, stopped[draft.asset.key]) for draft in drafts], reads, _reach(deciding, drafts))
    for at, draft in enumerate(drafts):
        key, run = draft.asset.key, settled.run[at]
        if draft.asset.unresolved and run.any():
            _block_unloaded([draft.asset], run, decided)
        deciding.refused[key] = run & settled.stopped[at]
        live = run & ~settled.stopped[at]
        if live.any():
            draft.asked = draft.asked | settled.included[at]
            draft.follows, draft.surely = settled.follows[at], settled.surely[at]
            decided.choices[key] = choose(draft, live, alone=True)
            deciding.made[key] = live & draft.status.missing
    runs = {draft.asset.key: run for draft, run in zip(drafts, settled.run, strict=True)}
    # Only now: which cells of a member are missing is known once all are decided.
    for key, mask, reason, one in blocked:
        _note_blocked(deciding, key, mask & runs[key], reason, one)
    for one_read, one, mask in zip(reads, inputs, settled.ends, strict=True):
        _note_blocked(deciding, drafts[one_read.reader].asset.key, mask, "upstream_missing", one)


def _inside(deciding: Deciding, drafts: Sequence[_Draft]) -> tuple[list[CatalogInput], list[Read]]:
    """What the members of a group read of each other and of themselves."""
    at = {draft.asset.key: index for index, draft in enumerate(drafts)}
    found = [
        (one, Read(reader, at[one.upstream], edge))
        for reader, draft in enumerate(drafts)
        for one, edge in deciding.statuses.links(draft.asset)
        if one.upstream in at
    ]
    return [one for one, _ in found], [read for _, read in found]


def _member(draft: _Draft, stopped: Bools) -> Member:
    status = draft.status
    published = status.held.published
    there = published | status.skipped
    return Member(draft.asked, draft.may, draft.follows, draft.surely, published, there, stopped)


def _reach(deciding: Deciding, drafts: Sequence[_Draft]) -> Bools:
    """The partitions in which any member was chosen."""
    reach = nothing(drafts[0].status.space.size)
    for cells in (deciding.targets.cells, deciding.targets.added):
        for draft in drafts:
            chosen = cells.get(draft.asset.key)
            reach = reach if chosen is None else either(reach, chosen)
    return reach


def _upstreams(deciding: Deciding, drafts: Sequence[_Draft]) -> tuple[list[_Block], list[_Own]]:
    """What the upstreams of a step keep from running, and its dependencies on itself."""
    inside = {draft.asset.key for draft in drafts}
    blocked: list[_Block] = []
    own: list[_Own] = []
    for draft in drafts:
        for one, edge in deciding.statuses.links(draft.asset):
            if one.upstream == draft.asset.key:
                own.append(_Own(edge, draft, one))
            elif one.upstream not in inside and (edge.any_absent or deciding.gone_of(one) is not None):
                blocked += [(draft.asset.key, *what) for what in _missing_above(deciding, one, edge)]
    return blocked, own


def _draft(deciding: Deciding, asset: CatalogAsset) -> _Draft:
    statuses, targets = deciding.statuses, deciding.targets
    status = statuses.direct(asset.key)
    size = status.space.size
    asked = may = changed = surely = nothing(size)
    for cells, mode in ((targets.cells, targets.mode), (targets.added, targets.mode_of_added())):
        chosen = cells.get(asset.key)
        if chosen is not None:
            asked = either(asked, chosen & wanted(status, mode))
            may = either(may, chosen) if follows(mode) else may
    own = False
    for one, edge in statuses.links(asset):
        if one.upstream == asset.key:
            own = True
        elif (above := deciding.decided.choices.get(one.upstream)) is not None:
            changed = either(changed, edge.any(above.run))
            made = deciding.made.get(one.upstream)
            if made is not None:
                surely = either(surely, edge.any(made))
    follow = changed & may if changed is not nothing(size) else changed
    if own:
        follow, surely = follow.copy(), surely.copy()
    return _Draft(asset, status, asked, may, follow, surely)


def _missing_above(deciding: Deciding, one: CatalogInput, edge: EdgeMap) -> Iterator[tuple[Bools, str, CatalogInput]]:
    if edge.any_absent:
        yield edge.absent, "upstream_absent", one
    gone = deciding.gone_of(one)
    if gone is None:
        return
    stopped = deciding.refused.get(one.upstream, nothing(len(gone)))
    by_blocked = edge.any(gone & stopped)
    if by_blocked.any():
        yield by_blocked, "upstream_blocked", one
    rest = gone & ~stopped
    under_way = edge.any(rest & (deciding.statuses.held(one.upstream).open_state > 0)) & ~by_blocked
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


def _note_blocked(deciding: Deciding, key: AssetKey, mask: Bools, reason: str, one: CatalogInput) -> None:
    if not mask.any():
        return
    absent: tuple[str, ...] = ()
    if reason == "upstream_absent":
        edge = deciding.statuses.edge(deciding.statuses.catalog.assets[key], one)
        absent = edge.mapped(int(np.flatnonzero(mask)[0])).absent
    elif reason == "upstream_missing" and one.upstream != key:
        absent = _missing_keys(deciding, key, mask, one)
    deciding.decided.blocked.append(Blocked(key, set_of(mask), reason, one.upstream, absent))


def _missing_keys(deciding: Deciding, key: AssetKey, mask: Bools, one: CatalogInput) -> tuple[str, ...]:
    """The partitions of the upstream that keep these cells from running, when they are few; else none."""
    statuses = deciding.statuses
    ordinals = np.flatnonzero(mask)
    if len(ordinals) > _CELLS_NAMED:
        return ()
    gone = deciding.gone_of(one)
    if gone is None:
        return ()
    edge = statuses.edge(statuses.catalog.assets[key], one)
    needed = np.zeros(len(gone), dtype=np.bool_)
    for ordinal in ordinals:
        for part in edge.ranges_of(int(ordinal)):
            needed[slice(*part)] = True
    found = np.flatnonzero(gone & needed)
    if len(found) > _KEYS_NAMED:
        return ()
    space = statuses.catalog.space(one.upstream, statuses.as_of)
    return tuple(name for name in (str(space.key_at(int(at))) for at in found) if name)


def _block_unloaded(members: Sequence[CatalogAsset], run: Bools, decided: Decided) -> None:
    for asset in members:
        for one in asset.unresolved:
            decided.blocked.append(Blocked(asset.key, set_of(run), "upstream_unloaded", one.upstream))
