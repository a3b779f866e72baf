"""Plans: made, kept for an hour, shown, and launched as what was shown.

Owns the order plan → store → confirm → re-plan → launch (laws 3 and 6). The planner and the launch are the core's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from partita.assets import SelectionError
from partita.core.catalog import Catalog
from partita.core.decide.backfills import check_retry
from partita.core.decide.traces import CAUSE, known_traceparent
from partita.core.duties.launch import PlanOutdated, launch
from partita.core.duties.values import Launched, NewBackfill
from partita.core.planner import (
    Plan,
    PlanDiff,
    compare,
    decode_plan,
    encode_plan,
    keys_difference,
    plan,
    replan,
    sentence,
    to_launch,
)
from partita.core.planner import PlanRequest as CoreRequest
from partita.core.planner.params import check_params
from partita.core.store.queries import api_backfills as sql
from partita.core.store.queries.api_read import one
from partita.core.store.values import BackfillId
from partita.core.store.values_definitions import PlanId
from partita.ui.api.models import LaunchRequest, LaunchView, ParamFields, PlanDifference, PlanRequest, PlanView
from partita.ui.api.problems import NotFound, NothingToDo, NotWhatWasShown
from partita.ui.api.services.backfill_views import backfill_of
from partita.ui.api.services.base import Backend
from partita.ui.api.services.lanes import known_lane
from partita.ui.api.services.plan_difference import difference_view
from partita.ui.api.services.plan_params import param_fields
from partita.ui.api.services.plan_views import plan_view

KEEP_S = 3600.0
_HASH = re.compile(r"[0-9a-fA-F]{8,64}")
_INTENT = "as"  # kept beside the request: what the confirm button will do
_KEYS = "keys"  # and which dynamic keys it was made with


@dataclass(frozen=True, slots=True)
class Preview:
    """A stored plan with the catalog that it was made with."""

    plan_id: int
    plan: Plan
    catalog: Catalog
    expires_at: datetime
    intent: str

    def view(self) -> PlanView:
        return plan_view(self.plan, self.catalog, plan_id=self.plan_id, expires_at=self.expires_at, intent=self.intent)


class PlanService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def create(self, request: PlanRequest) -> PlanView:
        return self.preview(request).view()

    def params(self, request: PlanRequest) -> ParamFields:
        """What it may give as params. Raises SelectionError."""
        return param_fields(self._backend.catalogs.active(), request)

    def preview(self, request: PlanRequest) -> Preview:
        """Plans at the database's instant and keeps the plan for an hour."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            asked = CoreRequest(
                selection=request.selection,
                as_of=reader.now(),
                partitions=request.partitions,
                from_key=request.from_key,
                to_key=request.to_key,
                mode=tuple(request.mode),
                upstream=request.upstream,
                downstream=request.downstream,
                params=request.params,
                requested_by=self._backend.who,
            )
            found = plan(catalog, reader, asked)
        return self._kept(catalog, found, request.intent)

    def retry(self, backfill_id: int) -> Preview:
        """The plan of a further run of a backfill: of its frozen target what it has not made. Raises BackfillRefused."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            row = one(reader, sql.BACKFILL, backfill_id=backfill_id)
            if row is None:
                raise NotFound(f"there is no backfill {backfill_id}", fix="`partita backfill list` lists what there is")
            first = CoreRequest.from_json(row["request"])
            asked = replace(first, as_of=reader.now(), requested_by=self._backend.who, retry_of=backfill_id)
            check_retry(backfill_of(row), len(reader.unmade_of_backfill(backfill_id)))
            found = plan(catalog, reader, asked)
        return self._kept(catalog, found, "retry")

    def _kept(self, catalog: Catalog, found: Plan, intent: str) -> Preview:
        if not found.empty:
            schemas = {one.key: catalog.assets[one.key].spec.params_schema for one in found.assets}
            check_params(schemas, dict(found.request.params))
        stored = found.request.to_json() | {_INTENT: intent, _KEYS: catalog.keys.revision}
        with self._backend.store.begin() as tx:
            tx.expire_plans()
            plan_id = tx.save_plan(
                found.hash, request=stored, as_of=found.as_of, body=encode_plan(found), keep_s=KEEP_S
            )
            expires_at = tx.now() + timedelta(seconds=KEEP_S)
        return Preview(plan_id, found, catalog, expires_at, intent)

    def get(self, plan_id: int) -> PlanView:
        return self._load(plan_id).view()

    def compare(self, shown: Preview, hash_prefix: str) -> PlanDiff:
        """From the kept plan whose hash begins so to this one; raises NotFound and SelectionError."""
        if not _HASH.fullmatch(hash_prefix):
            raise SelectionError(
                f"{hash_prefix!r} is no hash of a plan", rule="it is 8 to 64 hexadecimal digits, the first of the hash"
            )
        with self._backend.store.begin() as tx:
            stored = tx.find_plan(hash_prefix.lower())
        if stored is None:
            raise NotFound(
                f"there is no plan {hash_prefix}",
                rule=f"plans are kept for {KEEP_S / 60:.0f} minutes",
                fix="plan again",
            )
        then = self._backend.catalogs.active(int(stored.request.get(_KEYS, 0)))
        keys = keys_difference(then.keys, shown.catalog.keys)
        return compare(decode_plan(stored.body), shown.plan, shown.catalog, keys)

    def difference(self, plan_id: int, hash_prefix: str) -> PlanDifference:
        """As `compare`, to a kept plan."""
        return difference_view(self.compare(self._load(plan_id), hash_prefix))

    def launch(self, plan_id: int, request: LaunchRequest, *, traceparent: str | None = None) -> LaunchView:
        """Plans the same request again `as_of` the same instant, and runs it when that is what was shown. `traceparent`: the W3C
        trace context of whoever asks; what comes of it goes on in that trace.

        Raises NotWhatWasShown or the planner's PlanChanged (with the difference), NothingToDo, NotFound.
        """
        shown = self._load(plan_id)
        if request.confirm_cells != shown.plan.cell_count:
            raise NotWhatWasShown(
                f"{request.confirm_cells} cells were confirmed, plan {plan_id} has {shown.plan.cell_count}",
                rule="what runs is what was shown",
                fix="look at the plan and confirm its count",
            )
        if shown.plan.empty:
            raise NothingToDo(
                f"plan {plan_id} has nothing to do",
                rule="everything it asks for is fresh, or blocked",
                fix='choose mode "all" to make it again',
            )
        launched = self._launch(shown, request, known_traceparent(traceparent))
        self._backend.wake(launched.channels)
        return LaunchView(run_id=launched.run_id, backfill_id=launched.backfill_id)

    def _launch(self, shown: Preview, request: LaunchRequest, trace: str | None) -> Launched:
        if request.lane is not None:
            known_lane(self._backend.store.run(lambda tx: tx.lanes()), request.lane)
        catalog, fresh = self._replanned(shown)
        retry_of = fresh.request.retry_of
        backfill = None if retry_of is not None else self._new_backfill(shown, request, fresh)
        newest_first = request.order == "newest" if retry_of is None else self._newest_first(retry_of)
        asked = to_launch(
            fresh,
            catalog,
            cause=self._cause(fresh, request.reason.strip(), trace),
            backfill=backfill,
            retry_of=None if retry_of is None else BackfillId(retry_of),
            newest_first=newest_first,
            lane=request.lane or ("interactive" if backfill is None and retry_of is None else "backfill"),
            timeout_s=request.timeout_s,
            tags=request.tags,
            max_active=request.max_active if backfill is None and retry_of is None else None,
        )
        try:
            made = launch(self._backend.store, asked)
        except PlanOutdated:
            self._replanned(shown)  # a location was activated since we looked: this says what differs
            raise
        return made

    def _cause(self, made: Plan, reason: str, trace: str | None) -> dict[str, str]:
        cause = {"kind": self._backend.kind, "by": self._backend.who, "text": sentence(made)}
        return cause | ({"reason": reason} if reason else {}) | ({CAUSE: trace} if trace else {})

    def _new_backfill(self, shown: Preview, request: LaunchRequest, made: Plan) -> NewBackfill | None:
        wanted = request.name or request.priority or request.order != "oldest"
        if shown.intent != "backfill" and not wanted:
            return None
        return NewBackfill(
            request.name or _name(made),
            request.max_active,
            self._backend.who,
            priority=request.priority,
            newest_first=request.order == "newest",
        )

    def _newest_first(self, backfill_id: int) -> bool:
        with self._backend.store.read() as reader:
            row = one(reader, sql.BACKFILL, backfill_id=backfill_id)
        return row is not None and bool(row["newest_first"])

    def _replanned(self, shown: Preview) -> tuple[Catalog, Plan]:
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            return catalog, replan(catalog, reader, shown.plan, shown.catalog.keys)

    def _load(self, plan_id: int) -> Preview:
        with self._backend.store.begin() as tx:
            stored = tx.load_plan(PlanId(plan_id))
        if stored is None:
            raise NotFound(
                f"there is no plan {plan_id}", rule=f"plans are kept for {KEEP_S / 60:.0f} minutes", fix="plan again"
            )
        return Preview(
            plan_id,
            decode_plan(stored.body),
            self._backend.catalogs.active(int(stored.request.get(_KEYS, 0))),
            stored.expires_at,
            str(stored.request.get(_INTENT, "run")),
        )


def _name(made: Plan) -> str:
    """The name of a backfill that nobody named: what it asks for."""
    asked = made.request
    limits = f"{asked.from_key or ''}..{asked.to_key or ''}"
    span = asked.partitions or ("" if limits == ".." else limits)
    return f"{asked.selection} {span}".strip()
