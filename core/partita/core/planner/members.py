"""Which members of a subsettable group run where: masks over the partitions that the members share. Pure arithmetic.

Each member is decided like an asset of its own, with one rule more: a member that is missing, and that another member which
runs reads inside the group, is made too, wherever any member of the group was chosen. Never beyond: a partition of the group
that nobody chose stays as it is, and what reads it is blocked. Knows nothing of modes and of what lies above the group
(`decide.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.core.catalog.edges import Bools, EdgeMap, in_order


@dataclass(frozen=True, slots=True)
class Member:
    """What is known of one member before its siblings are looked at; masks are for reading."""

    asked: Bools
    may: Bools
    """Planned when something that it reads is."""
    follows: Bools
    """Planned because something above the group is."""
    surely: Bools
    """Of these, the ones whose inputs will change whatever comes out."""
    published: Bools
    there: Bools
    """Published or skipped: whoever reads it finds what there is to find."""
    stopped: Bools
    """Kept from running by what is above the group."""


@dataclass(frozen=True, slots=True)
class Read:
    """What one member reads inside its group, itself or another; members by position."""

    reader: int
    read: int
    edge: EdgeMap


@dataclass(frozen=True, slots=True)
class Settled:
    """Per member what it would make (`run`) and what of it cannot be made (`stopped`); per read the cells that it stops."""

    run: tuple[Bools, ...]
    follows: tuple[Bools, ...]
    surely: tuple[Bools, ...]
    stopped: tuple[Bools, ...]
    ends: tuple[Bools, ...]
    included: tuple[Bools, ...]
    """Of `run`, the ones that are there for their siblings only."""


def settle(members: Sequence[Member], reads: Sequence[Read], reach: Bools) -> Settled:
    """Decide the members of a group together. `reach` are the partitions in which any of them was chosen.

    Minimal: what is made for a sibling which cannot run after all is not made.
    """
    idle = [np.zeros(len(reach), dtype=np.bool_) for _ in members]
    while True:
        settled = _with_what_is_read(members, reads, [reach & ~one for one in idle])
        live = [run & ~stopped for run, stopped in zip(settled.run, settled.stopped, strict=True)]
        useful = _read_by(live, reads)
        vain = [made & ~used for made, used in zip(settled.included, useful, strict=True)]
        if not any(one.any() for one in vain):
            return settled
        # From the start again, without them: nothing may stay that ran only because of them.
        idle = [one | more for one, more in zip(idle, vain, strict=True)]


def _with_what_is_read(members: Sequence[Member], reads: Sequence[Read], allowed: Sequence[Bools]) -> Settled:
    """The least masks that are closed under reading inside the group."""
    included = [np.zeros(len(one), dtype=np.bool_) for one in allowed]
    while True:
        settled = _forward(members, reads, included)
        runs = [run & ~member.stopped for run, member in zip(settled.run, members, strict=True)]
        wanted = [
            read & room & ~member.there & ~run
            for read, room, member, run in zip(_read_by(runs, reads), allowed, members, settled.run, strict=True)
        ]
        if not any(one.any() for one in wanted):
            return settled
        included = [one | more for one, more in zip(included, wanted, strict=True)]


def _read_by(runs: Sequence[Bools], reads: Sequence[Read]) -> list[Bools]:
    """Per member the cells that another member reads where it runs."""
    found = [np.zeros(len(one), dtype=np.bool_) for one in runs]
    for one in reads:
        if one.reader != one.read:
            found[one.read] |= one.edge.needed(runs[one.reader])
    return found


def _forward(members: Sequence[Member], reads: Sequence[Read], included: Sequence[Bools]) -> Settled:
    """Follow and stop along the reads, earlier partitions first and within one partition the members in their order."""
    asked = [member.asked | more for member, more in zip(members, included, strict=True)]
    settled = Settled(
        run=tuple(one | member.follows for one, member in zip(asked, members, strict=True)),
        follows=tuple(member.follows.copy() for member in members),
        surely=tuple(member.surely.copy() for member in members),
        stopped=tuple(member.stopped.copy() for member in members),
        ends=tuple(np.zeros(len(asked[0]), dtype=np.bool_) for _ in reads),
        included=tuple(included),
    )
    if not reads:
        return settled
    own = {at: [(n, one) for n, one in enumerate(reads) if one.reader == at] for at in range(len(members))}
    chosen = np.logical_or.reduce([run | member.may for run, member in zip(settled.run, members, strict=True)])
    for ordinal in _ordered(reads, chosen):
        for at, found in own.items():
            if found:
                _judge(ordinal, at, found, members, settled)
    return settled


def _judge(
    ordinal: int, at: int, reads: Sequence[tuple[int, Read]], members: Sequence[Member], settled: Settled
) -> None:
    """One cell: does it follow what it reads, and can it? Changes the masks."""
    above = [(n, one.read, slice(*part)) for n, one in reads for part in one.edge.ranges_of(ordinal)]
    live = [settled.run[read][part] & ~settled.stopped[read][part] for _, read, part in above]
    if members[at].may[ordinal] and any(made.any() for made in live):
        settled.run[at][ordinal] = settled.follows[at][ordinal] = True
        settled.surely[at][ordinal] |= any(
            (made & ~members[read].published[part]).any() for made, (_, read, part) in zip(live, above, strict=True)
        )
    if not settled.run[at][ordinal]:
        return
    for made, (n, read, part) in zip(live, above, strict=True):
        if (~members[read].there[part] & ~made).any():
            settled.ends[n][ordinal] = settled.stopped[at][ordinal] = True


def _ordered(reads: Sequence[Read], chosen: Bools) -> list[int]:
    earlier = [one.edge for one in reads if not one.edge.same]
    return in_order(earlier, chosen) if earlier else np.flatnonzero(chosen).tolist()
