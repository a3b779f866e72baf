"""The tasks of a large launch in columns. They read as a sequence of `LaunchTask`, which are made when somebody asks for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property, partial
from itertools import chain
from typing import overload

import numpy as np

from partita.core.duties.values import LaunchCell, LaunchTask
from partita.core.store.values_tables import Bools, CellTable, Ints

Upstream = Sequence[tuple[int, ...]]


class LaunchTasks(Sequence[LaunchTask]):
    """`kinds[kind[i]]` is the task i but for its cells, upstream, wave, chain, and whether it is conditional.

    The cells' `task` are places in this sequence. None of the tasks has waits.
    """

    def __init__(
        self,
        kinds: Sequence[LaunchTask],
        kind: Ints,
        *,
        upstream: Upstream,
        wave: Ints,
        critical_path: Ints,
        conditional: Bools,
        cells: CellTable,
    ) -> None:
        self.kinds = tuple(kinds)
        self.kind = kind
        self.upstream = upstream
        self.wave = wave
        self.critical_path = critical_path
        self.conditional = conditional
        self.cells = cells

    def __len__(self) -> int:
        return len(self.kind)

    def __iter__(self) -> Iterator[LaunchTask]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> LaunchTask: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LaunchTask]: ...
    def __getitem__(self, index: int | slice) -> LaunchTask | Sequence[LaunchTask]:
        return self._rows[index]

    def edges(self) -> tuple[Ints, Ints]:
        """(upstream, downstream) places of all edges, downstream ascending."""
        counts = np.fromiter(map(len, self.upstream), dtype=np.int64, count=len(self))
        above = np.fromiter(chain.from_iterable(self.upstream), dtype=np.int64, count=int(counts.sum()))
        return above, np.repeat(np.arange(len(self)), counts)

    @cached_property
    def _rows(self) -> tuple[LaunchTask, ...]:
        make = [_maker(kind) for kind in self.kinds]
        own: list[list[LaunchCell]] = [[] for _ in self.kind]
        windows = self.cells.windows()
        for new, window in zip(self.cells.rows(), windows, strict=True):
            own[new.task_id].append(LaunchCell(new.cell, new.reason, window, new.conditional))
        columns = (self.kind, self.wave, self.critical_path, self.conditional)
        rows = zip(own, self.upstream, *(column.tolist() for column in columns), strict=True)
        return tuple(
            make[kind](cells=tuple(cells), upstream=up, wave=wave, critical_path=below, conditional=conditional)
            for cells, up, kind, wave, below, conditional in rows
        )


def _maker(kind: LaunchTask) -> Callable[..., LaunchTask]:
    return partial(LaunchTask, **{one.name: getattr(kind, one.name) for one in fields(LaunchTask)})
