"""The decorators and `external()`: they record definitions and hand the function back, still callable and typed.

Owns the public options and their errors. Refuses to resolve names or to compute fingerprints: the snapshot does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args, overload

from partita.assets import (
    DefinitionError,
    DynamicPartitions,
    MultiPartitions,
    OnCodeChange,
    PartitionsDef,
    StaticPartitions,
    TimePartitions,
    TriggerRule,
    asset_key,
    reserved_pool,
    suggest,
)
from partita.sdk.collector import CallSite, caller, current
from partita.sdk.definitions import (
    AssetDef,
    CheckDef,
    ModuleDefaults,
    PartitionColumns,
    StepDef,
    StepOptions,
)
from partita.sdk.durations import Duration, seconds
from partita.sdk.former import FormerKeys, former_keys
from partita.sdk.handles import DEFAULT_IO, AssetFunction, CheckFunction, ExternalAsset, Out
from partita.sdk.io.base import IOManager
from partita.sdk.option_types import check_function, check_options
from partita.sdk.outcomes import CheckResult
from partita.sdk.policies import (
    SINGLE,
    Automation,
    Batch,
    RetryPolicy,
    check_batch,
    checked_limit,
    checked_on_code_change,
    manual,
)
from partita.sdk.references import HasKey, Upstream
from partita.sdk.signature import Signature, returns_nothing, signature_of

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Pool = str | Mapping[str, int]


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
    pool: Pool | None = None,
    max_active: int | None = None,
    priority: int = 0,
    trigger_rule: TriggerRule = "all_success",
    batch: Batch = SINGLE,
    automation: Automation | None = None,
    on_code_change: OnCodeChange = "ignore",
    automatic_limit: int | None = None,
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
    `pool` is a name or {name: slots}; `max_active` is how many of its tasks may hold slots at once, over all runs.
    `trigger_rule` says when it runs, given how the upstream tasks of its run ended: after all of them succeeded unless given.
    `on_code_change="rebuild"` lets automation make the asset's history again when its code
    or its dependencies change; "ignore" leaves it as it is. An automatic request of more than `automatic_limit` cells waits
    for a person (the deployment's limit unless given). `code_version` replaces the fingerprint of the code. Raises
    DefinitionError.

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
        out = Out(_docstring(made_by, description), io, partition_columns, kinds, {}, metadata or {}, renamed_from)
        return _step(made_by, site, {key if key is not None else made_by.__name__: out}, _options(options))

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
    pool: Pool | None = None,
    max_active: int | None = None,
    priority: int = 0,
    trigger_rule: TriggerRule = "all_success",
    batch: Batch = SINGLE,
    subsettable: bool = False,
    automation: Automation | None = None,
    on_code_change: OnCodeChange = "ignore",
    automatic_limit: int | None = None,
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
    options = _Options(
        partitions,
        deps,
        retries,
        timeout,
        pool,
        max_active,
        priority,
        trigger_rule,
        batch,
        automation,
        on_code_change,
        automatic_limit,
        code_version,
        group,
        owner,
        tags,
        isolation,
        subsettable,
    )
    name = f"group {', '.join(members)}"
    check_options({one.name: getattr(options, one.name) for one in fields(_Options)}, name)

    def declare(function: Callable[..., Any], site: CallSite) -> StepDef:
        check_function(function, name)
        return _step(function, site, members, options)

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
) -> ExternalAsset:
    """Declare an asset that something else makes. It is taken as present, with a constant version.

    >>> csv = external("source/orders", partitions=Daily("2026-03-01"), description="written by the till at 23:00")
    >>> @asset(partitions=Daily("2026-03-01"), deps=[csv])
    ... def orders(context: Context) -> Relation:
    ...     return Relation.from_parquet(f"/data/{context.partition.key}.parquet")
    >>> csv.key, orders.key
    ('source/orders', 'orders')
    """
    given = {"key": key, "description": description, "group": group, "owner": owner, "tags": tags, "kinds": kinds}
    check_options({**given, "metadata": metadata}, f"external({key!r})")
    site = caller(1)
    said = current().defaults_for(site)
    made = AssetDef(
        key=asset_key(key),
        place=site.place,
        kind="external",
        partitions=_checked_partitions(partitions, key),
        description=description,
        group=group or said.group or "default",
        owner=owner or said.owner,
        tags={**said.tags, **(tags or {})},
        kinds=tuple(kinds),
        metadata=dict(metadata or {}),
        renamed_from=former_keys(renamed_from, asset_key(key)),
    )
    current().add_external(made)
    return ExternalAsset(made)


class _CheckDecorator:
    def __init__(
        self,
        asset: str | HasKey,
        *,
        name: str | None,
        blocking: bool,
        description: str | None,
        code_version: str | None,
    ) -> None:
        if not isinstance(asset, str | HasKey):
            raise DefinitionError(
                f"check({asset!r})", rule="a check names an asset of this location, or its key", fix="name the asset"
            )
        given = {"name": name, "blocking": blocking, "description": description, "code_version": code_version}
        check_options(given, f"check of {asset if isinstance(asset, str) else asset.key}")
        self._asset = asset_key(asset) if isinstance(asset, str) else asset
        self._name = name
        self._blocking = blocking
        self._description = description
        self._code_version = code_version

    def __call__(self, function: Callable[P, bool | CheckResult]) -> CheckFunction[P, bool | CheckResult]:
        site = caller(1)
        name = self._name or str(getattr(function, "__name__", function))
        check_function(function, f"check {name!r}")
        signature = signature_of(function, owner=f"check {name!r}", local_names=site.local_names)
        if signature.returns not in (bool, CheckResult, bool | CheckResult, Any):
            raise DefinitionError(
                f"check {name!r} returns {signature.returns!r}", rule="a check returns bool or CheckResult"
            )
        made = CheckDef(
            name=name,
            asset=self._asset,
            function=function,
            signature=signature,
            blocking=self._blocking,
            description=_docstring(function, self._description),
            code_version=self._code_version,
            place=site.place,
        )
        current().add_check(made)
        return CheckFunction(function, made)


def check(
    asset: str | HasKey,
    /,
    *,
    name: str | None = None,
    blocking: bool = False,
    description: str | None = None,
    code_version: str | None = None,
) -> _CheckDecorator:
    """Declare a check of one asset. It runs in the attempt, per partition, on the written and unpublished data.

    The parameter named like the asset receives the cell; others may be the step's own inputs, the Context, resources.
    A cell whose `blocking` check fails is not published.

    >>> @asset
    ... def orders() -> Relation:
    ...     return Relation.from_rows([{"amount": -1}])
    >>> @check(orders, blocking=True)
    ... def amounts_are_positive(orders: Relation) -> bool:
    ...     return orders.sql("select bool_and(amount > 0) from self").scalar()
    >>> materialize(orders, raise_on_error=False).success
    False
    """
    return _CheckDecorator(asset, name=name, blocking=blocking, description=description, code_version=code_version)


def defaults(
    *,
    group: str | None = None,
    owner: str | None = None,
    tags: Mapping[str, str] | None = None,
    retries: RetryPolicy | None = None,
    pool: Pool | None = None,
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
        retries=_checked_retries(retries, "defaults()"),
        pools=None if pool is None else _pools(pool, "defaults()"),
        timeout_s=None if timeout is None else seconds(timeout, what="defaults(timeout=)"),
    )
    current().set_defaults(site, said)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options that the members of a group share, as written."""

    partitions: PartitionsDef | None = None
    deps: Sequence[Upstream] = ()
    retries: RetryPolicy | None = None
    timeout: Duration | None = None
    pool: Pool | None = None
    max_active: int | None = None
    priority: int = 0
    trigger_rule: TriggerRule = "all_success"
    batch: Batch = SINGLE
    automation: Automation | None = None
    on_code_change: OnCodeChange = "ignore"
    automatic_limit: int | None = None
    code_version: str | None = None
    group: str | None = None
    owner: str | None = None
    tags: Mapping[str, str] | None = None
    isolation: Literal["fork", "spawn"] = "fork"
    subsettable: bool = False


