"""What `materialize()` hands back: outcomes, checks, logs, and the data while somebody holds the result.

Owns the in-memory publication table of one call. Refuses to run anything.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

from partita.assets import AssetKey, PartitaError, suggest
from partita.sdk.handles import AssetFunction, ExternalAsset
from partita.sdk.inputs import read_input
from partita.sdk.io.base import IOManager
from partita.sdk.relation import Relation
from partita.sdk.runtime_values import CellKind, CellOutcome, CheckOutcome, InputBinding, InputCell, StepResult

T = TypeVar("T")
Declared = AssetFunction[..., Any] | ExternalAsset


class MaterializationFailed(PartitaError):
    """A step failed in process. The traceback of the user's code is in its notes."""


@dataclass(slots=True, eq=False)
class TemporaryFolder:
    """A temporary folder that lives as long as somebody holds it."""

    path: Path
    __weakref__: Any = field(init=False, repr=False)

    @classmethod
    def make(cls) -> TemporaryFolder:
        folder = cls(Path(tempfile.mkdtemp(prefix="partita-lake-")))
        weakref.finalize(folder, shutil.rmtree, str(folder.path), ignore_errors=True)
        return folder


@dataclass(eq=False)
class MaterializeResult:
    """What happened, cell by cell; the data can be read until the result is dropped.

    `success` is False when a step failed and `raise_on_error=False` was given.

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def orders(context: Context) -> Relation:
    ...     context.log.info("asked the till")
    ...     return Relation.from_rows([{"orders": 3}])
    >>> made = materialize(orders, partitions="2026-03-01..2026-03-02")
    >>> made.success, sorted(made.versions(orders)), made.read(orders).count(), made.logs[0]
    (True, ['2026-03-01', '2026-03-02'], 2, ('INFO', 'asked the till'))
    """

    outcomes: list[CellOutcome] = field(default_factory=list)
    checks: list[CheckOutcome] = field(default_factory=list)
    logs: list[tuple[str, str]] = field(default_factory=list)
    """Level and text of every line that steps wrote to `context.log`."""
    failures: list[tuple[str, StepResult]] = field(default_factory=list)
    """Step and result of every attempt that neither succeeded nor skipped."""
    published: dict[tuple[AssetKey, str], InputCell] = field(default_factory=dict)
    managers: dict[str, IOManager] = field(default_factory=dict)
    made_by: dict[AssetKey, str] = field(default_factory=dict)
    """Name of the IO manager that stored each asset."""
    folder: object = None
    on_log: Callable[[str, str], None] | None = field(default=None, repr=False)
    """Hears each line of `logs` when it is written."""

    @property
    def success(self) -> bool:
        """Whether no step failed."""
        return not self.failures

    @overload
    def read(self, asset: str | Declared, partition: str | None = None) -> Relation: ...
    @overload
    def read(self, asset: str | Declared, partition: str | None = None, *, kind: type[T]) -> T: ...
    def read(self, asset: str | Declared, partition: str | None = None, *, kind: Any = Relation) -> Any:
        """The published rows of an asset: of one partition (its stored key), or of all that this call made."""
        key = self._key(asset)
        cells = [cell for (one, name), cell in self.published.items() if one == key and partition in (None, name)]
        if not cells:
            known = [name for one, name in self.published if one == key]
            raise PartitaError(
                f"asset {key!r} has no published partition {partition!r} here"
                if known
                else f"{key!r} was not published here",
                rule="only what this call made can be read",
                fix=suggest(partition or "", known),
            )
        binding = InputBinding(key, key, self.made_by.get(key, ""), cells=tuple(cells))
        value = read_input(binding, kind, self.managers, f"read({key!r})")
        return value.holding(self) if isinstance(value, Relation) else value

    def versions(self, asset: str | Declared) -> dict[str, str]:
        """Data version by partition."""
        key = self._key(asset)
        return {name: cell.data_version for (one, name), cell in self.published.items() if one == key}

    def _key(self, asset: str | Declared) -> AssetKey:
        if not isinstance(asset, str):
            return asset.key
        known = {one for one, _ in self.published}
        matching = [one for one in known if one == asset] or [one for one in known if one.endswith(f"/{asset}")]
        return matching[0] if len(matching) == 1 else AssetKey(asset)

    def cell(self, outcome: CellOutcome) -> None:
        """Reporter: take a cell; a written one is published."""
        self.outcomes.append(outcome)
        if outcome.kind is CellKind.WRITTEN:
            found = InputCell(outcome.partition, outcome.data_version, outcome.location)
            self.published[AssetKey(outcome.asset), outcome.partition] = found

    def check(self, outcome: CheckOutcome) -> None:
        """Reporter: take a check."""
        self.checks.append(outcome)

    def log(self, level: str, text: str) -> None:
        """Reporter: take a log line."""
        self.logs.append((level, text))
        if self.on_log is not None:
            self.on_log(level, text)
