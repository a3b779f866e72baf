"""Pools and caps: who holds their slots and how many wait, and the resizing of pools by hand.

Owns which rows people see (no cap without a limit, no backfill or run that is over, no pause) and in which words. A cap is
resized where it is written: in the asset's code, in partita.toml, at the backfill.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import assert_never

from partita.assets import suggest
from partita.core.decide.caps import Cap, cap_of
from partita.core.decide.pause import is_pause
from partita.core.duties.channels import Channel
from partita.core.store.port import Tx
from partita.core.store.queries import api_system as sql
from partita.core.store.queries.api_read import Row, rows
from partita.core.store.values import UNLIMITED_SLOTS, Pool
from partita.ui.api.models import HolderView, PoolView
from partita.ui.api.problems import IsACap, NotFound
from partita.ui.api.services.base import Backend

_HOLDERS_SHOWN = 1_000


class PoolService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def all(self) -> list[PoolView]:
        """Pools of people first, then caps; each by name."""
        with self._backend.store.read() as reader:
            pools = [row for row in rows(reader, sql.POOLS) if not is_pause(row["name"])]
            held = rows(reader, sql.POOL_HOLDERS, limit=_HOLDERS_SHOWN)
            waiting = {row["pool"]: int(row["n"]) for row in rows(reader, sql.POOL_WAITING)}
        holders: defaultdict[str, list[Row]] = defaultdict(list)
        for row in held:
            holders[row["pool"]].append(row)
        views = [_view(pool, holders[pool["name"]], waiting.get(pool["name"], 0)) for pool in pools]
        return sorted((one for one in views if _shown(one)), key=lambda one: (one.kind != "pool", one.name))

    def resize(self, name: str, slots: int, reason: str = "") -> PoolView:
        """Gives a pool so many slots, also while more are held: then nothing more is admitted until it fits. Raises as `get`."""
        self.get(name)
        self._backend.store.run(lambda tx: self._resize(tx, Pool(name, slots), reason.strip()))
        self._backend.wake([Channel.SCHEDULED])
        return self.get(name)

    def get(self, name: str) -> PoolView:
        """A pool that people may resize. Raises NotFound, and IsACap."""
        cap = cap_of(name)
        if cap is not None:
            raise IsACap(f"{name!r} is a cap, not a pool", rule=f"it limits {_limits(cap)}", fix=_where(cap))
        with self._backend.store.read() as reader:
            known = [str(row["name"]) for row in rows(reader, sql.POOL_NAMES)]
        if name not in known:
            raise NotFound(
                f"there is no pool {name!r}",
                rule="pools are made by assets that name them and by [pools] in partita.toml",
                fix=suggest(name, [one for one in known if cap_of(one) is None]) or "look with `partita pools`",
            )
        return next(one for one in self.all() if one.name == name)

    def _resize(self, tx: Tx, pool: Pool, reason: str) -> None:
        if tx.set_pool(pool):
            tx.audit(self._backend.who, "pool", {"pool": pool.name, "slots": pool.slots}, reason=reason)


def _view(pool: Row, holders: Sequence[Row], waiting: int) -> PoolView:
    cap = cap_of(pool["name"])
    return PoolView(
        name=pool["name"],
        kind="pool" if cap is None else cap.kind,
        limits=None if cap is None else _limits(cap),
        slots=pool["slots"],
        held=pool["held"],
        holders=[
            HolderView(
                task_id=row["task_id"],
                run_id=row["run_id"],
                step=row["step"],
                lane=row["lane"],
                slots=row["slots"],
                since=row["since"],
            )
            for row in holders
        ],
        waiting=waiting,
    )


def _shown(one: PoolView) -> bool:
    return one.slots < UNLIMITED_SLOTS and (one.kind not in ("backfill", "run") or one.held + one.waiting > 0)


def _limits(cap: Cap) -> str:
    match cap.kind:
        case "all":
            return "all active tasks"
        case "location":
            return f"active tasks of location {cap.of}"
        case "asset":
            return f"active tasks of asset {cap.of}"
        case "backfill":
            return f"active tasks of backfill {cap.of}"
        case "run":
            return "active tasks of each new run" if cap.of == "*" else f"active tasks of run {cap.of}"
        case "paused":
            return "what is paused"
        case _:
            assert_never(cap.kind)


def _where(cap: Cap) -> str:
    match cap.kind:
        case "all":
            return "change max_running under [limits] in partita.toml and start the schedulers again"
        case "location":
            return "change max_running of its [[location]] in partita.toml and start the schedulers again"
        case "asset":
            return "change max_active= in the asset's code"
        case "backfill":
            return f"partita backfill set {cap.of} --max-active N"
        case "run" if cap.of == "*":
            return "change max_active_per_run under [limits] in partita.toml and start the schedulers again"
        case "run":
            return f"partita runs set {cap.of} --max-active N"
        case "paused":
            return "resume it: partita resume"
        case _:
            assert_never(cap.kind)