def _options(given: Mapping[str, Any]) -> _Options:
    """The options of `@asset` by name; it takes them as they come, so a name that is none of them is refused here."""
    known = [one.name for one in fields(_Options) if one.name != "subsettable"]  # an asset by itself has no members
    for name in given:
        if name not in known:
            own = ["key", "renamed_from", "partition_columns", "io", "kinds", "description", "metadata"]
            raise DefinitionError(
                f"@asset has no option {name!r}",
                rule=f"its options are {', '.join(sorted([*known, *own]))}",
                fix=suggest(name, [*known, *own]),
            )
    return _Options(**given)


def _checked_retries(retries: object, owner: str) -> RetryPolicy | None:
    if retries is None or isinstance(retries, RetryPolicy):
        return retries
    raise DefinitionError(
        f"{owner}: retries={retries!r}",
        rule="retries are a RetryPolicy",
        fix=f"write RetryPolicy({retries})"
        if isinstance(retries, int)
        else 'write for example RetryPolicy(3, delay="30s")',
    )


def _checked_rule(rule: object, owner: str) -> TriggerRule:
    if rule in get_args(TriggerRule):
        return cast(TriggerRule, rule)
    raise DefinitionError(
        f"{owner}: trigger_rule={rule!r}",
        rule=f"a trigger rule is one of {', '.join(get_args(TriggerRule))}",
        fix=suggest(str(rule), get_args(TriggerRule)),
    )


