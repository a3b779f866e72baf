"""Which sets of upstream tasks get a gate, and how a window over many tasks is put together from blocks. Pure.

A set is runs of positions: one run for a window, however wide. Edges are rows only up to a mean of about four a task (DESIGN
section 6). Beyond that, a set that several tasks wait for becomes one gate, and a run that is left is put together from blocks
of 4, 8, 16, ... tasks that begin at multiples of their size: windows that overlap share them. A gate counts down once for all
behind it and has their trigger rule, so gates exist only for rules that hold of a whole exactly when they hold of its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from partita.assets import TriggerRule

Span = tuple[int, int]
Bundle = tuple[Span, ...]  # ascending, apart
MEAN_EDGES = 4
SMALLEST_BLOCK = 4
_BY_PARTS: frozenset[TriggerRule] = frozenset({"all_success", "all_done", "none_failed", "none_skipped"})


@dataclass(frozen=True, slots=True)
class Wait:
    """Tasks of this rule wait for this set. `own`: the set is of the waiting step itself, whose skips satisfy it."""

    rule: TriggerRule
    bundle: Bundle
    own: bool = False

    def over(self, start: int, stop: int) -> Wait:
        """The same for this run."""
        return Wait(self.rule, ((start, stop),), self.own)


@dataclass(frozen=True, slots=True)
class Gates:
    """`shared` sets have a gate each; with `blocks` the runs of all other sets are put together from blocks."""

    shared: frozenset[Wait]
    blocks: bool

    def parts(self, wait: Wait) -> tuple[Sequence[int], Sequence[Wait]]:
        """What a task waits for instead of a set: upstream positions, and gates."""
        return ((), (wait,)) if wait in self.shared else self._pieces(wait)

    def inside(self, gate: Wait) -> tuple[Sequence[int], Sequence[Wait]]:
        """What a gate waits for: a block for its halves, the smallest for its tasks."""
        if not self.blocks or not is_block(gate):
            return self._pieces(gate)
        ((start, stop),) = gate.bundle
        if stop - start == SMALLEST_BLOCK:
            return range(start, stop), ()
        middle = (start + stop) // 2
        return (), (gate.over(start, middle), gate.over(middle, stop))

    def _pieces(self, wait: Wait) -> tuple[Sequence[int], Sequence[Wait]]:
        loose: list[int] = []
        blocks: list[Wait] = []
        for start, stop in wait.bundle:
            if not self.blocks or wait.rule not in _BY_PARTS or stop - start < SMALLEST_BLOCK:
                loose += range(start, stop)
                continue
            for first, last in aligned(start, stop):
                if last - first < SMALLEST_BLOCK:
                    loose += range(first, last)
                else:
                    blocks.append(wait.over(first, last))
        return loose, blocks


def choose_gates(waits: Iterable[Wait], tasks: int) -> Gates:
    """The gates of a plan with so many tasks: none while it is thin."""
    uses = Counter(waits)
    edges = sum(size(wait.bundle) * n for wait, n in uses.items())
    if edges <= MEAN_EDGES * tasks:
        return Gates(frozenset(), blocks=False)
    shared: set[Wait] = set()
    for wait, n in uses.items():
        many = size(wait.bundle)
        if wait.rule in _BY_PARTS and many * n > many + n:
            shared.add(wait)
            edges -= many * n - many - n
    return Gates(frozenset(shared), blocks=edges > MEAN_EDGES * (tasks + len(shared)))


def is_block(wait: Wait) -> bool:
    """Whether a set is one block: a power of two of tasks that begins at a multiple of it."""
    if len(wait.bundle) != 1:
        return False
    ((start, stop),) = wait.bundle
    n = stop - start
    return n >= SMALLEST_BLOCK and n & (n - 1) == 0 and start % n == 0


def size(bundle: Bundle) -> int:
    """How many tasks a set has."""
    return sum(stop - start for start, stop in bundle)


def without(bundle: Bundle, position: int) -> Bundle:
    """A set without one of its positions.

    >>> without(((3, 8),), 5)
    ((3, 5), (6, 8))
    """
    found: list[Span] = []
    for start, stop in bundle:
        if start <= position < stop:
            found += [piece for piece in ((start, position), (position + 1, stop)) if piece[0] < piece[1]]
        else:
            found.append((start, stop))
    return tuple(found)


def aligned(start: int, stop: int) -> Iterator[Span]:
    """A run as the fewest aligned powers of two, in order.

    >>> list(aligned(3, 21))
    [(3, 4), (4, 8), (8, 16), (16, 20), (20, 21)]
    """
    while start < stop:
        most = (start & -start) or 1 << (stop - start).bit_length()
        while most > stop - start:
            most //= 2
        yield start, start + most
        start += most
