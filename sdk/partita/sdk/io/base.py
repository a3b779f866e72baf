"""The seam between steps and storage: what an IO manager is asked, and what it answers.

Owns the port and its values. Refuses to import any storage library: the managers do, when they are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from partita.assets import AssetKey, PartitionsDef
from partita.sdk.definitions import PartitionColumns
from partita.sdk.runtime_values import InputCell, TargetCell


@dataclass(frozen=True, slots=True)
class PerCell:
    """Values that the step gave cell by cell, by stored partition key."""

    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The cells of one asset that one attempt writes."""

    asset: AssetKey
    attempt_id: str
    fence: int
    cells: tuple[TargetCell, ...]
    partitions: PartitionsDef | None = None
    partition_columns: PartitionColumns | None = None
    """Which column tells the key of which dimension; None when rows do not say where they belong."""


@dataclass(frozen=True, slots=True)
class Written:
    """One cell as the store holds it. `location` is opaque to all but the manager's own `read`."""

    partition: str
    location: str
    data_version: str
    rows: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Which cells to hand over, and as what."""

    asset: AssetKey
    cells: tuple[InputCell, ...]
    annotation: Any
    """The type that the step asks for, without `Annotated`."""
    reader: str
    """Who reads, for error messages: "delays: input 'flights'"."""


class IOManager(ABC):
    """Stores what steps return and reads it back. Managers are values: equal settings, equal managers.

    An attempt calls `write`, then lets the checks read the written cells, then `commit`s those that passed and
    `discard`s the others. `write` must not change what is published. `data_version` says what the data is: equal
    versions, equal data.

    >>> from partita.sdk.io.base import ReadContext, WriteContext, Written
    >>> class Memory(IOManager):
    ...     name = "memory"
    ...     kept: dict[str, object] = {}
    ...     def write(self, ctx: WriteContext, value: object) -> list[Written]:
    ...         self.kept[ctx.attempt_id] = value
    ...         return [Written(cell.partition, ctx.attempt_id, f"v{value}", rows=1) for cell in ctx.cells]
    ...     def read(self, ctx: ReadContext) -> object:
    ...         return self.kept[ctx.cells[0].location]
    >>> @asset(io=Memory())
    ... def answer() -> int:
    ...     return 42
    >>> made = materialize(answer)
    >>> made.read(answer, kind=int), made.versions(answer)
    (42, {'': 'v42'})
    """

    name: str

    @property
    def pools(self) -> Mapping[str, int]:
        """Pools, with slots, that every attempt which writes through this manager takes."""
        return {}

    def preload(self) -> None:  # noqa: B027 - optional
        """Import what reading and writing need, and open nothing: attempts are forked from the process that did."""

    def check_reading(self, annotation: Any, reader: str) -> None:  # noqa: B027 - optional
        """Raise PartitaError when no cell can ever be handed over as this type; asked when a location is loaded."""

    def check_writing(self, annotation: Any, owner: str) -> None:  # noqa: B027 - optional
        """Raise PartitaError when what a step says it returns can never be stored; asked when a location is loaded."""

    @abstractmethod
    def write(self, ctx: WriteContext, value: Any) -> list[Written]:
        """Store `value` (a `PerCell`, or one value for all cells) for every cell of `ctx`."""

    def commit(self, ctx: WriteContext, written: Sequence[Written]) -> list[Written]:
        """Make the cells ready for publication; the result carries their final locations."""
        return list(written)

    def discard(self, ctx: WriteContext, written: Sequence[Written]) -> None:  # noqa: B027 - optional
        """Forget cells whose checks failed. Stores that never overwrite have nothing to do."""

    @abstractmethod
    def read(self, ctx: ReadContext) -> Any:
        """The union of the cells, converted to `ctx.annotation`."""
