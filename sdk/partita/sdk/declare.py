"""The decorators and `external()`: they record definitions and hand the function back, still callable and typed.

Owns the public options and their errors. Refuses to resolve names or to compute fingerprints: the snapshot does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, ParamSpec, TypeVar, overload

from partita.assets import (
    DefinitionError,
    OnCodeChange,
    PartitionsDef,
    TriggerRule,
    asset_key,
)
from partita.assets.durations import Duration, seconds
from partita.assets.partitions.dynamic import FAN_OUT
from partita.assets.queues import DEFAULT_QUEUE, check_queue
from partita.sdk.automation import Automation
from partita.sdk.callbacks import Callback
from partita.sdk.collector import CallSite, caller, current
from partita.sdk.definitions import (
    AssetDef,
    ModuleDefaults,
    PartitionColumns,
    StepDef,
)
from partita.sdk.former import FormerKeys, former_keys
from partita.sdk.freshness import Freshness, checked_freshness
from partita.sdk.handles import DEFAULT_IO, AssetFunction, ExternalAsset, Out
from partita.sdk.io.base import IOManager
from partita.sdk.option_types import check_function, check_options, description_of
from partita.sdk.policies import SINGLE, Batch, RetryPolicy
from partita.sdk.references import Upstream
from partita.sdk.steps import (
    Options,
    Pool,
    asset_options,
    checked_partitions,
    checked_pools,
    checked_retries,
    make_step,
)
from partita.sdk.watching import Wait

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _AssetDecorator:
    """What `@asset(...)` returns; a class so that the decorated function's own types pass through."""

    def __init__(self, declare: Callable[[Callable[..., Any], CallSite], StepDef]) -> None:
        self._declare = declare

    def __call__(self, function: Callable[P, R_co]) -> AssetFunction[P, R_co]:
        return AssetFunction(function, self._declare(function, caller(1)))


