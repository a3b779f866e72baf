"""The snapshot: the serialised definitions of a code location, with canonical bytes and a content hash.

Equal definitions give equal bytes on any machine and in any run: no absolute paths, no timings, no ids of
processes or databases. Owns the wire form only; the domain values are built from it by `from_spec`
(`spec_values.py`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue, field_validator

from partita.assets.condition_specs import ConditionSpec
from partita.assets.evaluator_specs import EvaluatorSpec
from partita.assets.freshness_specs import FreshnessSpec
from partita.assets.keys import AssetKey, asset_key
from partita.assets.queues import DEFAULT_QUEUE
from partita.assets.scheme_specs import MappingSpec, PartitionsSpec, Spec
from partita.assets.wait_specs import WaitSpec


@lru_cache(maxsize=16_384)  # each key is read as an asset, a step and by every consumer
def _valid_key(text: str) -> AssetKey:
    try:
        return asset_key(text)
    except Exception as refused:  # pydantic collects ValueErrors with the address of the field
        raise ValueError(str(refused)) from None


Key = Annotated[AssetKey, AfterValidator(_valid_key)]


class RetrySpec(Spec):
    """How failed attempts are repeated: `max_retries` after the first; delays in seconds.

    >>> AssetSpec(key="orders", retries=RetrySpec(max_retries=3, delay_s=30.0)).retries.backoff
    'fixed'
    """

    max_retries: int = Field(0, ge=0)
    delay_s: float = Field(0.0, ge=0)
    backoff: Literal["fixed", "exponential"] = "fixed"
    max_delay_s: float | None = None
    jitter: float = Field(0.0, ge=0, le=1)


class InputSpec(Spec):
    """One upstream of an asset; `location` is set when the upstream is declared as remote.

    >>> flights = InputSpec(name="flights", upstream="raw/flights", mapping=IdentitySpec())
    >>> flights.kind, flights.location is None
    ('data', True)
    """

    name: str
    upstream: Key
    mapping: MappingSpec
    location: str | None = None
    kind: Literal["data", "order"] = "data"


class EagerSpec(Spec):
    """Automation: follow every upstream publication.

    >>> AssetSpec(key="orders", automation=EagerSpec()).automation.type
    'eager'
    """

    type: Literal["eager"] = "eager"


class ManualSpec(Spec):
    """Automation: none; people and backfills ask.

    >>> AssetSpec(key="orders").automation
    ManualSpec(type='manual')
    """

    type: Literal["manual"] = "manual"


AutomationSpec = Annotated[EagerSpec | ManualSpec | ConditionSpec, Field(discriminator="type")]
"""Wire form of what asks for partitions without a person, told apart by `type`.

>>> AssetSpec(key="orders", automation={"type": "eager"}).automation
EagerSpec(type='eager')
"""


class SingleBatchSpec(Spec):
    """One partition a task.

    >>> AssetSpec(key="orders").batch
    SingleBatchSpec(type='single')
    """

    type: Literal["single"] = "single"


class UpToBatchSpec(Spec):
    """At most n partitions a task.

    >>> UpToBatchSpec(n=30)
    UpToBatchSpec(type='up_to', n=30)
    """

    type: Literal["up_to"] = "up_to"
    n: int = Field(ge=1)


class AnyBatchSpec(Spec):
    """As many partitions a task as the planner likes.

    >>> AssetSpec(key="orders", batch=AnyBatchSpec()).batch
    AnyBatchSpec(type='any')
    """

    type: Literal["any"] = "any"


class PerBatchSpec(Spec):
    """One task for each slice: per dimension a duration such as "1d", or "all".

    >>> PerBatchSpec(dims={"hour": "1d", "origin": "all"})
    PerBatchSpec(type='per', dims={'hour': '1d', 'origin': 'all'})
    """

    type: Literal["per"] = "per"
    dims: dict[str, str]


BatchSpec = Annotated[SingleBatchSpec | UpToBatchSpec | AnyBatchSpec | PerBatchSpec, Field(discriminator="type")]
"""Wire form of how many partitions one task takes, told apart by `type`.

