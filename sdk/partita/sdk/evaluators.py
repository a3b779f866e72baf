"""`@observe`, `@schedule`, `@sensor`: functions that are evaluated on a clock in the code location.

Owns the decorators, their options and errors. What such a function is given and hands back is `asking`'s, how it is called
`evaluate`'s.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from pydantic import ValidationError

from partita.assets import AssetKey, DefinitionError, suggest
from partita.assets.condition_specs import CatchUp
from partita.assets.durations import Duration, seconds
from partita.assets.evaluator_specs import EvaluatorKind, EvaluatorSpec, RunEnd
from partita.sdk.asking import Asked, Cursor, ObserveContext, Request, ScheduleContext, SensorContext
from partita.sdk.collector import CallSite, caller, current
from partita.sdk.definitions import Place
from partita.sdk.handles import AssetFunction, DeclaredFunction, ExternalAsset
from partita.sdk.option_types import check_function, description_of
from partita.sdk.references import HasKey
from partita.sdk.resources import Resource

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
_Versions = Mapping[str, str] | str | None
_Requests = Request | Iterable[Request] | None
_Sensed = Request | Iterable[Asked] | Iterable[str] | None
Versions = TypeVar("Versions", bound=_Versions | Awaitable[_Versions])
Requests = TypeVar("Requests", bound=_Requests | Awaitable[_Requests])
Sensed = TypeVar("Sensed", bound=_Sensed | Awaitable[_Sensed])

_CONTEXTS: Mapping[EvaluatorKind, type[Cursor]] = {
    "observe": ObserveContext,
    "schedule": ScheduleContext,
    "sensor": SensorContext,
}


@dataclass(frozen=True, slots=True)
class EvaluatorDef:
    """One evaluated function. `context` and `resources` are the names of its parameters."""

    spec: EvaluatorSpec
    function: Callable[..., Any]
    context: str | None
    resources: Mapping[str, type[Resource]]
    place: Place


class EvaluatorFunction(DeclaredFunction[P, R_co]):
    """A decorated function: still callable with plain arguments, so that it is tested like any function."""

    def __init__(self, function: Callable[P, R_co], definition: EvaluatorDef) -> None:
        super().__init__(function)
        self.definition = definition

    def __repr__(self) -> str:
        return f"<{self.definition.spec.kind} {self.definition.spec.name} ({self.definition.place})>"


class _Observe:
    def __init__(self, declare: Callable[[Callable[..., Any], CallSite], EvaluatorDef]) -> None:
        self._declare = declare

    def __call__(self, function: Callable[P, Versions]) -> EvaluatorFunction[P, Versions]:
        return EvaluatorFunction(function, self._declare(function, caller(1)))


class _Schedule:
    def __init__(self, declare: Callable[[Callable[..., Any], CallSite], EvaluatorDef]) -> None:
        self._declare = declare

    def __call__(self, function: Callable[P, Requests]) -> EvaluatorFunction[P, Requests]:
        return EvaluatorFunction(function, self._declare(function, caller(1)))


class _Sensor:
    def __init__(self, declare: Callable[[Callable[..., Any], CallSite], EvaluatorDef]) -> None:
        self._declare = declare

    def __call__(self, function: Callable[P, Sensed]) -> EvaluatorFunction[P, Sensed]:
        return EvaluatorFunction(function, self._declare(function, caller(1)))


def observe(
    asset: ExternalAsset,
    /,
    *,
    every: Duration | None = None,
    cron: str | None = None,
    tz: str | None = None,
    newest: int = 100,
    timeout: Duration = "1m",
    name: str | None = None,
    owner: str | None = None,
    description: str | None = None,
) -> _Observe:
    """Declare the function that looks at an external asset and says which data versions its partitions hold.

    It is evaluated `every` so long, or by a `cron` in a zone, is given the `newest` partitions that exist, and returns versions
    by key (or one text, for an asset without partitions). Of a partition that it does not name nothing is said. One whose version
    moves makes consumers stale; one that was never observed is missing.

    >>> files = external("source/orders", partitions=Daily("2026-03-01"))
    >>> @observe(files, every="5m", newest=31)
    ... def sizes(context: ObserveContext) -> dict[str, str]:
    ...     return {key: "1,024 bytes" for key in context.partitions}
    >>> sizes(ObserveContext(datetime(2026, 3, 2, tzinfo=UTC), partitions=["2026-03-01"]))
    {'2026-03-01': '1,024 bytes'}
    """
    if not isinstance(asset, ExternalAsset):
        raise DefinitionError(
            f"observe({asset!r})",
            rule="what partita does not make is observed",
            fix="name an asset made by external(...)",
        )
    current().observe_external(asset.key)
    timing = {"every": every, "cron": cron, "tz": tz, "timeout": timeout}
    return _Observe(_declaring("observe", name, owner, description, timing, observes=asset.key, newest=newest))


def schedule(
    cron: str,
    /,
    *,
    tz: str,
    catch_up: CatchUp = "latest",
    timeout: Duration = "1m",
    name: str | None = None,
    owner: str | None = None,
    description: str | None = None,
) -> _Schedule:
    """Declare a function that is asked at each tick of a cron what is to be made: it returns requests, or nothing.

    Each tick is evaluated once. `catch_up` says what becomes of ticks that were missed: "latest" evaluates the last of them,
    "all" each in turn, "none" waits for the next. `raise Skip("why")` notes why a tick asks for nothing. For partitions whose
    window closes, `automation=on_close()` needs no function.

    >>> @asset(partitions=Static("EU", "US"))
    ... def prices() -> Relation: ...
    >>> @schedule("0 6 * * mon-fri", tz="Europe/Berlin")
    ... def opening(context: ScheduleContext) -> Request:
    ...     return Request(prices, ["EU"], mode="all", tags={"tick": context.tick.isoformat()})
    >>> opening.definition.spec.tz
    'Europe/Berlin'
    """
    if catch_up not in get_args(CatchUp):
        raise DefinitionError(
            f"schedule(catch_up={catch_up!r})",
            rule="catch_up is one of none, latest, all",
            fix=suggest(str(catch_up), get_args(CatchUp)),
        )
    timing = {"every": None, "cron": cron, "tz": tz, "timeout": timeout}
    return _Schedule(_declaring("schedule", name, owner, description, timing, catch_up=catch_up))


def sensor(
    *,
    every: Duration | None = None,
    cron: str | None = None,
    tz: str | None = None,
    ready: str | HasKey | None = None,
    watches: Sequence[str | HasKey] = (),
    runs: Sequence[RunEnd] = (),
    newest: int = 100,
    timeout: Duration = "1m",
    name: str | None = None,
    owner: str | None = None,
    description: str | None = None,
) -> _Sensor:
    """Declare a function that looks now and then, and asks for what it finds: it returns or yields requests and keys.

    With `ready=` it is given the newest missing partitions of an asset and returns those that are ready; they are asked for.
    With `watches=` it is told of each publication of these assets, with `runs=` of each run that ended so. Without either it
    keeps a cursor of its own.

    >>> @asset(partitions=Daily("2026-03-01"))
    ... def orders() -> Relation: ...
    >>> @sensor(every="1m", ready=orders)
    ... def files_are_there(context: SensorContext) -> list[str]:
    ...     return [key for key in context.partitions if key < "2026-03-03"]
    >>> @sensor(every="30s", runs=["failed"])
    ... def tell(context: SensorContext) -> list[Request]:
    ...     return [Request("health", key=str(run.run_id), mode="all") for run in context.runs]
    """
    if isinstance(watches, str):
        raise DefinitionError(
            f"sensor(watches={watches!r})", rule="watches is a list of assets", fix=f"write [{watches!r}]"
        )
    if ready is not None and (watches or runs):
        raise DefinitionError(
            "sensor(ready=..., watches=..., runs=...)",
            rule="a sensor says which partitions are ready, or is told of events",
            fix="write two sensors",
        )
    timing = {"every": every, "cron": cron, "tz": tz, "timeout": timeout}
    return _Sensor(
        _declaring(
            "sensor",
            name,
            owner,
            description,
            timing,
            ready=None if ready is None else _key(ready),
            watches=tuple(_key(one) for one in watches),
            runs=tuple(runs),
            newest=newest,
        )
    )


def _key(asset: str | HasKey) -> AssetKey:
    return AssetKey(asset) if isinstance(asset, str) else asset.key


def _declaring(
    kind: EvaluatorKind,
    name: str | None,
    owner: str | None,
    description: str | None,
    timing: Mapping[str, Any],
    **more: Any,
) -> Callable[[Callable[..., Any], CallSite], EvaluatorDef]:
    def declare(function: Callable[..., Any], site: CallSite) -> EvaluatorDef:
        called = name or str(getattr(function, "__name__", function))
        what = f"{kind} {called!r}"
        if isinstance(function, AssetFunction | EvaluatorFunction):
            raise DefinitionError(
                f"{what} is declared twice", rule="a function is one thing", fix="write two functions"
            )
        check_function(function, what)
        context, resources = _parameters(function, kind, what, site)
        every = timing["every"]
        try:
            spec = EvaluatorSpec(
                name=called,
                kind=kind,
                function=f"{function.__module__}:{function.__qualname__}",
                description=description_of(function, description),
                owner=owner or current().defaults_for(site).owner,
                every_s=None if every is None else seconds(every, what=f"{kind}(every=)"),
                cron=timing["cron"],
                tz=timing["tz"],
                timeout_s=seconds(timing["timeout"], what=f"{kind}(timeout=)"),
                module=site.place.module,
                **more,
            )
        except ValidationError as refused:
            raise DefinitionError(
                f"{what}: {refused.errors()[0]['msg'].removeprefix('Value error, ')}",
                rule="it is evaluated every so long, or by a cron in a time zone",
                fix='write for example every="1m", or cron="0 6 * * *", tz="Europe/Berlin"',
            ) from None
        made = EvaluatorDef(spec, function, context, resources, site.place)
        current().add_evaluator(made)
        return made

    return declare


def _parameters(
    function: Callable[..., Any], kind: EvaluatorKind, what: str, site: CallSite
) -> tuple[str | None, dict[str, type[Resource]]]:
    try:
        hints = get_type_hints(function, localns=site.local_names)
    except NameError as error:
        raise DefinitionError(
            f"{what}: the annotation {error.name!r} is not known at run time",
            rule="annotations decide what a function is given",
            fix=f"import {error.name!r} above the function",
        ) from None
    wanted = _CONTEXTS[kind]
    context: str | None = None
    resources: dict[str, type[Resource]] = {}
    for one in inspect.signature(function).parameters:
        annotation = hints.get(one)
        if annotation is wanted and context is None:
            context = one
        elif isinstance(annotation, type) and issubclass(annotation, Resource):
            resources[one] = annotation
        else:
            raise DefinitionError(
                f"{what}: parameter {one!r} is annotated {annotation!r}",
                rule=f"it is given a {wanted.__name__}, and resources by their classes",
                fix=f"write `context: {wanted.__name__}`",
            )
    return context, resources
