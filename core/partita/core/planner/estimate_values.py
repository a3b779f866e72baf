"""How long a plan may take, as a value: for some numbers of slots, with the floor and the chain that makes it. Owns no rule."""

from __future__ import annotations

from dataclasses import dataclass

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import StepKey


@dataclass(frozen=True, slots=True)
class CriticalPart:
    """A piece of the critical path: `tasks` tasks of one step in a row, over these `cells` of its assets, in `duration_s`
    seconds."""

    assets: tuple[AssetKey, ...]
    cells: PartitionSet
    tasks: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class SlotTime:
    """With so many slots the plan takes so many seconds."""

    slots: int
    makespan_s: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """One attempt of a step takes `mean_s` seconds, by `n` earlier ones. With n = 0 it never ran and counts as the mean of
    the others."""

    step: StepKey
    mean_s: float
    n: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long a plan may take, in seconds, by the mean durations of `sample_size` earlier attempts.

    `slots` is what the live workers run at once now, and `makespan_s` the time with them; without a worker `slots` is 0 and
    the time is that of one slot. `by_slots` has the time for 1 … n slots, by number, up to that beyond which more do not
    help; as list schedules do, one more slot may cost a little. `critical_s` is the floor whatever the slots, made by the
    chain `critical`. `bound_pool` is the pool that holds the plan above that floor however many slots there are; None when
    the chain is the limit.
    """

    makespan_s: float
    critical_s: float
    critical: tuple[CriticalPart, ...]
    by_slots: tuple[SlotTime, ...]
    steps: tuple[StepTime, ...]
    slots: int
    bound_pool: str | None = None

    @property
    def sample_size(self) -> int:
        """How many earlier attempts the durations are the means of."""
        return sum(time.n for time in self.steps)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The ids of the steps that never ran."""
        return tuple(time.step.id for time in self.steps if not time.n)

    @property
    def critical_path(self) -> tuple[AssetKey, ...]:
        """The assets of the critical path, each once, in order."""
        return tuple(dict.fromkeys(key for part in self.critical for key in part.assets))

    @property
    def floor_s(self) -> float:
        """The time with any number of slots: `critical_s`, or more when a pool is the limit."""
        return min(one.makespan_s for one in self.by_slots)

    @property
    def enough_slots(self) -> int:
        """The fewest slots of `by_slots` that come within a tenth of the floor."""
        return next(one.slots for one in self.by_slots if one.makespan_s <= 1.1 * self.floor_s)

    @property
    def basis(self) -> str:
        """The basis in words."""
        runs = "attempt" if self.sample_size == 1 else "attempts"
        at_once = f"{self.slots} at once" if self.slots else "no worker is up"
        unknown = self.unknown
        named = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        return f"mean of {self.sample_size:,} earlier {runs}, {at_once}" + (f"; {named} never ran" if unknown else "")

    def at(self, slots: int) -> float:
        """The simulated time with so many slots; that of the next smaller number which was simulated."""
        return next((one.makespan_s for one in reversed(self.by_slots) if one.slots <= slots), self.makespan_s)
