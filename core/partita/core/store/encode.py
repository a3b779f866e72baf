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

from partita.core.store.values import PoolUse, RetryPolicy


def clean_text(text: str) -> str:
    """`text` without what Postgres cannot store: NUL and lone surrogates become U+FFFD."""
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
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def to_json(value: Any) -> str:
    """JSON text that a jsonb column accepts; sorted keys. Raises TypeError for a value that JSON does not know."""
    return json.dumps(_clean(value), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def optional_json(value: Any | None) -> str | None:
    return None if value is None else to_json(value)


def as_stored(value: Any) -> Any:
    """What a jsonb column gives back for `value`."""
    return None if value is None else json.loads(to_json(value))


def pool_set_text(pools: Iterable[PoolUse]) -> str:
    """The canonical text of a set of pool uses, the unit of admission: `[["default",1],["warehouse",2]]`, by name."""
    return json.dumps(sorted([use.name, use.slots] for use in pools), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def pool_set_of(text: str) -> tuple[PoolUse, ...]:
    return tuple(PoolUse(name, slots) for name, slots in json.loads(text))


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