>>> AssetSpec(key="orders", batch={"type": "up_to", "n": 30}).batch
UpToBatchSpec(type='up_to', n=30)
"""


class PoolUse(Spec):
    """Slots that one attempt takes of a pool.

    >>> AssetSpec(key="orders", pools=[PoolUse(name="warehouse", slots=2)]).pools
    (PoolUse(name='warehouse', slots=2),)
    """

    name: str
    slots: int = Field(1, ge=1)


def reserved_pool(name: str) -> bool:
    """Whether this is the name of a cap, which no pool of people may have.

    >>> reserved_pool("warehouse"), reserved_pool("all"), reserved_pool("asset:orders")
    (False, True, True)
    """
    return name == "all" or name.startswith(("asset:", "location:", "backfill:", "run:", "!paused:"))


class SourceRef(Spec):
    """Where a definition stands; `file` is relative to the root of its location.

    >>> SourceRef(module="shop.orders", file="shop/orders.py", line=12).file
    'shop/orders.py'
    """

    module: str
    file: str
    line: int

    @field_validator("file")
    @classmethod
    def _relative(cls, file: str) -> str:
        if file.startswith("/") or file[1:3] in (":\\", ":/"):
            raise ValueError(f"source file {file!r} is absolute; give it relative to the root of the location")
        return file


TriggerRule = Literal[
    "all_success",
    "all_done",
    "all_failed",
    "all_skipped",
    "one_success",
    "one_failed",
    "one_done",
    "none_failed",
    "none_failed_min_one_success",
    "none_skipped",
    "always",
]
"""When a task runs, given how the upstream tasks of its run ended.

>>> AssetSpec(key=AssetKey("raw/orders"), trigger_rule="all_done").trigger_rule
'all_done'
"""


OnCodeChange = Literal["ignore", "rebuild"]
"""What automation does about published cells whose code or dependencies changed: nothing, or make them again.

