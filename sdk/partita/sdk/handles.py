"""What the decorators hand back: the function, still callable and typed, and a value that stands for its asset.

Owns the handles and the options of a group's members. Refuses to register anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, ParamSpec, TypeVar

from partita.assets import AssetKey, DefinitionError
from partita.sdk.definitions import AssetDef, CheckDef, PartitionColumns, StepDef
from partita.sdk.former import FormerKeys
from partita.sdk.io.base import IOManager

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

DEFAULT_IO: Final = "lake"


class DeclaredFunction(Generic[P, R_co]):
    """A decorated function: still callable with plain arguments, so that it is tested like any function."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[P, R_co]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self._function(*args, **kwargs)


class AssetFunction(DeclaredFunction[P, R_co]):
    """A decorated function: still callable with plain arguments, and a value that stands for its asset.

    `key` is the key of its asset; it raises DefinitionError for a group of several, whose keys are `keys`.

    >>> @asset(key="raw/orders")
    ... def orders() -> int:
    ...     return 3
    >>> orders.key, orders()
    ('raw/orders', 3)
    """

    def __init__(self, function: Callable[P, R_co], step: StepDef) -> None:
        super().__init__(function)
        self.step = step

    @property
    def key(self) -> AssetKey:
        """The key of its asset; an error for a group of several."""
        if len(self.step.assets) != 1:
            raise DefinitionError(
                f"{self.step.name} makes {len(self.step.assets)} assets",
                rule="a reference names one asset",
                fix=f"write one of the keys: {', '.join(one.key for one in self.step.assets)}",
            )
        return self.step.assets[0].key

    @property
    def keys(self) -> tuple[AssetKey, ...]:
        """The keys of all assets that it makes."""
        return tuple(one.key for one in self.step.assets)

    def __repr__(self) -> str:
        return f"<asset {', '.join(self.keys)} ({self.step.place})>"


class CheckFunction(DeclaredFunction[P, R_co]):
    """A decorated check: still callable with plain arguments, so that it is tested like any function.

    >>> @check("raw/orders", name="enough")
    ... def enough() -> CheckResult:
    ...     return CheckResult(True, {"rows": 3})
    >>> enough().detail
    {'rows': 3}
    """

    def __init__(self, function: Callable[P, R_co], definition: CheckDef) -> None:
        super().__init__(function)
        self.definition = definition

    def __repr__(self) -> str:
        return f"<check {self.definition.name} ({self.definition.place})>"


@dataclass(frozen=True, slots=True)
class ExternalAsset:
    """An asset that something else makes; made by `external()`. Name it in `deps=` or in `From(...)`.

    >>> external("source/orders").key
    'source/orders'
    """

    definition: AssetDef

    @property
    def key(self) -> AssetKey:
        """Its key."""
        return self.definition.key


@dataclass(frozen=True, slots=True)
class Out:
    """One asset of a `@multi_asset`: what differs from the options of the group.

    >>> @multi_asset(outs={"orders": Out(kinds=["duckdb"]), "audit": Out(io=None, description="sent by mail")})
    ... def both() -> dict[str, Relation]: ...
    >>> both.keys
    ('orders', 'audit')
    """

    description: str = ""
    io: str | IOManager | None = DEFAULT_IO
    partition_columns: PartitionColumns | None = None
    kinds: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    renamed_from: FormerKeys = ()
