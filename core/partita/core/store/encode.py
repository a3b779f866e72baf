"""How values become text in the tables: canonical JSON, the pool set of a task, retry policies, checked text.

Both stores use these functions, so that they hold the same bytes. Postgres refuses NUL characters and lone surrogates in text
and non-finite numbers in JSON, and user errors and metadata do contain them: they are replaced here, visibly, never dropped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from partita.core.store.values import PoolUse, RetryPolicy, Task, turn

# Made once: `json.dumps` makes an encoder for each value.
_TEXT = frozenset({str})
_PLAIN = frozenset({str, int, bool, type(None)})
_DECODE = json.JSONDecoder().raw_decode
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def clean_text(text: str) -> str:
    """`text` without what Postgres cannot store: NUL and lone surrogates become U+FFFD."""
    if text.isascii():
        return text.replace("\x00", "\ufffd")
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def optional_text(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


def _clean(value: Any) -> Any:
    kind = type(value)
    if kind is int or kind is bool or value is None:
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if kind is dict or isinstance(value, Mapping):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def to_json(value: Any) -> str:
    """JSON text that a jsonb column accepts; sorted keys. Raises TypeError for a value that JSON does not know."""
    if not value and type(value) in (dict, list, tuple):
        return "{}" if type(value) is dict else "[]"
    if _is_plain(value):  # nearly every body of an event is
        encoded = _ENCODE(value)
        if encoded.isascii() and "\\u0000" not in encoded:
            return encoded
    return _ENCODE(_clean(value))


def _is_plain(value: Any) -> bool:
    """Whether nothing but its texts could have to be cleaned."""
    if type(value) is not dict:
        return type(value) in _PLAIN
    items = value.values()
    return _TEXT.issuperset(map(type, value)) and (_PLAIN.issuperset(map(type, items)) or all(map(_is_plain, items)))


def from_json(stored: bytes | str) -> Any:
    """The value of a jsonb column. `json.loads` looks for the encoding and for blanks, which takes three times as long."""
    if stored == b"{}":
        return {}
    text = stored.decode() if isinstance(stored, bytes) else stored
    value, _ = _DECODE(text)
    return value


def texts_of(values: Iterable[Any]) -> dict[int, str]:
    """The JSON texts by the `id` of each value, made once for those that are one value: many rows of a write share theirs."""
    return {name: to_json(value) for name, value in {id(value): value for value in values}.items()}


def optional_json(value: Any | None) -> str | None:
    return None if value is None else to_json(value)


def as_stored(value: Any) -> Any:
    """What a jsonb column gives back for `value`."""
    return None if value is None else json.loads(to_json(value))


@lru_cache(maxsize=4096)
def pool_set_text(pools: tuple[PoolUse, ...]) -> str:
    """The canonical text of a set of pool uses, the unit of admission: `[["default",1],["warehouse",2]]`, by name."""
    return json.dumps(sorted([use.name, use.slots] for use in pools), ensure_ascii=False, separators=(",", ":"))


def in_line(task: Task) -> tuple[Any, ...]:
    """The order of tasks that want the same: by party, and in it as the indexes task_scheduled and task_queued have it."""
    if task.ready_at is None:  # in no state that waits for slots or a worker; last, as in Postgres
        return (task.party, 1, 0, -task.critical_path, task.id)
    return (task.party, 0, turn(task.ready_at, task.priority), -task.critical_path, task.id)


@lru_cache(maxsize=4096)
def pool_set_of(text: str) -> tuple[PoolUse, ...]:
    return tuple(PoolUse(name, slots) for name, slots in json.loads(text))


@lru_cache(maxsize=4096)
def retry_text(retry: RetryPolicy) -> str:
    return to_json(
        {
            "max_retries": retry.max_retries,
            "delay_s": retry.delay_s,
            "backoff": retry.backoff,
            "max_delay_s": retry.max_delay_s,
            "jitter": retry.jitter,
        }
    )


@lru_cache(maxsize=4096)
def retry_of(text: str) -> RetryPolicy:
    return RetryPolicy(**json.loads(text))
