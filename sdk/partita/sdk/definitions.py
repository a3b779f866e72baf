"""What the decorators record: frozen definitions, unresolved (names are still names).

Owns the values between decoration and snapshot. Refuses to register or to resolve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from partita.assets import AssetKey, OnCodeChange, PartitionsDef, TriggerRule
from partita.assets.partitions.dynamic import FAN_OUT
from partita.assets.queues import DEFAULT_QUEUE
from partita.sdk.automation import Automation
from partita.sdk.freshness import Freshness
from partita.sdk.policies import Batch, RetryPolicy
from partita.sdk.references import HasKey, Upstream
from partita.sdk.signature import Signature
from partita.sdk.watching import Wait

PartitionColumns = str | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a definition stands. `file` is relative to the location's root where there is one."""

    module: str
    """The listed module of the location whose import made the definition."""
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class AssetDef:
    """One asset, made by a step or external."""

    key: AssetKey
    place: Place
    kind: Literal["asset", "external"] = "asset"
    partitions: PartitionsDef | None = None
    description: str = ""
    group: str = "default"
    owner: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    io: str | None = None
    """Name of the IO manager; None for assets that write themselves."""
    partition_columns: PartitionColumns | None = None
    observed: bool = False
    """Of an external one: somebody says which data versions its partitions hold."""
    freshness: Freshness | None = None
    """Of an external asset: what its producer promises; of others it is the step's."""
    renamed_from: tuple[AssetKey, ...] = ()
    """Keys that it had before, the nearest first."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How a step is run."""

    retries: RetryPolicy
    batch: Batch
    automation: Automation
    pools: Mapping[str, int]
    timeout_s: float | None = None
    deadline_s: float | None = None
    freshness: Freshness | None = None
    waits: tuple[Wait, ...] = ()
    max_active: int | None = None
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    trigger_rule: TriggerRule = "all_success"
    on_code_change: OnCodeChange = "ignore"
    automatic_limit: int | None = None
    fan_out: int = FAN_OUT
    isolation: Literal["fork", "spawn"] = "fork"
    code_version: str | None = None
    subsettable: bool = False
    """Of a group: whether its function can make some members without the others."""


@dataclass(frozen=True, slots=True)
class StepDef:
    """A function and the assets of one atomic group that it makes."""

    id: str
    function: Callable[..., Any]
    signature: Signature
    assets: tuple[AssetDef, ...]
    deps: tuple[Upstream, ...]
    options: StepOptions
    place: Place

    @property
    def name(self) -> str:
        """module:qualname of the function."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


@dataclass(frozen=True, slots=True)
class CheckDef:
    """A function that judges one cell of an asset, after it was written and before it is published."""

    name: str
    asset: str | HasKey
    function: Callable[..., Any]
    signature: Signature
    blocking: bool
    description: str
    code_version: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class ModuleDefaults:
    """What `defaults()` of a module says; None: not said."""

    place: Place
    group: str | None = None
    owner: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    retries: RetryPolicy | None = None
    pools: Mapping[str, int] | None = None
    queue: str = DEFAULT_QUEUE
    timeout_s: float | None = None
