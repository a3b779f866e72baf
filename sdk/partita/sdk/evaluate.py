"""Calls an evaluated function: from what the control plane hands over to what the function asks for, as JSON. Private.

Owns the translation and the refusal of results of a wrong kind. Never raises for user errors: they are the result.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from inspect import isawaitable
from typing import Any
from zoneinfo import ZoneInfo

from partita.assets import DefinitionError, EvaluatorSpec, PartitaError
from partita.sdk.asking import (
    AddKeys,
    Cursor,
    ObserveContext,
    PublishedEvent,
    Request,
    RunEvent,
    ScheduleContext,
    SensorContext,
)
from partita.sdk.callbacks import tell
from partita.sdk.evaluators import EvaluatorDef
from partita.sdk.outcomes import Skip
from partita.sdk.resources import Resource, ResourceScope

RESULT_LIMIT_BYTES = 4 * 1024 * 1024
MOST_REQUESTS = 1_000


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluation came to, in wire form. With `error` it failed and nothing of it counts."""

    cursor: str | None = None
    skip: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    requests: tuple[Mapping[str, Any], ...] = ()
    keys: tuple[Mapping[str, Any], ...] = ()
    broke: str = ""
    """Some of what it was told went wrong; the rest counts, and so does the cursor."""
    error: str = ""
    traceback: str = ""

    def to_json(self) -> dict[str, Any]:
        """The form that crosses the wire."""
        return {
            "cursor": self.cursor,
            "skip": self.skip,
            "versions": dict(self.versions),
            "requests": [dict(one) for one in self.requests],
            "keys": [dict(one) for one in self.keys],
            "broke": self.broke,
        }


def evaluate(definition: EvaluatorDef, given: Mapping[str, Any], resources: Iterable[Resource] = ()) -> Evaluated:
    """Call the function with what it was `given` (see `core/automation/handing.py`)."""
    try:
        found = _evaluate(definition, given, resources)
        size = len(json.dumps(found.to_json()))
        if size > RESULT_LIMIT_BYTES or len(found.requests) > MOST_REQUESTS:
            raise PartitaError(
                f"{definition.spec.name!r} asks for {len(found.requests):,} things in {size:,} bytes",
                rule=f"one evaluation asks for at most {MOST_REQUESTS:,}, in {RESULT_LIMIT_BYTES // 1024**2} MB",
                fix="ask for some and set the cursor there: the next evaluation goes on",
            )
        return found
    except Exception as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Evaluated(error=text, traceback=traceback.format_exc())


def _evaluate(definition: EvaluatorDef, given: Mapping[str, Any], resources: Iterable[Resource]) -> Evaluated:
    spec = definition.spec
    if spec.tasks:
        cursor, broke = tell(definition.function, given)
        return Evaluated(cursor, broke=broke)
    context = _context(spec, given)
    with ResourceScope(resources) as scope:
        arguments: dict[str, Any] = {name: scope.get(kind) for name, kind in definition.resources.items()}
        if definition.context is not None:
            arguments[definition.context] = context
        try:
            result = definition.function(**arguments)
            if isawaitable(result):
                result = asyncio.run(_awaited(result))
            found = list(result) if _many(result) else result
        except Skip as skip:
            return Evaluated(context.cursor, skip.reason or "it asked for nothing")
    if isinstance(context, ObserveContext):
        return Evaluated(context.cursor, versions=_versions(spec, found, context))
    if spec.ready is not None and isinstance(context, SensorContext):
        return Evaluated(context.cursor, requests=_ready(spec, found, context))
    return _asked(spec, found, context.cursor)


async def _awaited(result: Any) -> Any:
    return await result


def _many(result: Any) -> bool:
    return isinstance(result, Iterable) and not isinstance(result, str | Mapping | Request | AddKeys)


def _context(spec: EvaluatorSpec, given: Mapping[str, Any]) -> Cursor:
    now, cursor = datetime.fromisoformat(given["now"]), given.get("cursor")
    match spec.kind:
        case "observe":
            return ObserveContext(now, cursor, partitions=given["partitions"])
        case "schedule":
            zone = ZoneInfo(spec.tz or "UTC")
            tick = datetime.fromisoformat(given["tick"]).astimezone(zone)
            return ScheduleContext(now.astimezone(zone), cursor, tick=tick)
        case "sensor":
            return SensorContext(
                now,
                cursor,
                partitions=given.get("partitions", ()),
                events=[PublishedEvent(**{**one, "at": _instant(one["at"])}) for one in given.get("events", ())],
                runs=[RunEvent(**{**one, "at": _instant(one["at"])}) for one in given.get("runs", ())],
            )


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _versions(spec: EvaluatorSpec, found: Any, context: ObserveContext) -> dict[str, str]:
    if found is None:
        return {}
    if isinstance(found, str):
        if context.partitions != ("",):
            raise _wrong(spec, found, "a data version by partition key", 'return for example {"2026-03-01": "4f2a"}')
        return {"": found}
    if not isinstance(found, Mapping) or not all(isinstance(one, str) for pair in found.items() for one in pair):
        raise _wrong(spec, found, "data versions (texts) by partition key", "write str(...) around each version")
    return dict(found)


def _ready(spec: EvaluatorSpec, found: Any, context: SensorContext) -> tuple[Mapping[str, Any], ...]:
    keys = [] if found is None else found
    if isinstance(keys, str) or not isinstance(keys, list) or not all(isinstance(one, str) for one in keys):
        raise _wrong(spec, found, "some of context.partitions", "return a list of keys")
    strange = sorted(set(keys) - set(context.partitions))
    if strange:
        raise PartitaError(
            f"{spec.kind} {spec.name!r} says that {strange[0]!r} is ready, which it was not asked about",
            rule="what is ready is a part of context.partitions",
            fix="use requests of a sensor without ready= for others",
        )
    if not keys:
        return ()
    chosen = [one for one in context.partitions if one in set(keys)]
    return (Request(json.dumps(spec.ready), chosen, mode="missing").to_json(),)


def _asked(spec: EvaluatorSpec, found: Any, cursor: str | None) -> Evaluated:
    listed = [] if found is None else found if isinstance(found, list) else [found]
    requests: list[Mapping[str, Any]] = []
    keys: list[Mapping[str, Any]] = []
    for one in listed:
        if isinstance(one, Request):
            requests.append(one.to_json())
        elif isinstance(one, AddKeys) and spec.kind == "sensor":
            keys.append(one.to_json())
        else:
            raise _wrong(
                spec, one, "requests" if spec.kind == "schedule" else "requests and keys to add", "return Request(...)"
            )
    return Evaluated(cursor, requests=tuple(requests), keys=tuple(keys))


def _wrong(spec: EvaluatorSpec, found: Any, rule: str, fix: str) -> DefinitionError:
    return DefinitionError(f"{spec.kind} {spec.name!r} returns {found!r}", rule=f"it returns {rule}", fix=fix)