def _step(function: Callable[..., Any], site: CallSite, outs: Mapping[str, Out], options: _Options) -> StepDef:
    keys = [asset_key(key) for key in outs]
    owner = f"asset {keys[0]!r}" if len(keys) == 1 else f"group {', '.join(keys)}"
    said = current().defaults_for(site)
    signature = signature_of(function, owner=owner, local_names=site.local_names)
    partitions = _checked_partitions(options.partitions, keys[0])
    check_batch(options.batch, partitions, owner)
    if options.subsettable and not signature.contexts:
        raise DefinitionError(
            f"{owner} is subsettable and its function takes no Context",
            rule="context.assets says which members an attempt is to make",
            fix="add a parameter `context: Context`, or leave subsettable= out",
        )
    pools = dict(said.pools or {}) if options.pool is None else _pools(options.pool, owner)
    assets = []
    for key, out in zip(keys, outs.values(), strict=True):
        if isinstance(out.io, IOManager):
            current().add_io(out.io, site.place)
            pools.update(out.io.pools)
        _refuse_lost_value(signature, out, owner)
        _check_columns(out.partition_columns, partitions, owner)
        assets.append(
            AssetDef(
                key=key,
                place=site.place,
                partitions=partitions,
                description=out.description,
                group=options.group or said.group or "default",
                owner=options.owner or said.owner,
                tags={**said.tags, **(options.tags or {}), **out.tags},
                kinds=tuple(out.kinds),
                metadata=dict(out.metadata),
                io=out.io.name if isinstance(out.io, IOManager) else out.io,
                partition_columns=out.partition_columns,
                renamed_from=former_keys(out.renamed_from, key),
            )
        )
    step = StepDef(
        id="+".join(sorted(keys)),  # "+" is in no key
        function=function,
        signature=signature,
        assets=tuple(assets),
        deps=tuple(asset_key(one) if isinstance(one, str) else one for one in options.deps),
        options=StepOptions(
            retries=_checked_retries(options.retries, owner) or said.retries or RetryPolicy(),
            batch=options.batch,
            automation=options.automation or manual(),
            on_code_change=checked_on_code_change(options.on_code_change, owner),
            automatic_limit=checked_limit(options.automatic_limit, owner),
            pools=pools,
            max_active=options.max_active,
            timeout_s=said.timeout_s if options.timeout is None else seconds(options.timeout, what=f"{owner}: timeout"),
            priority=options.priority,
            trigger_rule=_checked_rule(options.trigger_rule, owner),
            isolation=options.isolation,
            code_version=options.code_version,
            subsettable=options.subsettable,
        ),
        place=site.place,
    )
    current().add_step(step)
    return step


def _refuse_lost_value(signature: Signature, out: Out, owner: str) -> None:
    if out.io is not None and returns_nothing(signature):
        name = out.io if isinstance(out.io, str) else out.io.name
        raise DefinitionError(
            f"{owner} returns None but io={name!r} stores what is returned",
            rule="an asset that stores its data itself says io=None",
            fix="return the data, or write io=None",
        )


def _check_columns(columns: PartitionColumns | None, partitions: PartitionsDef | None, owner: str) -> None:
    if columns is None:
        return
    if isinstance(partitions, MultiPartitions):
        names = [name for name, _ in partitions.dims]
        if isinstance(columns, str) or sorted(columns) != sorted(names):
            raise DefinitionError(
                f"{owner}: partition_columns={columns!r}",
                rule=f"it names one column for each dimension: {', '.join(names)}",
                fix="write {" + ", ".join(f'"{name}": "COLUMN"' for name in names) + "}",
            )
    elif partitions is None or not isinstance(columns, str):
        raise DefinitionError(
            f"{owner}: partition_columns={columns!r}",
            rule="an asset with one dimension names one column; an unpartitioned one has none",
            fix='write partition_columns="COLUMN", or leave it out',
        )


def _checked_partitions(partitions: PartitionsDef | None, key: str) -> PartitionsDef | None:
    allowed = TimePartitions | StaticPartitions | DynamicPartitions | MultiPartitions
    if partitions is not None and not isinstance(partitions, allowed):
        raise DefinitionError(
            f"asset {key!r}: partitions={partitions!r}",
            rule="partitions are Daily(...), Hourly(...), Weekly(...), Monthly(...), TimeWindows(...), Static(...), "
            "Dynamic(...) or Multi(...)",
            fix='write for example Daily("2026-01-01")',
        )
    return partitions


def _pools(pool: Pool, owner: str) -> dict[str, int]:
    pools = {pool: 1} if isinstance(pool, str) else dict(pool)
    for name, slots in pools.items():
        if not name or slots < 1:
            raise DefinitionError(
                f"{owner}: pool {name!r} with {slots} slots", rule="an attempt takes one slot or more"
            )
        if reserved_pool(name):
            raise DefinitionError(
                f"{owner}: pool {name!r} has the name of a cap",
                rule="`all`, and names that begin with asset:, location: or backfill:, are those of caps",
                fix="give the pool another name; max_active= caps the tasks of one asset",
            )
    return pools


def _docstring(function: Callable[..., Any], given: str | None) -> str:
    return given if given is not None else inspect.getdoc(function) or ""
