"""Locations, the processes of the deployment and the home page, read for people.

Owns the table of symptoms (S-039) and what counts as "needs me". A reload is asked of the code servers themselves; what they then
serve becomes active through the schedulers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version

from partita.core.store.port import StoreError
from partita.core.store.queries import api_system as sql
from partita.core.store.queries.api_read import Row, now, one, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import (
    ComponentView,
    DutyView,
    LocationView,
    ModuleView,
    ReloadView,
    ServerView,
    SummaryView,
    SystemView,
    WorkerView,
)
from partita.ui.api.problems import NotFound, Unavailable
from partita.ui.api.services.alerts import alert_needs
from partita.ui.api.services.answers import answer_needs
from partita.ui.api.services.base import Backend
from partita.ui.api.services.board import Board
from partita.ui.api.services.deadlines import late_needs
from partita.ui.api.services.freshness import freshness_needs
from partita.ui.api.services.health import components, needs
from partita.ui.api.services.requests import waiting_for_people
from partita.ui.api.services.runs import RunService
from partita.ui.api.services.words import reloaded_text

_RECENT_RUNS = 10
_LATE_SHOWN = 20
_ASKED_SHOWN = 5


class SystemService:
    def __init__(self, backend: Backend, board: Board, runs: RunService) -> None:
        self._backend = backend
        self._board = board
        self._runs = runs
        self._reloads: set[asyncio.Task[Mapping[str, str]]] = set()

    def database_answers(self) -> bool:
        try:
            with self._backend.store.read() as reader:
                return one(reader, sql.PULSE) is not None
        except StoreError:
            return False

    # ------------------------------------------------------------------ locations

    def locations(self) -> list[LocationView]:
        catalog = self._backend.catalogs.active()
        assets = Counter(asset.location for asset in catalog.assets.values())
        with self._backend.store.read() as reader:
            found = rows(reader, sql.LOCATIONS)
            servers = rows(reader, sql.CODE_SERVERS)
        return [
            _location(row, [one for one in servers if one["location_id"] == row["id"]], assets[row["name"]])
            for row in found
        ]

    def live_addresses(self, name: str) -> list[str]:
        """Where the live servers of a location are, if any; raises NotFound."""
        return self._live(self._named(name))

    def _live(self, location: LocationView) -> list[str]:
        return [server.address for server in location.servers if server.live]

    def _named(self, name: str) -> LocationView:
        found = {one.name: one for one in self.locations()}
        if name not in found:
            raise NotFound(
                f"there is no location {name!r}",
                rule=f"the locations are {', '.join(found) or 'none yet'}",
                fix="name one of them, or configure it in partita.toml",
            )
        return found[name]

    def addresses(self, name: str) -> list[str]:
        """Where the live servers of a location are; raises NotFound or Unavailable."""
        addresses = self.live_addresses(name)
        if not addresses:
            raise Unavailable(
                f"location {name!r} has no live code server",
                rule="a reload is done by the location's own servers",
                fix=f"start one: partita code-server --location {name}",
            )
        return addresses

    async def reload(self, name: str, *, wait_s: float = 5.0) -> ReloadView:
        """Asks every live server of the location; answers when they are done, or after `wait_s` while they go on."""
        addresses = await asyncio.to_thread(self.addresses, name)
        task = asyncio.create_task(reload_all(addresses))
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)
        done, _ = await asyncio.wait([task], timeout=wait_s)
        if task in done:
            broken = dict(task.result())
            return ReloadView(location=name, requested=True, text=reloaded_text(broken), broken=broken)
        return ReloadView(
            location=name, requested=True, text="still loading; the location's page shows the outcome", broken={}
        )

    # ------------------------------------------------------------------ processes, home

    def system(self) -> SystemView:
        with self._backend.store.read() as reader:
            pulse = one(reader, sql.PULSE)
            duties = rows(reader, sql.DUTIES)
            return SystemView(
                components=self._components(reader),
                workers=_workers(reader),
                db_pulse_at=pulse["last_ok"] if pulse is not None else None,
                version=version("partita"),
                duties=[DutyView(**row) for row in duties],
            )

    def workers(self) -> list[WorkerView]:
        with self._backend.store.read() as reader:
            return _workers(reader)

    def summary(self) -> SummaryView:
        _, shown = self._board.view(self._backend.catalogs.active())
        totals: Counter[str] = Counter()
        failing: dict[str, int] = {}
        for key, cells in shown.items():
            counts = cells.counts()
            totals.update(counts)
            if counts.get("failed"):
                failing[key] = counts["failed"]
        running = self._runs.page(state="running", limit=_RECENT_RUNS).runs
        recent = self._runs.page(limit=_RECENT_RUNS).runs
        with self._backend.store.read() as reader:
            processes = self._components(reader)
            waiting, faults = waiting_for_people(reader)
            late = [*freshness_needs(reader, _LATE_SHOWN), *late_needs(reader, _LATE_SHOWN), *alert_needs(reader)]
            asked = answer_needs(reader, _ASKED_SHOWN)
            failing_duties = {row["name"]: row["last_error"] for row in rows(reader, sql.DUTIES) if row["failures"]}
        return SummaryView(
            needs_me=needs(self.locations(), processes, failing, waiting, faults, failing_duties, [*asked, *late]),
            counts=dict(totals),
            running_runs=running,
            recent_runs=recent,
        )

    def _components(self, reader: Reader) -> list[ComponentView]:
        pulse = one(reader, sql.PULSE)
        work = one(reader, sql.TRIGGERER_WANTED)
        return components(
            rows(reader, sql.COMPONENTS),
            rows(reader, sql.CODE_SERVERS),
            pulse_at=pulse["last_ok"] if pulse is not None else None,
            now=now(reader),
            triggerer_wanted=work is not None and work["wanted"],
        )


def _workers(reader: Reader) -> list[WorkerView]:
    return [WorkerView(**row) for row in rows(reader, sql.WORKERS)]


async def reload_all(addresses: Sequence[str]) -> Mapping[str, str]:
    """The modules that do not load, with their errors, and under the name of the location what is not one module's.
    Raises what a server said."""
    from partita.grpc.client import CodeLocationClient, CodeServerError

    async def reload(address: str) -> Mapping[str, str]:
        try:
            async with CodeLocationClient(address) as client:
                status = await client.reload()
        except CodeServerError as error:
            raise Unavailable(error.what, rule=error.rule, fix=error.fix) from error
        whole = {status.location: status.error} if status.error else {}
        return {**whole, **{module.name: module.error for module in status.modules if not module.ok}}

    found: dict[str, str] = {}
    for broken in await asyncio.gather(*(reload(address) for address in addresses)):
        found |= broken
    return found


def _location(row: Mapping[str, object] | Row, servers: Sequence[Row], asset_count: int) -> LocationView:
    views = [
        ServerView(server_id=one["server_id"], address=one["address"], versions=list(one["versions"]), live=one["live"])
        for one in servers
    ]
    modules: Sequence[Row] = row["modules"]  # type: ignore[assignment]
    kept: Sequence[Row] = row["kept"] or ()  # type: ignore[assignment]
    loaded_at: datetime | None = row["loaded_at"]  # type: ignore[assignment]
    return LocationView(
        name=str(row["name"]),
        address=next((one.address for one in views if one.live), None),
        state=row["state"],
        active_version=row["version"],
        loaded_at=loaded_at,
        error=row["error"],
        modules=[
            ModuleView(
                name=one["name"],
                ok=one["ok"],
                error=one.get("error") or None,
                import_s=one.get("import_s"),
                warnings=str(one.get("warning") or "").splitlines(),
            )
            for one in modules
        ],
        asset_count=asset_count,
        kept_assets=[one["key"] for one in kept],
        servers=views,
    )
