"""One policy: which cells it is about, and what is said of them. Pure, given the row, the definition and the facts.

A window is there when all its cells are, of every other dimension; data of a newer window is as good. A cell that an attempt
chose to leave empty is there, too: that is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from partita.assets import FreshnessSpec, PartitionSpace
from partita.core.automation.timing import time_of
from partita.core.catalog import CatalogAsset
from partita.core.catalog.names import names_of
from partita.core.decide.freshness import Answer, Known, Verdict, judge
from partita.core.freshness.dues import Due, dues, next_due, window_cells
from partita.core.store.values import CellFact, CellRef
from partita.core.store.values_freshness import Freshness, FreshState

_WINDOWS = 64  # that one look reads of an asset: those that are due, and newer ones
_CELLS = 4_096

Facts = Mapping[CellRef, CellFact]


@dataclass(frozen=True, slots=True)
class Asked:
    """One policy with what is due by it, oldest first, and the cells of the windows that it is about."""

    row: Freshness
    asset: CatalogAsset
    policy: FreshnessSpec
    space: PartitionSpace
    dues: tuple[Due, ...]
    windows: Mapping[int | None, tuple[CellRef, ...]]

    @property
    def by_age(self) -> bool:
        """By lag and without windows: due so long after it was made last."""
        return self.policy.by is None and time_of(self.space) is None

    def cells(self) -> set[CellRef]:
        return {cell for cells in self.windows.values() for cell in cells}


@dataclass(frozen=True, slots=True)
class Found:
    """The verdict on one policy, up to when there is data, and the first cell that is not there of one that is late."""

    asked: Asked
    verdict: Verdict
    fresh_to: datetime | None
    awaited: CellRef | None
    next_due_at: datetime | None


def question(asset: CatalogAsset, policy: FreshnessSpec, space: PartitionSpace, row: Freshness, now: datetime) -> Asked:
    """What has to be read to judge a policy."""
    if time_of(space) is None and policy.max_lag_s is not None:
        start = max(row.fresh_to or row.since, row.since)  # what was old when the policy began has its time, too
        due = [Due(start + timedelta(seconds=policy.max_lag_s), start, None)]
    else:
        due = dues(policy, space, row.looked_at, now)[-_WINDOWS:]
    return Asked(row, asset, policy, space, tuple(due), _windows(asset, space, due))


def verdict_on(asked: Asked, facts: Facts, now: datetime) -> Found:
    """Whether the policy is kept."""
    row = asked.row
    known = Known(row.state, row.state_since, row.since)
    came = {window: _came_at(window, cells, facts, row, now) for window, cells in asked.windows.items()}
    if asked.by_age:
        return _by_age(asked, known, came.get(None), facts, now)
    verdict = judge(known, [_answer(one, came, row, now) for one in asked.dues], now)
    late = verdict.state is FreshState.LATE
    return Found(
        asked,
        verdict,
        _fresh_to(asked, came),
        _first_missing(asked.windows[asked.dues[-1].window], facts) if late else None,
        next_due(asked.policy, asked.space, now),
    )


def _came_at(
    window: int | None, cells: Sequence[CellRef], facts: Facts, row: Freshness, now: datetime
) -> datetime | None:
    """When the last of these cells came; None while one is missing, or there is none. A window is there from when its version
    came, what has no windows is as young as its last confirmation."""
    if not cells or _first_missing(cells, facts) is not None:
        return None
    # When an attempt chose to make nothing is not known here: it was between the last look and this one.
    unknown = now if row.state is FreshState.LATE else row.looked_at or row.since
    found = [facts[cell] for cell in cells]
    return max((fact.published_at if window is None else fact.version_at) or unknown for fact in found)


def last_cell(cells: Sequence[CellRef], facts: Facts) -> CellRef | None:
    """The cell that everything waited for: one that is missing, else the one that came last."""
    missing = _first_missing(cells, facts)
    if missing is not None or not cells:
        return missing
    at = {cell: facts[cell].published_at for cell in cells}
    return max((cell for cell in cells if at[cell] is not None), key=lambda cell: (at[cell], cell), default=cells[0])


def _answer(due: Due, came: Mapping[int | None, datetime | None], row: Freshness, now: datetime) -> Answer:
    if due.window is None:
        at = came.get(None)
        met = at if at is not None and at >= due.counts_from else None
    else:
        newer = [at for window, at in came.items() if at is not None and window is not None and window >= due.window]
        met = min(newer, default=None)
    if row.state is FreshState.FRESH and row.looked_at is not None and due.at <= row.looked_at:
        # It was there when it was looked at: made again since, it is not late; wiped since, it is from now on.
        return Answer(due.at, due.at) if met is not None else Answer(now, None)
    return Answer(due.at, met)


def _by_age(asked: Asked, known: Known, made: datetime | None, facts: Facts, now: datetime) -> Found:
    lag = timedelta(seconds=asked.policy.max_lag_s or 0.0)
    before = [one.at for one in asked.dues if one.at <= now]
    answers = [Answer(at, made) for at in before if made is None or made > at]
    if made is not None:
        answers.append(Answer(made, made))
        if max(made, known.since) + lag <= now:
            answers.append(Answer(max(made, known.since) + lag, None))
    cells = asked.windows[None]
    verdict = judge(known, answers, now)
    due_at = max(made or known.since, known.since) + lag
    late = verdict.state is FreshState.LATE
    awaited = (_first_missing(cells, facts) or _oldest(cells, facts)) if late else None
    return Found(asked, verdict, made, awaited, due_at if due_at > now else None)


def _windows(asset: CatalogAsset, space: PartitionSpace, due: Sequence[Due]) -> dict[int | None, tuple[CellRef, ...]]:
    """The cells of the windows that are due, and of the newer ones."""
    names = names_of(space)
    inner = time_of(space)
    wanted: list[int | None] = [] if inner is not None else [None]
    if inner is not None and due:
        first = due[0].window or 0
        wanted = list(range(first, inner.size)) if inner.size - first <= 2 * _WINDOWS else [one.window for one in due]
    return {
        window: tuple(CellRef(asset.id, names.key(at)) for at in list(window_cells(space, window))[:_CELLS])
        for window in wanted
    }


def _fresh_to(asked: Asked, came: Mapping[int | None, datetime | None]) -> datetime | None:
    inner = time_of(asked.space)
    if inner is None:
        return came.get(None) or asked.row.fresh_to
    there = [window for window, at in came.items() if at is not None and window is not None]
    found = [inner.window_at(max(there)).end] if there else []
    return max([*found, *([] if asked.row.fresh_to is None else [asked.row.fresh_to])], default=None)


def _first_missing(cells: Sequence[CellRef], facts: Facts) -> CellRef | None:
    return next((cell for cell in cells if not _there(facts.get(cell))), None)


def _oldest(cells: Sequence[CellRef], facts: Facts) -> CellRef | None:
    made = [(at, cell) for cell in cells if (at := facts[cell].published_at) is not None]
    return min(made)[1] if made else None


def _there(fact: CellFact | None) -> bool:
    return fact is not None and (fact.data_version is not None or fact.last_outcome == "skipped")
