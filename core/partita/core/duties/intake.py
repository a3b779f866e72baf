"""Reports of producers outside partita, taken in: all of a batch or nothing, in one transaction of few statements.

Owns that a report is recorded in the commit that observes it, so that none is lost and none counts twice, however often and
through however many processes it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.assets import PartitaError
from partita.core.decide import intake as decide
from partita.core.decide.intake import MOST_AT_ONCE, Answer, Report, ReportRefused
from partita.core.decide.observe import Observation
from partita.core.duties.channels import Channel
from partita.core.duties.observe import observe_in
from partita.core.store.port import Conflict, Store, Tx
from partita.core.store.values import AssetId

_TRIES = 20
_FORGOTTEN_AT_ONCE = 5_000

ObservationOf = Callable[[Report, datetime], Observation]
"""What a report says, as a fact about a cell at an instant; raises PartitaError when there is no such cell."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """`answers` stand in the order of the reports; `news` of them were not known before."""

    answers: tuple[Answer, ...]
    news: int
    channels: tuple[Channel, ...] = ()


class _Raced(Exception):
    """Somebody reported one of the same keys meanwhile: start over, and find it known. Rolls back."""


def take_in(
    store: Store,
    reports: Sequence[Report],
    observation_of: ObservationOf,
    *,
    by: str,
    followed: Collection[AssetId],
    told: Mapping[str, str] = {},
) -> TakenIn:
    """`told` stands in the events.

    Raises ReportRefused, ReportContradicts, and what `observation_of` raises, with the report named: nothing was taken."""
    if not 0 < len(reports) <= MOST_AT_ONCE:
        raise ReportRefused(
            f"{len(reports):,} events at once", rule=f"a batch has 1 to {MOST_AT_ONCE:,}", fix="send several batches"
        )
    for at, report in enumerate(reports):
        try:
            decide.check(report)
        except PartitaError as error:
            raise _named(error, at, reports, 1) from error
    for _ in range(_TRIES):
        try:
            return store.run(lambda tx: _take_in(tx, reports, observation_of, by, followed, told))
        except _Raced:
            continue
    raise Conflict("the keys of these reports were taken and forgotten again and again meanwhile")


def _take_in(
    tx: Tx,
    reports: Sequence[Report],
    observation_of: ObservationOf,
    by: str,
    followed: Collection[AssetId],
    told: Mapping[str, str],
) -> TakenIn:
    now = tx.now()
    keys = {report.key for report in reports if report.key is not None}
    found = decide.sort_out(reports, tx.read_reports(keys))
    observations: dict[int, Observation] = {}
    bad: list[tuple[int, PartitaError]] = []
    for at, report in found.news.items():
        try:
            observations[at] = observation_of(report, now)
        except PartitaError as error:
            bad.append((at, error))
    if bad:
        at, first = bad[0]
        raise _named(first, at, reports, len(bad)) from first
    seen = observe_in(tx, list(observations.values()), by=by, followed=followed, told=told)
    answers = decide.answers_of(found.news, {at: one.cell for at, one in observations.items()}, seen.moved, now)
    kept = decide.known_of(found.news, answers, now)
    if len(tx.insert_reports(kept)) < len(kept):
        raise _Raced
    everything = {**found.known, **answers}
    everything.update({at: everything[first] for at, first in found.repeats.items()})
    return TakenIn(tuple(everything[at] for at in range(len(reports))), len(found.news), seen.channels)


def forget_reports(store: Store) -> bool:
    """Forgets the keys whose time is over; True when there may be more."""
    forgotten = store.run(lambda tx: tx.forget_reports(_FORGOTTEN_AT_ONCE), durable=False)
    return forgotten == _FORGOTTEN_AT_ONCE


def _named(error: PartitaError, at: int, reports: Sequence[Report], bad: int) -> PartitaError:
    """The error as one of the whole batch: its kind stays, so that it is answered as such."""
    if len(reports) == 1:
        return error if reports[0].asset in error.what else _again(error, f"{reports[0].asset}: {error.what}")
    more = f" ({bad - 1} more cannot be taken either)" if bad > 1 else ""
    what = f"event {at + 1} of {len(reports)} ({reports[at]}): {error.what}{more}; nothing of the batch was taken"
    return _again(error, what)


def _again(error: PartitaError, what: str) -> PartitaError:
    return type(error)(what, rule=error.rule, fix=error.fix)
