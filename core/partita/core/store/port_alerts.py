"""The sixth part of the store port: signals, alerts, the outbox of notices, maintenance windows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_alerts import (
        Alert,
        AlertId,
        AlertUpdate,
        Maintenance,
        NewAlert,
        NewNotice,
        NewSignal,
        Notice,
        NoticeEnd,
        NoticeId,
        NoticeItem,
        SickLocation,
        Signal,
        WaitingStep,
    )
    from partita.core.store.values_ids import AssetId, RunId


class AlertsTx(Protocol):
    """Operations of `Tx` on alerts and notices."""

    def append_signals(self, signals: Sequence[NewSignal]) -> None: ...

    def take_signals_skip(self, limit: int) -> list[Signal]:
        """Deletes and returns the oldest, passing over locked ones."""

    # -- alerts
    def put_alerts(self, alerts: Sequence[NewAlert]) -> tuple[list[Alert], list[Alert]]:
        """Inserts those whose cause has no open alert; the others are counted once more, with the newer detail, task and
        `since`. Returns (new, met again), each in the order of causes."""

    def open_causes(self, causes: Collection[str]) -> set[str]:
        """Of these, those that have an open alert. No lock."""

    def lock_alerts(self, ids: Collection[AlertId]) -> list[Alert]:
        """Waits; in id order; unknown ids are left out."""

    def lock_over_alerts_skip(self, limit: int) -> list[Alert]:
        """Open alerts whose facts moved on, by id: the cell was published after `since` and has no signal that waits; the run
        has no failed cell that was not published since; the step of the run waits no more; the location loads, or is served
        again."""

    def lock_unsnoozed_skip(self, limit: int) -> list[Alert]:
        """Open alerts whose snooze is over, by (snoozed_until, id)."""

    def write_alerts(self, updates: Sequence[AlertUpdate]) -> None:
        """Of alerts that this transaction holds. Those that ended stay as they are."""

    # -- facts that no transaction signals
    def waiting_steps(self, before: datetime, limit: int) -> list[WaitingStep]:
        """Steps of open runs with tasks that were asked for before, have not started and wait for no retry; oldest first."""

    def sick_locations(self) -> list[SickLocation]:
        """Locations that are not served, or with modules that do not load, by id."""

    def failed_assets(self, run_id: RunId) -> list[AssetId]:
        """The assets of which cells failed in the run, in id order."""

    # -- notices
    def told_of(self, ids: Collection[AlertId]) -> Mapping[AlertId, list[tuple[str, str]]]:
        """The (rule, target) that were sent the problem of each of these, sorted. No lock."""

    def lock_forming_notices_skip(self, lines: Collection[tuple[str, str]]) -> list[Notice]:
        """Pending notices of these (rule, target) that nobody tried to send yet, by id."""

    def last_notices(self, lines: Collection[tuple[str, str]]) -> dict[tuple[str, str], datetime]:
        """When the last notice of each of these (rule, target) was, or will be, due: tests aside."""

    def insert_notices(self, notices: Sequence[NewNotice]) -> list[NoticeId]:
        """Rising ids, in the order given."""

    def insert_notice_items(self, items: Sequence[NoticeItem]) -> None:
        """Violation when an alert is in a notice of this target, kind and round already."""

    def claim_notices_skip(self, limit: int, lease_s: float) -> list[Notice]:
        """Pending notices that are due and leased to nobody, by (due_at, id): leased from now on, with one more try."""

    def alerts_of_notices(self, ids: Collection[NoticeId]) -> Mapping[NoticeId, list[Alert]]:
        """By alert id. No lock."""

    def end_notices(self, ends: Sequence[NoticeEnd]) -> list[NoticeId]:
        """Compare-and-set on the number of tries; returns those that were written."""

    # -- maintenance, retention
    def maintenances(self) -> list[Maintenance]:
        """Those that have not ended, by id."""

    def insert_maintenance(
        self, selection: str, starts_at: datetime, ends_at: datetime, by: str, reason: str
    ) -> int: ...

    def end_maintenance(self, maintenance_id: int) -> bool:
        """From now on it holds nothing back. False when it is over, or never was."""

    def end_snoozes(self, by: str) -> None:
        """What was snoozed in this name is so no longer."""

    def prune_alerts(self, before: datetime, limit: int) -> int:
        """Deletes alerts that ended before, and then notices that ended before and tell of no alert that is kept; up to so many
        of each; returns how many."""
