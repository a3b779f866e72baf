"""What a trigger is: its base class, the wait that gives it a deadline, its form on the wire, and how one is watched.

Those that ship are in `triggers`. Refuses to know who watches them.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, dataclass_transform

from partita.assets import DefinitionError, PartitaError
from partita.assets.durations import Duration, seconds
from partita.assets.wait_specs import WaitSpec

POLL_S = 60.0
"""Between two checks unless the wait says otherwise; each pause is stretched or cut by up to a tenth (S-021)."""


LANE: ContextVar[str] = ContextVar("LANE", default="")
"""Of the trigger that is being watched: what its calls to `asyncio.to_thread` share threads with."""


class TriggerFailed(PartitaError):
    """A trigger that can never fire, or whose check went wrong: the wait fails, and its step is retried as after a failure."""


@dataclass_transform(frozen_default=True)
class Trigger:
    """Base of triggers. A subclass is a frozen dataclass of JSON values, at the top level of a module, with an async `check`.

    `check` returns None (or False) as long as it is not there, and then the event's payload: True, or any JSON value. It
    runs beside thousands of others: it awaits, or does slow things in `asyncio.to_thread`.

    >>> class QueueIsEmpty(Trigger):
    ...     url: str
    ...     async def check(self) -> bool:
    ...         return await asyncio.to_thread(depth_of, self.url) == 0
    >>> QueueIsEmpty("amqp://broker/orders").within("2h", poll="30s")
    Wait(trigger=QueueIsEmpty(url='amqp://broker/orders'), deadline_s=7200.0, poll_s=30.0)
    """

    local: ClassVar[bool] = True
    """Whether a code location can watch it; the control plane fires the others."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclass(frozen=True)(cls)

    async def check(self) -> Any:
        """Look once: None or False while it is not there, else the payload."""
        raise NotImplementedError(f"{type(self).__name__} has no `async def check(self)`")

    async def fired(self, watch: Watch) -> Any:
        """Wait until it is there, and return the payload. Replace it for triggers that are told and need not look."""
        while True:
            found = await self.check()
            if found is not None and found is not False:
                return found
            await watch.pause()

    def within(self, deadline: Duration, *, poll: Duration | None = None) -> Wait:
        """This trigger with a deadline, counted from the moment when the step could have started, over all its retries.

        >>> triggers.FileExists("/data/in/{partition}.csv").within("6h", poll="5m").poll_s
        300.0
        """
        return Wait(self, _positive(deadline, "deadline"), None if poll is None else _positive(poll, "poll"))

    def _lane(self) -> str:
        """What may be slow together with it: by default its kind."""
        return path_of(type(self))

    def __str__(self) -> str:
        said = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({said})"


class Watch:
    """What `fired` is given: since when the step waits, and the pause between two looks."""

    def __init__(self, since: datetime, poll_s: float, jitter: float = 1.0) -> None:
        self.since = since
        self._pause_s = poll_s * jitter

    async def pause(self) -> None:
        """Until it is time to look again."""
        await asyncio.sleep(self._pause_s)


@dataclass(frozen=True)
class Wait:
    """A trigger with the time that it has. Made by `Trigger.within()`.

    >>> triggers.After("30m").within("1h")
    Wait(trigger=After(delay='30m'), deadline_s=3600.0, poll_s=None)
    """

    trigger: Trigger
    deadline_s: float
    poll_s: float | None = None

    @property
    def spec(self) -> WaitSpec:
        return WaitSpec(
            trigger=path_of(type(self.trigger)),
            args=args_of(self.trigger),
            label=str(self.trigger),
            deadline_s=self.deadline_s,
            poll_s=self.poll_s,
        )


# ------------------------------------------------------------------------------------------------- paths and arguments
def path_of(kind: type[Trigger]) -> str:
    """Where a code location finds the class again."""
    if "<" in kind.__qualname__:
        raise DefinitionError(
            f"trigger {kind.__qualname__!r} is defined inside a function",
            rule="a trigger is found again by module and name, in another process",
            fix="define it at the top level of a module of the location",
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def args_of(trigger: Trigger) -> dict[str, Any]:
    """The arguments as JSON values."""
    plain = {one.name: getattr(trigger, one.name) for one in fields(trigger)}  # type: ignore[arg-type]
    try:
        found: dict[str, Any] = json.loads(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"trigger {type(trigger).__name__}: its arguments are not JSON: {error}",
            rule="a trigger's fields hold texts, finite numbers, booleans, None, lists and dicts with text keys",
            fix="keep a name or an id, and look the rest up in check()",
        ) from None
    return found


def trigger_at(path: str, args: Mapping[str, Any]) -> Trigger:
    """The trigger again, from its path and arguments."""
    kind = found_at(path)
    if not (isinstance(kind, type) and issubclass(kind, Trigger)):
        raise TriggerFailed(f"{path!r} is no trigger", rule="a trigger is a subclass of partita.sdk.Trigger")
    return kind(**args)


def found_at(path: str) -> Any:
    """What "module:qualified.name" names."""
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise TriggerFailed(
            f"{path!r} is not found: {error}", rule="it is written module:name, and its module can be imported"
        ) from None
    return found


def waits_of(given: object, owner: str) -> tuple[Wait, ...]:
    """What `wait_for=` of an asset says."""
    listed = given if isinstance(given, list | tuple) else [given]
    for one in listed:
        if not isinstance(one, Wait):
            raise DefinitionError(
                f"{owner}: wait_for={one!r}",
                rule="wait_for is a trigger with its deadline, or a list of them; nothing is waited for without end",
                fix=f'write {type(one).__name__}(...).within("6h")'
                if isinstance(one, Trigger)
                else 'write for example FileExists("/in/{partition}.csv").within("6h")',
            )
    return tuple(listed)


async def watched(path: str, args: Mapping[str, Any], *, since_s: float, poll_s: float | None, jitter: float) -> Any:
    """The payload of a trigger once it has fired, as JSON. `jitter` from -1 to 1 moves the pause by up to a tenth."""
    trigger = trigger_at(path, args)
    LANE.set(trigger._lane())
    watch = Watch(datetime.fromtimestamp(since_s, UTC), poll_s or POLL_S, 1.0 + 0.1 * jitter)
    payload = await trigger.fired(watch)
    try:
        return json.loads(json.dumps(True if payload is None else payload, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TriggerFailed(
            f"{trigger} fired with a payload that is not JSON: {error}", rule="check() returns True or a JSON value"
        ) from None


def _positive(value: Duration, what: str) -> float:
    found = seconds(value, what=f"within({what}=)")
    if not found:
        raise DefinitionError(f"within({what}={value!r})", rule=f"a {what} is longer than nothing")
    return found
