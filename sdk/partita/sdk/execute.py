"""Runs one attempt of a step: inputs in, function, store, checks, outcomes out.

Owns the order of things and what becomes of errors. Within one partition a group's assets go together: when one of them
fails its blocking check, none is reported as written. Refuses to publish: whoever listens to the reporter does.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import iscoroutine, iscoroutinefunction
from pathlib import Path
from typing import Any

from partita.assets import AssetKey, PartitaError
from partita.assets.digest import DERIVED
from partita.assets.metadata import checked_metadata
from partita.sdk.context import Context, Deferred
from partita.sdk.executable import StepHandle
from partita.sdk.inputs import cells_of, partitions_of, read_input
from partita.sdk.io.base import IOManager, PerCell, ReadContext, WriteContext, Written
from partita.sdk.load import LoadedLocation
from partita.sdk.outcomes import CheckResult, Fail, RetryLater, Skip
from partita.sdk.outputs import Given, sort_outputs
from partita.sdk.resolve import ResolvedCheck
from partita.sdk.resources import ResourceScope
from partita.sdk.runtime_values import (
    CellKind,
    CellOutcome,
    CheckOutcome,
    InputCell,
    Reporter,
    StepRequest,
    StepResult,
    StepStatus,
    TargetCell,
)

_LONGEST_VERSION = 1024
_OWN_FOLDER = str(Path(__file__).parent)


def run_step(
    location: LoadedLocation, request: StepRequest, report: Reporter, *, resources: ResourceScope | None = None
) -> StepResult:
    """Run one attempt in this process. Cells that it got far enough to know about are reported once each.

    Never raises for user errors. Without `resources` the step gets its own, torn down at the end.
    """
    handle = location.steps.get(request.step)
    if handle is None:
        return StepResult(StepStatus.FAILED_FOR_GOOD, f"step {request.step!r} is not defined in this version")
    if resources is not None:
        return _Attempt(location, handle, request, report, resources).run()
    own = ResourceScope()
    try:
        return _Attempt(location, handle, request, report, own).run()
    finally:  # also when the attempt is told to stop
        try:
            own.close()
        except Exception as error:  # the data is written and judged: a failing teardown takes nothing back
            report.log("ERROR", f"teardown of a resource failed: {_message(error)}")


@dataclass(slots=True)
class _Stored:
    """The cells of one asset on their way: written, then judged."""

    ctx: WriteContext
    manager: IOManager | None
    written: list[Written]


class _Attempt:
    def __init__(
        self,
        location: LoadedLocation,
        handle: StepHandle,
        request: StepRequest,
        report: Reporter,
        resources: ResourceScope,
    ) -> None:
        self._location = location
        self._handle = handle
        self._request = request
        self._report = report
        self._resources = resources
        self._owner = f"asset {handle.step.id!r}"
        self._cells = cells_of(request)
        self._failed: dict[str, str] = {}
        """Why a partition is not to be published, by partition."""

    def run(self) -> StepResult:
        try:
            return self._run()
        except Skip as skip:
            for cells in self._cells.values():
                for cell in cells:
                    self._report.cell(CellOutcome(cell.asset, cell.partition, CellKind.SKIPPED, error=skip.reason))
            return StepResult(StepStatus.SKIPPED, skip.reason)
        except RetryLater as later:
            wait_s = -1.0 if later.after_s is None else later.after_s
            return StepResult(StepStatus.RETRY_LATER, later.reason, retry_in_s=wait_s)
        except Fail as fail:
            return StepResult(StepStatus.FAILED_FOR_GOOD, fail.reason, _traceback(fail))
        except Deferred as deferred:
            return StepResult(StepStatus.DEFERRED, deferral=deferred.deferral)
        except (Exception, SystemExit) as error:
            return StepResult(StepStatus.FAILED, _message(error), _traceback(error))

    def _run(self) -> StepResult:
        step = self._handle.step
        context = self._context()
        arguments = self._arguments(step.signature.contexts, step.signature.resources, context)
        if step.signature.params is not None:
            name, model = step.signature.params
            arguments[name] = _params(model, self._request.params, self._owner)
        for param in step.signature.inputs:
            arguments[param.name] = self._input(param.name, param.annotation, self._owner)
        returned = step.function(**arguments)
        if iscoroutine(returned):
            returned = asyncio.run(returned)
        given = sort_outputs(returned, self._cells, self._owner, members=[made.key for made in step.assets])
        if context.waits_for is not None:
            raise Fail(
                f"{self._owner} caught the end of its attempt at context.defer(), and went on: let BaseException pass"
            )
        stored: dict[AssetKey, _Stored] = {}
        try:
            for key, one in given.items():
                stored[key] = self._write(key, one, context)
            for key, one_stored in stored.items():
                self._judge(key, one_stored, context)
        except BaseException:
            for one_stored in stored.values():
                _discard(one_stored)
            raise
        ended = self._finish(given, stored)
        return replace(ended, added=context.added_partitions) if ended.status is StepStatus.SUCCESS else ended

    def _context(self) -> Context:
        # Each partition once, though a task may have other partitions of one member than of another.
        cells = {cell.partition: cell for own in self._cells.values() for cell in own}
        return Context(
            assets=tuple(self._cells),
            partitions=partitions_of(list(cells.values()), self._handle.step.assets[0].partitions),
            attempt_id=self._request.attempt_id,
            attempt=self._request.attempt_number,
            run_id=self._request.run_id,
            fence=self._request.fence,
            emit=self._report.log,
            fired=self._request.events,
            asynchronous=iscoroutinefunction(self._handle.step.function),
            fan_out=self._handle.step.options.fan_out,
            traceparent=self._request.traceparent,
        )

    def _arguments(
        self, contexts: Sequence[str], resources: Sequence[tuple[str, Any]], context: Context
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = dict.fromkeys(contexts, context)
        arguments.update((name, self._resources.get(kind)) for name, kind in resources)
        return arguments

    def _input(self, name: str, annotation: Any, owner: str) -> Any:
        binding = next((one for one in self._request.inputs if one.name == name), None)
        if binding is None:
            raise PartitaError(f"{owner}: input {name!r} was not handed in", rule="the request binds every input")
        return read_input(binding, annotation, self._location.io, f"{owner}: input {name!r}")

    def _write(self, key: AssetKey, given: Given, context: Context) -> _Stored:
        made = next(one for one in self._handle.step.assets if one.key == key)
        manager = self._handle.io[key]
        cells = tuple(cell for cell in self._cells[key] if cell.partition not in given.skipped)
        ctx = WriteContext(
            asset=key,
            attempt_id=self._request.attempt_id,
            fence=self._request.fence,
            cells=cells,
            partitions=made.partitions,
            partition_columns=made.partition_columns,
        )
        if not cells:
            written = []
        elif manager is None:
            written = [self._self_written(cell, given) for cell in cells]
        elif given.whole is not None:
            written = manager.write(ctx, given.whole.value)
        else:
            written = manager.write(ctx, PerCell({key: one.value for key, one in given.by_partition.items()}))
        return _Stored(ctx, manager, [_with_said(one, given, context) for one in written])

    def _self_written(self, cell: TargetCell, given: Given) -> Written:
        if given.output_of(cell.partition).value is not None:
            raise PartitaError(
                f"{self._owner} says io=None and returned a value",
                rule="an asset that stores its data itself returns Output(data_version=..., metadata=...) or None",
                fix="name an IO manager, or store the value in the function",
            )
        # Unknown data: a version of its own, so that consumers look again.
        return Written(cell.partition, "", f"attempt:{self._request.attempt_id}", -1)

    def _judge(self, key: AssetKey, stored: _Stored, context: Context) -> None:
        for check in self._handle.checks:
            if check.asset != key:
                continue
            for one in stored.written:
                outcome = self._check(check, stored, one, context)
                self._report.check(outcome)
                if check.definition.blocking and not outcome.passed:
                    why = f"blocking check {outcome.check!r} of {key!r} failed"
                    detail = outcome.detail.get("error")
                    self._failed.setdefault(one.partition, f"{why}: {detail}" if detail else why)

    def _check(self, check: ResolvedCheck, stored: _Stored, cell: Written, context: Context) -> CheckOutcome:
        definition = check.definition
        try:
            result = self._call_check(check, stored, cell, context)
            if isinstance(result, bool):
                result = CheckResult(result)
            if not isinstance(result, CheckResult):
                raise PartitaError(
                    f"check {definition.name!r} returned a {type(result).__name__}",
                    rule="a check returns bool or CheckResult",
                    fix="convert it with bool()",
                )
            passed, detail = result.passed, checked_metadata(result.detail)
        except (Exception, SystemExit) as error:
            self._report.log("ERROR", f"check {definition.name!r} raised\n{_traceback(error)}")
            passed, detail = False, {"error": _message(error)}
        return CheckOutcome(definition.name, check.asset, cell.partition, passed, definition.blocking, detail)

    def _call_check(self, check: ResolvedCheck, stored: _Stored, cell: Written, context: Context) -> Any:
        signature = check.definition.signature
        owner = f"check {check.definition.name!r}"
        arguments = self._arguments(signature.contexts, signature.resources, context)
        if signature.params is not None:
            name, model = signature.params
            arguments[name] = _params(model, self._request.params, owner)
        for param in signature.inputs:
            if param.name not in check.checked:
                arguments[param.name] = self._input(param.name, param.annotation, owner)
            elif stored.manager is not None:
                unpublished = (InputCell(cell.partition, cell.data_version, cell.location),)
                reading = ReadContext(check.asset, unpublished, param.annotation, f"{owner}: {param.name!r}")
                arguments[param.name] = stored.manager.read(reading)
        return check.definition.function(**arguments)

    def _finish(self, given: dict[AssetKey, Given], stored: dict[AssetKey, _Stored]) -> StepResult:
        outcomes: list[CellOutcome] = []
        for key, one in stored.items():
            good = [cell for cell in one.written if cell.partition not in self._failed]
            if one.manager is not None and good:
                good = one.manager.commit(one.ctx, good)
            elif one.written:
                _discard(one)
            outcomes += [
                CellOutcome(key, cell.partition, CellKind.WRITTEN, cell.data_version, cell.location, cell.metadata)
                for cell in good
            ]
            outcomes += [
                CellOutcome(key, cell.partition, CellKind.FAILED, error=self._failed[cell.partition])
                for cell in one.written
                if cell.partition in self._failed
            ]
            outcomes += [
                CellOutcome(key, partition, CellKind.SKIPPED, error=reason)
                for partition, reason in given[key].skipped.items()
            ]
        for outcome in outcomes:
            self._report.cell(outcome)
        if self._failed:
            partition, why = next(iter(self._failed.items()))
            more = f" and {len(self._failed) - 1} more" if len(self._failed) > 1 else ""
            return StepResult(StepStatus.FAILED, why + (f" (partition {partition!r}{more})" if partition else ""))
        if all(one.kind is CellKind.SKIPPED for one in outcomes):
            return StepResult(StepStatus.SKIPPED, outcomes[0].error)
        return StepResult(StepStatus.SUCCESS)


def _with_said(written: Written, given: Given, context: Context) -> Written:
    """What the user said about the cell stands above what the store found."""
    said = given.output_of(written.partition)
    version = written.data_version if said.data_version is None else said.data_version
    if not version:
        raise PartitaError('Output(data_version="")', rule="a data version is not empty", fix="leave it out")
    if version.startswith(DERIVED):
        raise PartitaError(
            f"data version {version!r}",
            rule=f"what begins with {DERIVED!r} are versions of cells that were put together after a change of partitions",
            fix="begin it with something else",
        )
    if len(version) > _LONGEST_VERSION:
        raise PartitaError(
            f"Output(data_version=...) has {len(version):,} characters",
            rule=f"a data version has at most {_LONGEST_VERSION:,}: it is compared whole, never cut",
            fix="give a digest of it",
        )
    rows = {"rows": written.rows} if written.rows >= 0 else {}
    metadata = checked_metadata({**rows, **written.metadata, **context.attached_metadata, **said.metadata})
    return replace(written, data_version=version, metadata=metadata)


def _discard(stored: _Stored) -> None:
    if stored.manager is not None and stored.written:
        stored.manager.discard(stored.ctx, stored.written)


def _params(model: Any, values: Any, owner: str) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(values or {}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Fail(f"{owner}: params do not fit {model.__name__}: {where}: {first['msg']}") from None


def _message(error: BaseException) -> str:
    if isinstance(error, PartitaError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _traceback(error: BaseException) -> str:
    """The traceback without the frames of the platform."""
    described = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [described]
    while pending:
        one = pending.pop()
        if one is not None:
            own = [frame for frame in one.stack if not frame.filename.startswith(_OWN_FOLDER)]
            one.stack = traceback.StackSummary.from_list(own)
            pending += [one.__cause__, one.__context__]
    return "".join(described.format())
