"""The snapshot: the serialised definitions of a code location, with canonical bytes and a content hash.

Equal definitions give equal bytes on any machine and in any run: no absolute paths, no timings, no ids of
processes or databases. Owns the wire form only; the domain values are built from it by `from_spec`
(`spec_values.py`).
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, field_validator

from partita.assets.keys import AssetKey, asset_key
from partita.assets.partitions.definitions import DYNAMIC_CAP


def _valid_key(text: str) -> AssetKey:
    try:
        return asset_key(text)
    except Exception as refused:  # pydantic collects ValueErrors with the address of the field
        raise ValueError(str(refused)) from None


Key = Annotated[AssetKey, AfterValidator(_valid_key)]


class Spec(BaseModel):
    """Base of all snapshot models: frozen, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CalendarSpec(Spec):
    """Wire form of BusinessDays; holidays are ISO dates."""

    weekdays: tuple[str, ...]
    holidays: tuple[str, ...] = ()


class TimeSpec(Spec):
    """Wire form of TimePartitions; start and end are ISO wall times of tz."""

    kind: Literal["time"] = "time"
    cron: str
    start: str
    end: str | None = None
    tz: str = "UTC"
    horizon: int = 0
    exclude: tuple[str, ...] = ()
    calendar: CalendarSpec | None = None


class StaticSpec(Spec):
    """Wire form of StaticPartitions."""

    kind: Literal["static"] = "static"
    keys: tuple[str, ...]


class DynamicSpec(Spec):
    """Wire form of DynamicPartitions."""

    kind: Literal["dynamic"] = "dynamic"
    name: str
    cap: int = DYNAMIC_CAP
    ttl_s: float | None = None


SinglePartitionsSpec = Annotated[TimeSpec | StaticSpec | DynamicSpec, Field(discriminator="kind")]


class DimensionSpec(Spec):
    """One named dimension of a multi scheme."""

    name: str
    partitions: SinglePartitionsSpec


class MultiSpec(Spec):
    """Wire form of MultiPartitions; the order of dimensions counts."""

    kind: Literal["multi"] = "multi"
    dims: tuple[DimensionSpec, ...]


PartitionsSpec = Annotated[TimeSpec | StaticSpec | DynamicSpec | MultiSpec, Field(discriminator="kind")]


class IdentitySpec(Spec):
    """Wire form of Identity."""

    type: Literal["identity"] = "identity"


class TimeOverlapSpec(Spec):
    """Wire form of TimeOverlap."""

    type: Literal["time_overlap"] = "time_overlap"
    offset_start: int = 0
    offset_end: int = 0
    unit: Literal["downstream", "upstream"] = "downstream"
    edge: Literal["require", "clip"] = "require"


class RollingSpec(Spec):
    """Wire form of Rolling."""

    type: Literal["rolling"] = "rolling"
    n: int
    unit: Literal["hours", "days", "weeks", "months", "years"]
    edge: Literal["require", "clip"] = "require"
    current: bool = True


class AllSpec(Spec):
    """Wire form of All."""

    type: Literal["all"] = "all"


class LastSpec(Spec):
    """Wire form of Last."""

    type: Literal["last"] = "last"


class SpecificSpec(Spec):
    """Wire form of Specific."""

    type: Literal["specific"] = "specific"
    keys: tuple[str, ...]


class StaticTableSpec(Spec):
    """Wire form of StaticTable: (downstream key, upstream keys)."""

    type: Literal["static_table"] = "static_table"
    table: tuple[tuple[str, tuple[str, ...]], ...]


DimensionMappingSpec = Annotated[
    IdentitySpec | TimeOverlapSpec | RollingSpec | AllSpec | LastSpec | SpecificSpec | StaticTableSpec,
    Field(discriminator="type"),
]


class DimensionPairSpec(Spec):
    """Wire form of DimensionPair."""

    up: str
    down: str | None
    mapping: DimensionMappingSpec


class DimensionsSpec(Spec):
    """Wire form of Dimensions."""

    type: Literal["dimensions"] = "dimensions"
    pairs: tuple[DimensionPairSpec, ...]


MappingSpec = Annotated[
    IdentitySpec | TimeOverlapSpec | RollingSpec | AllSpec | LastSpec | SpecificSpec | StaticTableSpec | DimensionsSpec,
    Field(discriminator="type"),
]


