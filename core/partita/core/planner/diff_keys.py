"""How the keys of dynamic schemes differ between two revisions, in words. Part of `diff`."""

from __future__ import annotations

from collections.abc import Sequence

from partita.core.catalog.dynamic import KeysAt

_KEYS = 3


def keys_difference(old: KeysAt, new: KeysAt) -> list[str]:
    """Per dynamic scheme that differs: which keys came and went, the first few by name."""
    found = []
    for scheme in sorted(old.keys.keys() | new.keys.keys()):
        was, now = old.keys.get(scheme, ()), new.keys.get(scheme, ())
        gone, came = set(was) - set(now), set(now) - set(was)
        words = [
            f"{_listed([key for key in keys if key in chosen])} {verb}"
            for verb, keys, chosen in (("came in", now, came), ("went", was, gone))
            if chosen
        ]
        if words:
            found.append(f"keys of {scheme!r}: {' and '.join(words)}")
        elif tuple(was) != tuple(now):
            found.append(f"keys of {scheme!r} were added anew")
    return found


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
    return ", ".join(map(repr, keys[:_KEYS])) + more
