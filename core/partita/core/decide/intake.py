"""Reports of producers outside partita: which are news, which were answered before, and which contradict an earlier one. Pure.

A report is repeated by its key: a repeat is answered as the first was and changes nothing, however much has happened since. The
same key with another content is a mistake of the producer, and is refused with both named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from partita.assets import PartitaError
from partita.assets.metadata import checked_metadata
from partita.core.store.values_ids import CellRef
from partita.core.store.values_reports import KnownReport, ReportKey

MOST_AT_ONCE = 1_000
KEEP = timedelta(days=7)
MOST_KEPT = timedelta(days=90)
_OURS = ("data_time", "observed_by")

Answer = Mapping[str, Any]


class ReportRefused(PartitaError):
    """What was reported cannot be taken; nothing of it was."""


class ReportContradicts(ReportRefused):
    """The key of a report was used for another one."""


@dataclass(frozen=True, slots=True)
class Report:
    """A partition of an external asset holds this data version. `data_time`: up to when its data are complete (aware)."""

    asset: str
    partition: str
    data_version: str
    key: ReportKey | None = None
    data_time: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    keep: timedelta = KEEP
    """For how long a repeat by the key is known as one."""

    @property
    def content(self) -> str:
        """Equal for reports that say the same, whatever their keys."""
        said = [self.asset, self.partition, self.data_version, _instant(self.data_time), self.metadata]
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @property
    def noted(self) -> dict[str, Any]:
        """What is kept with the cell."""
        told = {} if self.data_time is None else {"data_time": _instant(self.data_time)}
        return {**self.metadata, **told}

    def __str__(self) -> str:
        at = f" {self.partition}" if self.partition else ""
        until = f" of {_instant(self.data_time)}" if self.data_time is not None else ""
        return f"{self.asset}{at} at version {self.data_version!r}{until}"


@dataclass(frozen=True, slots=True)
class Sorted:
    """`news` by the place in what was reported; `repeats` of it are answered by what stands at another place in it."""

    news: Mapping[int, Report]
    known: Mapping[int, Answer]
    repeats: Mapping[int, int]


def check(report: Report) -> None:
    """Raises ReportRefused for what no definition could make right."""
    if report.data_time is not None and report.data_time.tzinfo is None:
        raise ReportRefused(
            f"data time {report.data_time.isoformat()} has no time zone",
            rule="an instant is the same everywhere only with its offset",
            fix=f"write {report.data_time.isoformat()}Z if it is UTC",
        )
    taken = [name for name in _OURS if name in report.metadata]
    if taken:
        raise ReportRefused(
            f"metadata name {taken[0]!r} is partita's own", rule=f"{' and '.join(_OURS)} are", fix="choose another"
        )
    checked_metadata(report.metadata)
    if not timedelta(0) < report.keep <= MOST_KEPT:
        raise ReportRefused(
            f"a key that is known for {report.keep.total_seconds():,.0f} s",
            rule=f"more than none and at most {MOST_KEPT.days} days",
            fix=f"leave it out for {KEEP.days} days",
        )


def sort_out(reports: Sequence[Report], known: Mapping[ReportKey, KnownReport]) -> Sorted:
    """Raises ReportContradicts at the first key that was used for something else."""
    news: dict[int, Report] = {}
    answered: dict[int, Answer] = {}
    repeats: dict[int, int] = {}
    first: dict[ReportKey, int] = {}
    for at, report in enumerate(reports):
        if report.key is None:
            news[at] = report
        elif (before := known.get(report.key)) is not None:
            if before.content != report.content:
                raise _contradiction(report, before.answer["said"], f"at {before.answer['at']}")
            answered[at] = before.answer
        elif report.key in first:
            if reports[first[report.key]].content != report.content:
                raise _contradiction(report, str(reports[first[report.key]]), "in the same batch")
            repeats[at] = first[report.key]
        else:
            first[report.key] = at
            news[at] = report
    return Sorted(news, answered, repeats)


def answers_of(
    news: Mapping[int, Report], cells: Mapping[int, CellRef], moved: Iterable[CellRef], now: datetime
) -> dict[int, Answer]:
    """`moved` cells hold another version than before. Of a cell that one batch names twice the last word counts."""
    others = set(moved)
    last = {cell: at for at, cell in cells.items()}
    answers: dict[int, Answer] = {}
    for at, report in news.items():
        cell = cells[at]
        outcome = "replaced" if last[cell] != at else "observed" if cell in others else "unchanged"
        answers[at] = {
            "asset": report.asset,
            "partition": report.partition,
            "data_version": report.data_version,
            "outcome": outcome,
            "at": _instant(now),
            "said": str(report),
        }
    return answers


def known_of(news: Mapping[int, Report], answers: Mapping[int, Answer], now: datetime) -> list[KnownReport]:
    """What is kept of these, so that they are known when they come again."""
    return [
        KnownReport(report.key, report.content, answers[at], now + report.keep)
        for at, report in news.items()
        if report.key is not None
    ]


def _contradiction(report: Report, before: str, where: str) -> ReportContradicts:
    assert report.key is not None
    scope = f" of scope {report.key.scope!r}" if report.key.scope else ""
    differs = " with other metadata" if str(report) == before else ""
    return ReportContradicts(
        f"key {report.key.key!r}{scope} was used for {before} {where}; now it comes for {report}{differs}",
        rule="a key stands for one report, so that a repeat changes nothing",
        fix="give every report a key of its own, or repeat the first as it was",
    )


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()
