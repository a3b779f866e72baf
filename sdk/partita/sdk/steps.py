"""From options as written to the definition of a step: what they may be, and its record in the collector.

Owns the options that the members of a group share, and their errors. The decorators with their signatures are in `declare.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

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
from partita.assets.durations import Duration, seconds
from partita.assets.partitions.dynamic import FAN_OUT
from partita.assets.queues import check_queue
from partita.assets.wait_specs import check_names
from partita.sdk.automation import Automation, check_automation, checked_on_code_change, manual
from partita.sdk.callbacks import Callback, declare_callbacks
from partita.sdk.collector import CallSite, current
from partita.sdk.definitions import AssetDef, PartitionColumns, StepDef, StepOptions
from partita.sdk.former import former_keys
from partita.sdk.freshness import Freshness, checked_freshness
from partita.sdk.handles import Out
from partita.sdk.io.base import IOManager
from partita.sdk.policies import SINGLE, Batch, RetryPolicy, check_batch, checked_limit
from partita.sdk.references import Upstream
from partita.sdk.signature import Signature, returns_nothing, signature_of
from partita.sdk.watching import Wait, waits_of

Pool = str | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Options:
    """The options that the members of a group share, as written."""

    partitions: PartitionsDef | None = None
    deps: Sequence[Upstream] = ()
    retries: RetryPolicy | None = None
    timeout: Duration | None = None
    deadline: Duration | None = None
    freshness: Freshness | None = None
    wait_for: Wait | Sequence[Wait] = ()
    pool: Pool | None = None
    max_active: int | None = None
    queue: str | None = None
    priority: int = 0
    trigger_rule: TriggerRule = "all_success"
    batch: Batch = SINGLE
    automation: Automation | None = None
    on_code_change: OnCodeChange = "ignore"
    automatic_limit: int | None = None
    fan_out: int = FAN_OUT
    on_failure: Callback | None = None
    on_success: Callback | None = None
    code_version: str | None = None
    group: str | None = None
    owner: str | None = None
    tags: Mapping[str, str] | None = None
    isolation: Literal["fork", "spawn"] = "fork"
    subsettable: bool = False


def asset_options(given: Mapping[str, Any]) -> Options:
    """The options of `@asset` by name; it takes them as they come, so a name that is none of them is refused here."""
    known = [one.name for one in fields(Options) if one.name != "subsettable"]  # an asset by itself has no members
    for name in given:
        if name not in known:
            own = ["key", "renamed_from", "partition_columns", "io", "kinds", "description", "metadata"]
            raise DefinitionError(
                f"@asset has no option {name!r}",
                rule=f"its options are {', '.join(sorted([*known, *own]))}",
                fix=suggest(name, [*known, *own]),
            )
    return Options(**given)


def checked_retries(retries: object, owner: str) -> RetryPolicy | None:
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


def _checked_fan_out(cap: object, owner: str) -> int:
    if isinstance(cap, int) and not isinstance(cap, bool) and cap >= 1:
        return cap
    raise DefinitionError(
        f"{owner}: fan_out={cap!r}",
        rule="it is how many keys one attempt may add: a whole number, at least one",
        fix=f"leave it out for {FAN_OUT:,}",
    )


def _checked_deadline(deadline: Duration | None, owner: str) -> float | None:
    if deadline is None:
        return None
    found = seconds(deadline, what=f"{owner}: deadline")
    if not found:
        raise DefinitionError(
            f"{owner}: deadline={deadline!r}",
            rule="a partition is due some time after its window closed; nothing is made in no time",
            fix='write for example deadline="3h", or leave it out',
        )
    return found


def checked_waits(given: object, partitions: PartitionsDef | None, owner: str) -> tuple[Wait, ...]:
    waits = waits_of(given, owner)
    dims = dict(partitions.dims) if isinstance(partitions, MultiPartitions) else {}
    timed = any(isinstance(one, TimePartitions) for one in (partitions, *dims.values()))
    for wait in waits:
        check_names(wait.spec.args, ["partition", *(("start", "end") if timed else ()), *dims], owner)
    return waits


def make_step(function: Callable[..., Any], site: CallSite, outs: Mapping[str, Out], options: Options) -> StepDef:
    keys = [asset_key(key) for key in outs]
    owner = f"asset {keys[0]!r}" if len(keys) == 1 else f"group {', '.join(keys)}"
    said = current().defaults_for(site)
    signature = signature_of(function, owner=owner, local_names=site.local_names)
    partitions = checked_partitions(options.partitions, keys[0])
    check_batch(options.batch, partitions, owner)
    automation = manual() if options.automation is None else options.automation
    check_automation(automation, partitions, owner)
    if options.subsettable and not signature.contexts:
        raise DefinitionError(
            f"{owner} is subsettable and its function takes no Context",
            rule="context.assets says which members an attempt is to make",
            fix="add a parameter `context: Context`, or leave subsettable= out",
        )
    pools = dict(said.pools or {}) if options.pool is None else checked_pools(options.pool, owner)
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
            retries=checked_retries(options.retries, owner) or said.retries or RetryPolicy(),
            batch=options.batch,
            automation=automation,
            on_code_change=checked_on_code_change(options.on_code_change, owner),
            automatic_limit=checked_limit(options.automatic_limit, owner),
            fan_out=_checked_fan_out(options.fan_out, owner),
            pools=pools,
            max_active=options.max_active,
            queue=said.queue if options.queue is None else check_queue(options.queue, owner),
            timeout_s=said.timeout_s if options.timeout is None else seconds(options.timeout, what=f"{owner}: timeout"),
            deadline_s=_checked_deadline(options.deadline, owner),
            freshness=checked_freshness(options.freshness, owner),
            waits=checked_waits(options.wait_for, partitions, owner),
            priority=options.priority,
            trigger_rule=_checked_rule(options.trigger_rule, owner),
            isolation=options.isolation,
            code_version=options.code_version,
            subsettable=options.subsettable,
        ),
        place=site.place,
    )
    current().add_step(step)
    declare_callbacks(current(), site, step.id, owner, {"failed": options.on_failure, "success": options.on_success})
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


def checked_partitions(partitions: PartitionsDef | None, key: str) -> PartitionsDef | None:
    allowed = TimePartitions | StaticPartitions | DynamicPartitions | MultiPartitions
    if partitions is not None and not isinstance(partitions, allowed):
        raise DefinitionError(
            f"asset {key!r}: partitions={partitions!r}",
            rule="partitions are Daily(...), Hourly(...), Weekly(...), Monthly(...), TimeWindows(...), Static(...), "
            "Dynamic(...) or Multi(...)",
            fix='write for example Daily("2026-01-01")',
        )
    return partitions


def checked_pools(pool: Pool, owner: str) -> dict[str, int]:
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