class RetrySpec(Spec):
    """How failed attempts are repeated: `max_retries` after the first; delays in seconds."""

    max_retries: int = Field(0, ge=0)
    delay_s: float = Field(0.0, ge=0)
    backoff: Literal["fixed", "exponential"] = "fixed"
    max_delay_s: float | None = None
    jitter: float = Field(0.0, ge=0, le=1)


class InputSpec(Spec):
    """One upstream of an asset; `location` is set when the upstream is declared as remote."""

    name: str
    upstream: Key
    mapping: MappingSpec
    location: str | None = None
    kind: Literal["data", "order"] = "data"


class EagerSpec(Spec):
    """Automation: follow every upstream publication."""

    type: Literal["eager"] = "eager"


class ManualSpec(Spec):
    """Automation: none; people and backfills ask."""

    type: Literal["manual"] = "manual"


AutomationSpec = Annotated[EagerSpec | ManualSpec, Field(discriminator="type")]


class SingleBatchSpec(Spec):
    """One partition a task."""

    type: Literal["single"] = "single"


class UpToBatchSpec(Spec):
    """At most n partitions a task."""

    type: Literal["up_to"] = "up_to"
    n: int = Field(ge=1)


class AnyBatchSpec(Spec):
    """As many partitions a task as the planner likes."""

    type: Literal["any"] = "any"


class PerBatchSpec(Spec):
    """One task for each slice: per dimension a duration such as "1d", or "all"."""

    type: Literal["per"] = "per"
    dims: dict[str, str]


BatchSpec = Annotated[SingleBatchSpec | UpToBatchSpec | AnyBatchSpec | PerBatchSpec, Field(discriminator="type")]


class PoolUse(Spec):
    """Slots that one attempt takes of a pool."""

    name: str
    slots: int = Field(1, ge=1)


class SourceRef(Spec):
    """Where a definition stands; `file` is relative to the root of its location."""

    module: str
    file: str
    line: int

    @field_validator("file")
    @classmethod
    def _relative(cls, file: str) -> str:
        if file.startswith("/") or file[1:3] in (":\\", ":/"):
            raise ValueError(f"source file {file!r} is absolute; give it relative to the root of the location")
        return file


class AssetSpec(Spec):
    """One asset. `fingerprint` is what staleness compares, `dependency_hash` covers upstreams, names and mappings."""

    key: Key
    kind: Literal["asset", "external"] = "asset"
    step: str = ""
    description: str = ""
    group: str = "default"
    owner: str | None = None
    tags: dict[str, str] = {}
    kinds: tuple[str, ...] = ()
    partitions: PartitionsSpec | None = None
    inputs: tuple[InputSpec, ...] = ()
    code_version: str | None = None
    fingerprint: str = ""
    dependency_hash: str = ""
    io: str | None = None
    retries: RetrySpec = RetrySpec()
    timeout_s: float | None = None
    pools: tuple[PoolUse, ...] = ()
    priority: int = 0
    batch: BatchSpec = SingleBatchSpec()
    automation: AutomationSpec = ManualSpec()
    params_schema: dict[str, JsonValue] | None = None
    executor: Literal["location", "celery", "kubernetes"] = "location"
    isolation: Literal["fork", "spawn"] = "fork"
    observed: bool = False
    source: SourceRef | None = None
    metadata: dict[str, JsonValue] = {}


class StepSpec(Spec):
    """The function ("module:qualname") that makes the assets of one atomic group.

    `code` says for people what the fingerprint is made of: by `module.name` a digest of each piece's own code, that of the
    function itself under the empty name.
    """

    id: str
    assets: tuple[Key, ...]
    function: str
    code: dict[str, str] = {}


class CheckSpec(Spec):
    """A check on one asset; a blocking one must pass before the asset is published."""

    name: str
    asset: Key
    blocking: bool = False
    description: str = ""
    fingerprint: str = ""
    source: SourceRef | None = None


class ModuleSpec(Spec):
    """One user module and how its import went. The import time is never serialised, so it is never hashed."""

    name: str
    ok: bool = True
    error: str | None = None
    import_s: float = Field(0.0, exclude=True)


class Snapshot(Spec):
    """All definitions of a code location at one code version, in canonical order."""

    format: int = 1
    location: str
    assets: tuple[AssetSpec, ...] = ()
    steps: tuple[StepSpec, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    modules: tuple[ModuleSpec, ...] = ()

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
    """The one byte form of a model: UTF-8 JSON, keys sorted, no blanks, every field present."""
    plain = model.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def snapshot_hash(snapshot: Snapshot) -> str:
    """SHA-256 (hex) of the canonical bytes."""
    return sha256(canonical_json(snapshot)).hexdigest()