>>> AssetSpec(key=AssetKey("raw/orders")).on_code_change
'ignore'
"""


class AssetSpec(Spec):
    """One asset. `fingerprint` is what staleness compares, `dependency_hash` covers upstreams, names and mappings.

    `subsettable`: its step can make some of its assets without the others. `renamed_from` are keys that it had before, the
    nearest first. `max_active` caps its tasks that are queued or running; workers of `queue` run them. `deadline_s`: each
    partition is due so long
    after its window closed, or after its launch where that is later or it has none. `wait_for` is what
    must come before an attempt starts, `freshness` what the asset promises, `resources` the classes that its step is handed.

    >>> orders = AssetSpec(key="raw/orders", group="shop", partitions=to_spec(Daily("2026-03-01")))
    >>> orders.key, orders.kind, orders.batch, from_spec(orders.partitions).tz
    ('raw/orders', 'asset', SingleBatchSpec(type='single'), 'UTC')
    """

    key: Key
    kind: Literal["asset", "external"] = "asset"
    step: str = ""
    description: str = ""
    group: str = "default"
    owner: str | None = None
    tags: dict[str, str] = Field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    partitions: PartitionsSpec | None = None
    inputs: tuple[InputSpec, ...] = ()
    code_version: str | None = None
    fingerprint: str = ""
    dependency_hash: str = ""
    io: str | None = None
    retries: RetrySpec = RetrySpec()
    timeout_s: float | None = None
    deadline_s: float | None = Field(None, gt=0)
    freshness: FreshnessSpec | None = None
    pools: tuple[PoolUse, ...] = ()
    max_active: int | None = Field(default=None, ge=1)
    queue: str = DEFAULT_QUEUE
    resources: tuple[str, ...] = ()
    priority: int = 0
    trigger_rule: TriggerRule = "all_success"
    wait_for: tuple[WaitSpec, ...] = ()
    batch: BatchSpec = SingleBatchSpec()
    subsettable: bool = False
    automation: AutomationSpec = ManualSpec()
    on_code_change: OnCodeChange = "ignore"
    automatic_limit: int | None = Field(None, ge=0)
    params_schema: dict[str, JsonValue] | None = None
    executor: Literal["location", "celery", "kubernetes"] = "location"
    isolation: Literal["fork", "spawn"] = "fork"
    observed: bool = False
    renamed_from: tuple[Key, ...] = ()
    source: SourceRef | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


class StepSpec(Spec):
    """The function ("module:qualname") that makes the assets of one atomic group.

    `code` says for people what the fingerprint is made of: by `module.name` a digest of each piece's own code, that of the
    function itself under the empty name.

    >>> StepSpec(id="orders+refunds", assets=["orders", "refunds"], function="shop.orders:both").assets
    ('orders', 'refunds')
    """

    id: str
    assets: tuple[Key, ...]
    function: str
    code: dict[str, str] = Field(default_factory=dict)


class CheckSpec(Spec):
    """A check on one asset; a blocking one must pass before the asset is published.

    >>> CheckSpec(name="has_rows", asset="raw/orders", blocking=True).blocking
    True
    """

    name: str
    asset: Key
    blocking: bool = False
    description: str = ""
    fingerprint: str = ""
    source: SourceRef | None = None


class ModuleSpec(Spec):
    """One user module and how its import went. The import time is never serialised, so it is never hashed.

    >>> print(canonical_json(ModuleSpec(name="shop.orders", import_s=0.4)).decode())
    {"error":null,"name":"shop.orders","ok":true}
    """

    name: str
    ok: bool = True
    error: str | None = None
    import_s: float = Field(0.0, exclude=True)


class Snapshot(Spec):
    """All definitions of a code location at one code version, in canonical order.

    >>> one = Snapshot(location="shop", assets=[AssetSpec(key="orders"), AssetSpec(key="items")])
    >>> other = Snapshot(location="shop", assets=[AssetSpec(key="items"), AssetSpec(key="orders")])
    >>> one == other, snapshot_hash(one) == snapshot_hash(other)
    (True, True)
    """

    format: int = 1
    location: str
    assets: tuple[AssetSpec, ...] = ()
    steps: tuple[StepSpec, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    modules: tuple[ModuleSpec, ...] = ()
    evaluators: tuple[EvaluatorSpec, ...] = ()

    @field_validator("evaluators")
    @classmethod
    def _sort_evaluators(cls, evaluators: tuple[EvaluatorSpec, ...]) -> tuple[EvaluatorSpec, ...]:
        return tuple(sorted(evaluators, key=lambda one: one.name))

    @field_validator("assets")
    @classmethod
    def _sort_assets(cls, assets: tuple[AssetSpec, ...]) -> tuple[AssetSpec, ...]:
        return tuple(sorted(assets, key=lambda one: one.key))

    @field_validator("steps")
    @classmethod
    def _sort_steps(cls, steps: tuple[StepSpec, ...]) -> tuple[StepSpec, ...]:
        return tuple(sorted(steps, key=lambda one: one.id))

    @field_validator("checks")
    @classmethod
    def _sort_checks(cls, checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
        return tuple(sorted(checks, key=lambda one: (one.asset, one.name)))

    @field_validator("modules")
    @classmethod
    def _sort_modules(cls, modules: tuple[ModuleSpec, ...]) -> tuple[ModuleSpec, ...]:
        return tuple(sorted(modules, key=lambda one: one.name))


def canonical_json(model: BaseModel) -> bytes:
    """The one byte form of a model: UTF-8 JSON, keys sorted, no blanks, every field present.

    >>> canonical_json(to_spec(Static("東京"))).decode()
    '{"keys":["東京"],"kind":"static"}'
    """
    plain = model.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def snapshot_hash(snapshot: Snapshot) -> str:
    """SHA-256 (hex) of the canonical bytes.

    >>> len(snapshot_hash(Snapshot(location="shop")))
    64
    >>> snapshot_hash(Snapshot(location="shop")) == snapshot_hash(Snapshot(location="lab"))
    False
    """
    return sha256(canonical_json(snapshot)).hexdigest()
