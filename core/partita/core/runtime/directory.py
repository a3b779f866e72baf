"""What workers read about the deployment, over the store: who serves which version, and the catalogs of pinned runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from partita.core.catalog import Catalog, CatalogCache, CatalogInputs
from partita.core.duties.values_attempts import InputResolver
from partita.core.runtime.worker import Pin, Served
from partita.core.store.port import Store
from partita.core.store.values import RunId

Near = Callable[[], Collection[str]]
"""The addresses of code servers that come before others which have the same version."""


class StoreDirectory:
    """The `Directory` of a worker. Catalogs are cached: a known run costs no statement."""

    def __init__(self, store: Store, catalogs: CatalogCache, *, near: Near | None = None) -> None:
        self._store = store
        self._near = near
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
                known = found.get((pin.location_id, pin.snapshot_id))
                queues = (pin.queue,) if known is None else (*known.queues, pin.queue)
                found[(pin.location_id, pin.snapshot_id)] = Served(pin.version, self._nearest(addresses), queues)
        return found

    def _nearest(self, addresses: tuple[str, ...]) -> tuple[str, ...]:
        if self._near is None or len(addresses) < 2:
            return addresses
        near = self._near()
        return tuple(address for address in addresses if address in near) or addresses

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
