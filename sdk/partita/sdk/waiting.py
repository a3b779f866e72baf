"""Waiting in this process: for `materialize()` and `partita run`, where nobody else can watch a trigger.

Owns running a step to its end through its waits. A deployment does the same with rows, triggerers and new attempts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from partita.assets import PartitaError
from partita.assets.wait_specs import fill, fill_known
from partita.sdk.context import Partition, template_names
from partita.sdk.executable import StepHandle
from partita.sdk.inputs import cells_of, partitions_of
from partita.sdk.runtime_values import Deferral, FiredWait, StepRequest, StepResult, StepStatus
from partita.sdk.watching import watched


def run_waiting(handle: StepHandle, request: StepRequest, run: Callable[[StepRequest], StepResult]) -> StepResult:
    """Waits for what the step waits for, runs it, and again whenever it deferred, each time with the events so far."""
    events: list[FiredWait] = []
    try:
        events += [_await(wait) for wait in _waits_before(handle, request)]
        while True:
            result = run(replace(request, events=tuple(events)))
            if result.deferral is None:
                return result
            events.append(_await(result.deferral))
    except TimeoutError as late:
        return StepResult(StepStatus.FAILED_FOR_GOOD, str(late))
    except PartitaError as refused:
        return StepResult(StepStatus.FAILED, str(refused))


def _waits_before(handle: StepHandle, request: StepRequest) -> Iterator[Deferral]:
    specs = [wait.spec for wait in handle.step.options.waits]
    if not specs:
        return
    cells = {cell.partition: cell for own in cells_of(request).values() for cell in own}
    partitions: list[Partition] = partitions_of(list(cells.values()), handle.step.assets[0].partitions)
    found: dict[tuple[str, str], Deferral] = {}
    for spec in specs:
        for one in partitions:
            names = template_names(one)
            args = fill(spec.args, names)
            label = fill_known(spec.label, names)
            found.setdefault(
                (spec.trigger, repr(args)), Deferral(0, spec.trigger, args, label, spec.deadline_s, spec.poll_s)
            )
    for place, wait in enumerate(found.values()):
        yield replace(wait, place=place - len(found))


def _await(wait: Deferral) -> FiredWait:
    async def wait_here() -> object:
        now_s = datetime.now(UTC).timestamp()
        try:
            async with asyncio.timeout(wait.deadline_s):
                return await watched(wait.trigger, wait.args, since_s=now_s, poll_s=wait.poll_s, jitter=0.0)
        except TimeoutError:
            raise TimeoutError(f"{wait.label} did not come within {wait.deadline_s:g} s") from None

    return FiredWait(wait.place, wait.trigger, wait.args, asyncio.run(wait_here()))
