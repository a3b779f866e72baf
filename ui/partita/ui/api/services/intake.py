"""Events of producers outside partita: names become cells, and all of them are taken in or none."""

from __future__ import annotations

from datetime import datetime, timedelta

from partita.core.changes.observed import Said, observations_of
from partita.core.decide.intake import Report
from partita.core.decide.observe import Observation
from partita.core.decide.traces import in_trace
from partita.core.duties.intake import take_in
from partita.core.store.values_reports import ReportKey
from partita.ui.api.models.intake import EventBatch, EventReport, OneEvent, TakenEvent, TakenEvents
from partita.ui.api.services.base import Backend


class IntakeService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def take(self, body: OneEvent | EventBatch, *, traceparent: str | None = None) -> TakenEvents:
        """What follows goes on in the trace of `traceparent`.

        Raises UnknownAsset, UnknownPartition, ObservationRefused, ReportRefused, ReportContradicts: nothing was taken."""
        catalog = self._backend.catalogs.active()

        def observation_of(report: Report, now: datetime) -> Observation:
            said = Said(report.asset, report.partition, report.data_version, report.noted)
            return observations_of(catalog, [said], now)[0]

        events = body.events if isinstance(body, EventBatch) else [body]
        taken = take_in(
            self._backend.store,
            [_report(event, body) for event in events],
            observation_of,
            by=body.scope or self._backend.who,
            followed=catalog.automation_assets,
            told=in_trace(traceparent),
        )
        self._backend.wake(taken.channels)
        shown = TakenEvent.model_fields
        return TakenEvents(
            events=[
                TakenEvent.model_validate({name: one[name] for name in shown if name in one}) for one in taken.answers
            ]
        )


def _report(event: EventReport, of: OneEvent | EventBatch) -> Report:
    return Report(
        asset=event.asset,
        partition=event.partition,
        data_version=event.data_version,
        key=None if event.key is None else ReportKey(of.scope, event.key),
        data_time=event.data_time,
        metadata=event.metadata,
        keep=timedelta(seconds=of.key_expires_in_s),
    )
