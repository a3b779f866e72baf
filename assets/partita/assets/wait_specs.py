"""What a step waits for outside the platform, as data: a trigger by its class path, its arguments, a deadline.

Owns the wire form and the filling in of partitions into its texts. Refuses to know what any trigger does: code locations run
them, and the control plane knows only `CELL_TRIGGER`, which waits for a partition of an asset, and `APPROVAL_TRIGGER`, which
waits for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import Field, JsonValue

from partita.assets.errors import DefinitionError, suggest
from partita.assets.scheme_specs import Spec

CELL_TRIGGER = "partita.sdk.triggers:AssetMaterialized"
"""The trigger that the control plane fires itself: its args are `asset`, `partition` and `newer`."""

APPROVAL_TRIGGER = "partita.sdk.triggers:Approval"
"""The trigger that a person fires, or refuses: its arg is the `question`."""

_FIELD = re.compile(r"\{\{|\}\}|\{([^{}:]*)(?::([^{}]*))?\}")


class WaitSpec(Spec):
    """One trigger that must fire before a step starts, within `deadline_s` of the moment when it could have started.

    Texts in `args` and `label` may name the partition: {partition}, {start:%Y-%m-%d}, {end}, or a dimension.

    >>> wait = WaitSpec(trigger="partita.sdk.triggers:FileExists", args={"pattern": "in/{partition}.csv"}, deadline_s=3600.0)
    >>> fill(wait.args, {"partition": "2026-03-01"})
    {'pattern': 'in/2026-03-01.csv'}
    """

    trigger: str
    args: dict[str, JsonValue] = Field(default_factory=dict)
    label: str = ""
    deadline_s: float = Field(gt=0)
    poll_s: float | None = Field(None, gt=0)


def fill(value: Any, names: Mapping[str, str | datetime]) -> Any:
    """`value` with the names in its texts filled in; a doubled brace stands for itself. Raises KeyError for an unknown name.

    >>> fill(["{start:%Y/%m/%d}", "{{kept}}", 3], {"start": datetime(2026, 3, 1)})
    ['2026/03/01', '{kept}', 3]
    """
    if isinstance(value, str):
        return _FIELD.sub(lambda match: _filled(match, names), value)
    if isinstance(value, Mapping):
        return {key: fill(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [fill(one, names) for one in value]
    return value


def fill_known(text: str, names: Mapping[str, str | datetime]) -> str:
    """A text for people: what names nothing stays as it is.

    >>> fill_known("{partition} with {'state': 'done'}", {"partition": "2026-03-01"})
    "2026-03-01 with {'state': 'done'}"
    """
    return _FIELD.sub(lambda match: _filled(match, names) if match[1] in names else match[0], text)


def _filled(match: re.Match[str], names: Mapping[str, str | datetime]) -> str:
    if match[1] is None:
        return match[0][0]
    found = names[match[1]]
    if isinstance(found, datetime):
        return found.strftime(match[2]) if match[2] else found.isoformat()
    return found


def names_in(value: Any) -> Iterator[str]:
    """The names that the texts of `value` ask for.

    >>> list(names_in({"pattern": "{start:%Y}/{partition}.csv"}))
    ['start', 'partition']
    """
    if isinstance(value, str):
        yield from (match[1] for match in _FIELD.finditer(value) if match[1] is not None)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from names_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from names_in(one)


def check_names(value: Any, known: list[str], owner: str) -> None:
    """Refuse a text that names something else of its partition than there is.

    >>> check_names("{day}", ["partition"], "asset 'orders'")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: asset 'orders' waits for something of {day}; ...
    """
    for name in names_in(value):
        if name not in known:
            raise DefinitionError(
                f"{owner} waits for something of {{{name}}}",
                rule=f"texts of a trigger in wait_for= may name {', '.join(f'{{{one}}}' for one in known)}",
                fix=suggest(name, known) or "double a brace that stands for itself",
            )