@overload
def asset(function: Callable[P, R_co], /) -> AssetFunction[P, R_co]: ...
@overload
def asset(
    *,
    key: str | None = None,
    renamed_from: FormerKeys = (),
    partitions: PartitionsDef | None = None,
    deps: Sequence[Upstream] = (),
    io: str | IOManager | None = DEFAULT_IO,
    partition_columns: PartitionColumns | None = None,
    retries: RetryPolicy | None = None,
    timeout: Duration | None = None,
    deadline: Duration | None = None,
    freshness: Freshness | None = None,
    wait_for: Wait | Sequence[Wait] = (),
    pool: Pool | None = None,
    max_active: int | None = None,
    queue: str | None = None,
    priority: int = 0,
    trigger_rule: TriggerRule = "all_success",
    batch: Batch = SINGLE,
    automation: Automation | None = None,
    on_code_change: OnCodeChange = "ignore",
    automatic_limit: int | None = None,
    fan_out: int = FAN_OUT,
    on_failure: Callback | None = None,
    on_success: Callback | None = None,
    code_version: str | None = None,
    group: str | None = None,
    owner: str | None = None,
    tags: Mapping[str, str] | None = None,
    kinds: Sequence[str] = (),
    description: str | None = None,
    isolation: Literal["fork", "spawn"] = "fork",
    metadata: Mapping[str, Any] | None = None,
) -> _AssetDecorator: ...
def asset(
    function: Callable[..., Any] | None = None,
    /,
    *,
    key: str | None = None,
    renamed_from: FormerKeys = (),
    partition_columns: PartitionColumns | None = None,
    io: str | IOManager | None = DEFAULT_IO,
    kinds: Sequence[str] = (),
    description: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Declare the asset that a function makes. Parameters by name are its inputs.

    `key` is the function's name unless given; `renamed_from` names keys that the asset had before (the nearest first): its
    history, versions and settings go over to the new one. `deps` are upstream assets that are only waited for. `io` names the IO
    manager that stores what is returned ("lake" by default; None: the function stores it itself). `partition_columns`
    says which column holds which dimension's key when one task makes several partitions. `timeout` limits one attempt.
    `deadline` says how long after the close of its window (or after its launch, where that is later or it has no window) a
    partition is due: one that is not there by then is told of, and its task goes on. `freshness` is a promise about the asset.
    `wait_for` are triggers that must fire before an attempt starts, each with its deadline, such as
    `FileExists("in/{partition}.csv").within("6h")`; a step that waits holds no slot.
    `pool` is a name or {name: slots}; `max_active` is how many of its tasks may hold slots at once, over all runs.
    `queue` says which workers run it: those that serve it (`partita worker --queues gpu`), "default" unless given.
    `trigger_rule` says when it runs, given how the upstream tasks of its run ended: after all of them succeeded unless given.
    `on_code_change="rebuild"` lets automation make the asset's history again when its code
    or its dependencies change; "ignore" leaves it as it is. An automatic request of more than `automatic_limit` cells waits
    for a person (the deployment's limit unless given). `fan_out` is how many keys `context.add_partitions` may add in one
    attempt (1,024 unless given). `on_failure` and `on_success` are functions that are told of its tasks after they ended
    (`def tell(ended: TaskEnded) -> None`), without a say in the outcome. `code_version` replaces the fingerprint of the code.
    Raises DefinitionError.

    >>> @asset(partitions=Daily("2026-03-01"), retries=RetryPolicy(3, delay="30s"), owner="team:shop")
    ... def orders(context: Context) -> Relation:
    ...     return Relation.from_rows([{"day": context.partition.key, "orders": 3}])
    >>> @asset(partitions=Daily("2026-03-01"))
    ... def doubled(orders: Relation) -> Relation:
    ...     return orders.sql("select day, 2 * orders as orders from self")
    >>> materialize([orders, doubled], partitions="2026-03-02").read(doubled).fetchall()
    [('2026-03-02', 6)]
    >>> asset(partition=Daily("2026-03-01"))(lambda: None)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: @asset has no option 'partition'; ...; did you mean 'partitions' or ...
    """

    def declare(made_by: Callable[..., Any], site: CallSite) -> StepDef:
        owner = f"asset {key if key is not None else getattr(made_by, '__name__', made_by)!r}"
        check_function(made_by, owner)
        own = {"key": key, "io": io, "kinds": kinds, "description": description, "metadata": metadata}
        check_options({**own, **options}, owner)
        out = Out(description_of(made_by, description), io, partition_columns, kinds, {}, metadata or {}, renamed_from)
        return make_step(made_by, site, {key if key is not None else made_by.__name__: out}, asset_options(options))

    if function is None:
        return _AssetDecorator(declare)
    return AssetFunction(function, declare(function, caller(1)))


def multi_asset(
    *,
    outs: Mapping[str, Out] | Sequence[str],
    partitions: PartitionsDef | None = None,
    deps: Sequence[Upstream] = (),
    retries: RetryPolicy | None = None,
    timeout: Duration | None = None,
    deadline: Duration | None = None,
    freshness: Freshness | None = None,
    wait_for: Wait | Sequence[Wait] = (),
    pool: Pool | None = None,
    max_active: int | None = None,
    queue: str | None = None,
    priority: int = 0,
    trigger_rule: TriggerRule = "all_success",
    batch: Batch = SINGLE,
    subsettable: bool = False,
    automation: Automation | None = None,
    on_code_change: OnCodeChange = "ignore",
    automatic_limit: int | None = None,
    fan_out: int = FAN_OUT,
    on_failure: Callback | None = None,
    on_success: Callback | None = None,
    code_version: str | None = None,
    group: str | None = None,
    owner: str | None = None,
    tags: Mapping[str, str] | None = None,
    isolation: Literal["fork", "spawn"] = "fork",
) -> _AssetDecorator:
    """Declare an atomic group: one function makes all of `outs`, and a partition publishes all of them or none.

    The function returns a dict of key to value, or yields `Output(value, asset=key)`. A member that had another key says
    `Out(renamed_from=...)`. With `subsettable=True` an attempt makes only the members that are needed: `context.assets` says
    which, and the function gives these and no others; of a partition it publishes all of them or none.

    >>> @multi_asset(outs=["orders", "refunds"])
    ... def both() -> dict[str, Relation]:
    ...     return {"orders": Relation.from_rows([{"n": 3}]), "refunds": Relation.from_rows([{"n": 1}])}
    >>> materialize(both).read("refunds").scalar()
    1
    >>> @multi_asset(outs=["day", "week"], subsettable=True)
    ... def totals(context: Context) -> dict[str, Relation]:
    ...     return {key: Relation.from_rows([{"of": key}]) for key in context.assets}
    >>> @asset
    ... def report(week: Relation) -> Relation:
    ...     return week
    >>> materialize([totals, report]).versions("day")
    {}
    """
    members = _members(outs)
    options = Options(
        partitions,
        deps,
        retries,
        timeout,
        deadline,
        freshness,
        wait_for,
        pool,
        max_active,
        queue,
        priority,
        trigger_rule,
        batch,
        automation,
        on_code_change,
        automatic_limit,
        fan_out,
        on_failure,
        on_success,
        code_version,
        group,
        owner,
        tags,
        isolation,
        subsettable,
    )
    name = f"group {', '.join(members)}"
    check_options({one.name: getattr(options, one.name) for one in fields(Options)}, name)

    def declare(function: Callable[..., Any], site: CallSite) -> StepDef:
        check_function(function, name)
        return make_step(function, site, members, options)

    return _AssetDecorator(declare)


def _members(outs: object) -> dict[str, Out]:
    """The members of a group by key."""
    listed = dict.fromkeys(outs, Out()) if isinstance(outs, list | tuple) else outs
    if not isinstance(listed, Mapping) or not all(
        isinstance(key, str) and isinstance(out, Out) for key, out in listed.items()
    ):
        raise DefinitionError(
            f"multi_asset(outs={outs!r})",
            rule="outs is a list of keys, or Out(...) by key",
            fix=f"write outs=[{outs!r}]" if isinstance(outs, str) else 'write for example {"orders": Out()}',
        )
    if not listed:
        raise DefinitionError("multi_asset(outs=...) names no asset", rule="a group makes one asset or more")
    for key, out in listed.items():
        own = {one.name: getattr(out, one.name) for one in fields(Out)}
        check_options(own, f"group {', '.join(listed)}: member {key!r}")
    return dict(listed)


def external(
    key: str,
    *,
    renamed_from: FormerKeys = (),
    partitions: PartitionsDef | None = None,
    description: str = "",
    group: str | None = None,
    owner: str | None = None,
    tags: Mapping[str, str] | None = None,
    kinds: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    observe: Literal["push"] | None = None,
    freshness: Freshness | None = None,
) -> ExternalAsset:
    """Declare an asset that something else makes. It is taken as present, with a constant version, unless it is observed.

    With `observe="push"` its producer says which data versions its partitions hold (`POST /api/events`, `partita report`): one of
    which nothing was said is missing, and one whose version moves makes consumers stale. `freshness` is then what its producer
    promises.

    >>> csv = external("source/orders", partitions=Daily("2026-03-01"), description="written by the till at 23:00")
    >>> @asset(partitions=Daily("2026-03-01"), deps=[csv])
    ... def orders(context: Context) -> Relation:
    ...     return Relation.from_parquet(f"/data/{context.partition.key}.parquet")
    >>> csv.key, orders.key
    ('source/orders', 'orders')
    >>> external("source/refunds", observe="push").definition.observed
    True
    """
    given = {"key": key, "description": description, "group": group, "owner": owner, "tags": tags, "kinds": kinds}
    check_options({**given, "metadata": metadata, "observe": observe, "freshness": freshness}, f"external({key!r})")
    site = caller(1)
    said = current().defaults_for(site)
    made = AssetDef(
        key=asset_key(key),
        place=site.place,
        kind="external",
        partitions=checked_partitions(partitions, key),
        description=description,
        group=group or said.group or "default",
        owner=owner or said.owner,
        tags={**said.tags, **(tags or {})},
        kinds=tuple(kinds),
        metadata=dict(metadata or {}),
        observed=observe is not None,
        freshness=_promised(freshness, observe, key),
        renamed_from=former_keys(renamed_from, asset_key(key)),
    )
    current().add_external(made)
    return ExternalAsset(made)


def _promised(freshness: Freshness | None, observe: str | None, key: str) -> Freshness | None:
    found = checked_freshness(freshness, f"external({key!r})")
    if found is not None and observe is None:
        raise DefinitionError(
            f"external({key!r}) has freshness= and nobody observes it",
            rule="what is not observed is taken as present: it is never late",
            fix='write observe="push", and let its producer report',
        )
    return found


def defaults(
    *,
    group: str | None = None,
    owner: str | None = None,
    tags: Mapping[str, str] | None = None,
    retries: RetryPolicy | None = None,
    pool: Pool | None = None,
    queue: str | None = None,
    timeout: Duration | None = None,
) -> None:
    """Set options of all definitions below it in this module; each may say otherwise.

    >>> defaults(group="shop", owner="team:shop", retries=RetryPolicy(3, delay="30s"))
    >>> defaults(retries=3)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: defaults(): retries=3; retries are a RetryPolicy; write RetryPolicy(3)
    """
    check_options({"group": group, "owner": owner, "tags": tags, "pool": pool}, "defaults()")
    site = caller(1)
    said = ModuleDefaults(
        place=site.place,
        group=group,
        owner=owner,
        tags=dict(tags or {}),
        retries=checked_retries(retries, "defaults()"),
        pools=None if pool is None else checked_pools(pool, "defaults()"),
        queue=DEFAULT_QUEUE if queue is None else check_queue(queue, "defaults()"),
        timeout_s=None if timeout is None else seconds(timeout, what="defaults(timeout=)"),
    )
    current().set_defaults(site, said)
