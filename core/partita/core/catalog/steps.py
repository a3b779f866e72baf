"""The steps of a catalog: which assets each makes, and an order in which each comes after those that it reads.

Where every step makes one asset the order of assets is the order of steps, and nothing has to be worked out. Refuses steps
that depend on each other through an asset between the members of a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from partita.assets import AssetKey, CycleError
from partita.assets.graph import AssetGraph
from partita.core.catalog.values import StepKey


class StepOrder:
    """`step_of` names the step of every asset that is made, which external ones are not. Raises CycleError."""

    def __init__(self, graph: AssetGraph, step_of: Mapping[AssetKey, StepKey]) -> None:
        self._graph = graph
        self._step_of = step_of
        self._grouped = len(set(step_of.values())) < len(step_of)
        if self._grouped:
            self._rank  # noqa: B018 - a cycle is refused when the catalog is made, not when somebody looks

    @cached_property
    def members(self) -> Mapping[StepKey, tuple[AssetKey, ...]]:
        """The assets of each step; steps and assets in topological order."""
        found = self._by_step()
        if not self._grouped:
            return found
        return {step: found[step] for step in sorted(found, key=self._rank.__getitem__)}

    def of(self, keys: Iterable[AssetKey]) -> list[tuple[AssetKey, ...]]:
        """The whole steps of these assets in the order of `members`; costs by what is asked for."""
        made = {key for key in keys if key in self._step_of}
        if not self._grouped:
            return [(key,) for key in sorted(made, key=self._graph.rank.__getitem__)]
        return [self.members[step] for step in sorted({self._step_of[key] for key in made}, key=self._rank.__getitem__)]

    @cached_property
    def _rank(self) -> Mapping[StepKey, int]:
        return {step: rank for rank, step in enumerate(_in_order(self._waits()))}

    def _by_step(self) -> dict[StepKey, tuple[AssetKey, ...]]:
        found: dict[StepKey, list[AssetKey]] = {}
        for key in self._graph.order:
            if key in self._step_of:
                found.setdefault(self._step_of[key], []).append(key)
        return {step: tuple(keys) for step, keys in found.items()}

    def _waits(self) -> dict[StepKey, set[StepKey]]:
        """Per step those that it reads."""
        step_of, assets = self._step_of, self._graph.assets
        return {
            step: {
                step_of[one.upstream]
                for key in keys
                for one in assets[key].inputs
                if one.upstream in step_of and step_of[one.upstream] != step
            }
            for step, keys in self._by_step().items()
        }


def _in_order(waits: Mapping[StepKey, set[StepKey]]) -> list[StepKey]:
    """Steps so that each comes after those it reads; a group's last member decides. Ties keep the order given."""
    done: list[StepKey] = []
    placed: set[StepKey] = set()
    path: list[StepKey] = []

    def place(step: StepKey) -> None:
        stack = [(step, iter(sorted(waits[step])))]
        path.append(step)
        while stack:
            current, rest = stack[-1]
            following = next((one for one in rest if one not in placed), None)
            if following is None:
                stack.pop()
                path.pop()
                placed.add(current)
                done.append(current)
            elif following in path:
                raise _step_cycle([*path[path.index(following) :], following])
            else:
                stack.append((following, iter(sorted(waits[following]))))
                path.append(following)

    for step in waits:
        if step not in placed:
            place(step)
    return done


def _step_cycle(path: Sequence[StepKey]) -> Exception:
    names = tuple(step.id for step in path)
    return CycleError(
        f"steps depend on each other: {' -> '.join(names)}",
        rule="the assets of one step are made together, so nothing between them may depend on the step",
        fix="take the asset in the middle out of the way, or split the group",
        path=names,
    )
