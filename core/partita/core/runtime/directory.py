"""What workers read about the deployment, over the store: who serves which version, and the catalogs of pinned runs."""

from __future__ import annotations

from collections.abc import Mapping

from partita.core.catalog import Catalog, CatalogCache, CatalogInputs
from partita.core.duties.values_attempts import InputResolver
from partita.core.runtime.worker import Pin, Served
from partita.core.store.port import Store
from partita.core.store.values import RunId


class StoreDirectory:
    """The `Directory` of a worker. Catalogs are cached: a known run costs no statement."""

    def __init__(self, store: Store, catalogs: CatalogCache) -> None:
        self._store = store
        self._catalogs = catalogs
        self._resolver = CatalogInputs(catalogs.of_run)

    def served(self) -> Mapping[Pin, Served]:
        with self._store.begin(durable=False) as tx:
            pins = tx.queued_pins()
            servers = tx.live_code_servers() if pins else []
        found: dict[Pin, Served] = {}
        for pin in pins:
            addresses = tuple(
                server.address
                for server in servers
                if server.location_id == pin.location_id and pin.version in server.versions
            )
            if addresses:
                found[(pin.location_id, pin.snapshot_id)] = Served(pin.version, addresses)
        return found

    def serving(self, known: Mapping[Pin, str]) -> Mapping[Pin, Served]:
        """Versions of waits that nobody watches and of evaluators that are due, and the `known` ones, as far as live servers have
        them."""
        with self._store.begin(durable=False) as tx:
            due = [*tx.waiting_pins(), *tx.due_evaluator_pins()]
            wanted = {**known, **{(pin.location_id, pin.snapshot_id): pin.version for pin in due}}
            servers = tx.live_code_servers() if wanted else []
        found: dict[Pin, Served] = {}
        for (location_id, snapshot_id), version in wanted.items():
            addresses = tuple(
                server.address for server in servers if server.location_id == location_id and version in server.versions
            )
            if addresses:
                found[location_id, snapshot_id] = Served(version, addresses)
        return found

    def catalog(self, run_id: RunId) -> Catalog:
        return self._catalogs.of_run(run_id)

    def prepare(self, runs: Mapping[RunId, int]) -> None:
        self._catalogs.prepare(runs)

    @property
    def resolver(self) -> InputResolver:
        return self._resolver
