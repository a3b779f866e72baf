"""What automation does and would do: the page of consumers and requests, and the decision about partitions with its tree."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from partita.assets import PartitaError, SelectionError, TickSpec, TimePartitions
from partita.assets.conditions import Part, nodes_of, policy_text
from partita.core.automation.assumed import State
from partita.core.automation.judge import Verdict, condition_of_step
from partita.core.automation.tell import Told, next_looks, tell
from partita.core.automation.timing import time_of
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.planner.words import WORDS
from partita.core.store.queries import api_system as sql
from partita.core.store.queries.api_read import rows
from partita.ui.api.models import (
    AutomationPage,
    AutomationRequestView,
    AutomationTold,
    CellDecision,
    ConsumerView,
    Decision,
    LookView,
    PartView,
)
from partita.ui.api.services.asset_views import quoted
from partita.ui.api.services.base import Backend
from partita.ui.api.services.requests import waiting_for_people
from partita.ui.api.services.words import cause_text, cell_text

_REQUESTS_SHOWN = 200
_CELLS_TOLD = 100


class AutomationService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def page(self) -> AutomationPage:
        catalog = self._backend.catalogs.active()
        automated = [one for one in map(catalog.assets.__getitem__, catalog.graph.order) if _automated(one)]
        with self._backend.store.read() as reader:
            ids = [one.id for one in automated]
            last = {row["consumer"]: row for row in rows(reader, sql.LAST_REQUESTS, ids=ids)}
            looks = {row["asset_id"]: row["next_at"] for row in rows(reader, sql.NEXT_LOOKS, ids=ids)}
            requests = rows(reader, sql.AUTOMATION_REQUESTS, limit=_REQUESTS_SHOWN)
            waiting, faults = waiting_for_people(reader)
        return AutomationPage(
            consumers=[
                ConsumerView(
                    key=asset.key,
                    condition=condition_text(asset),
                    next_look_at=looks.get(asset.id),
                    on_code_change=asset.spec.on_code_change,
                    limit=asset.spec.automatic_limit,
                    upstream=list(dict.fromkeys(one.upstream for one in asset.inputs)),
                    last_requested_at=last[asset.key]["at"] if asset.key in last else None,
                    last_reason=cause_text(last[asset.key]["cause"]) if asset.key in last else None,
                )
                for asset in automated
            ],
            waiting=waiting,
            faults=faults,
            requests=[
                AutomationRequestView(
                    at=row["at"],
                    consumer=row["consumer"],
                    partition=row["partition"],
                    cause=cause_text(row["cause"]),
                    run_id=row["run_id"],
                    tree=None if row["verdict"] is None else part_view(Part.from_json(row["verdict"])),
                )
                for row in requests
            ],
        )

    def told(
        self,
        key: str,
        partitions: str | None = None,
        *,
        at: datetime | None = None,
        looks: int = 5,
        given: Mapping[str, State] | None = None,
    ) -> AutomationTold:
        """Of the chosen partitions (the newest one by default), at most a hundred; `given` takes assets as in another state.
        Raises UnknownAsset, SelectionError."""
        catalog = self._backend.catalogs.active()
        asset = catalog.asset(key)
        states = {catalog.asset(one).id: state for one, state in (given or {}).items()}
        with self._backend.store.begin(durable=False) as tx:
            now = at or tx.now()
            space = catalog.space(asset.key, now)
            chosen = space.select(partitions or "latest") if partitions or space.dims or time_of(space) else space.all()
            if len(chosen) > _CELLS_TOLD:
                raise SelectionError(
                    f"{partitions} are {len(chosen):,} partitions of {key}",
                    rule=f"the decision is told of {_CELLS_TOLD} at once",
                    fix="name fewer, such as latest 7",
                )
            found = [] if condition_text(asset) is None else tell(tx, catalog, asset.key, chosen, now, states)
        zone = "UTC" if asset.external else _zone(catalog, asset, now)
        times = [] if condition_text(asset) is None else next_looks(catalog, asset.key, now, looks)
        return AutomationTold(
            asset=asset.key,
            condition=condition_text(asset),
            at=now,
            zone=zone,
            next_looks=_looks(now, times, ZoneInfo(zone)),
            cells=[_decision(catalog, asset, one) for one in found],
        )

    def of_cell(self, key: str, partition: str) -> CellDecision | None:
        """The decision about one partition; None where nothing asks without a person, or it does not exist now."""
        try:
            told = self.told(key, quoted(partition) if partition else None, looks=0)
        except PartitaError:
            return None
        return next((one for one in told.cells if one.partition == partition), None)


def condition_text(asset: CatalogAsset) -> str | None:
    """What people wrote after `automation=`; None where nothing asks without a person."""
    return policy_text(asset.spec.automation)


def _automated(asset: CatalogAsset) -> bool:
    return asset.automated or asset.spec.on_code_change == "rebuild"


def _zone(catalog: Catalog, asset: CatalogAsset, now: datetime) -> str:
    ticks = [one.tz for one in nodes_of(condition_of_step(catalog, asset.step)) if isinstance(one, TickSpec)]
    inner = time_of(catalog.space(asset.key, now))
    scheme = None if inner is None else inner.definition
    return ticks[0] if ticks else scheme.tz if isinstance(scheme, TimePartitions) else "UTC"


def _looks(now: datetime, times: list[datetime], zone: ZoneInfo) -> list[LookView]:
    local = [one.astimezone(zone) for one in (now, *times)]
    return [
        LookView(at=one, local=two.isoformat(timespec="minutes"), clock_changes=before.utcoffset() != two.utcoffset())
        for one, (before, two) in zip(times, pairwise(local), strict=True)
    ]


def _decision(catalog: Catalog, asset: CatalogAsset, told: Told) -> CellDecision:
    name = cell_text(asset.key, told.partition)
    decision: Decision
    if told.owned:
        decision, sentence = "owned", f"{name} is being made: an open task owns it"
    elif told.verdict is Verdict.WAIT and told.waits_for is not None:
        above = cell_text(catalog.by_id[told.waits_for.asset_id].key, told.waits_for.partition)
        decision, sentence = "waits", f"{name} waits for {above}, which is being made"
    elif told.asked_before:
        decision = "asked"
        sentence = (
            f"the condition of {name} holds, and its inputs as they are have asked for it before: it asks no more"
        )
    elif told.verdict is Verdict.ASK and told.reason is not None:
        decision, sentence = "asks", f"{name} would be asked for: {WORDS[told.reason]}"
    else:
        decision, sentence = "rests", f"the condition of {name} does not hold"
    return CellDecision(partition=told.partition, decision=decision, sentence=sentence, tree=part_view(told.tree))


def part_view(part: Part) -> PartView:
    return PartView(text=part.text, holds=part.holds, parts=[part_view(one) for one in part.parts])
