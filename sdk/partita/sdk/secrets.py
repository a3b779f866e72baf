"""Secrets: values that a step needs and that stand nowhere in code, snapshots or the database (S-214 to S-218).

Owns the order in which they are looked up (backends, then the environment), the memory of answers, and what is masked. Refuses to
look one up while modules are imported: what is read then is read for nothing, and before it was needed. partita keeps none, so
there is no key to lose and nothing to encrypt.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Protocol

from partita.assets import DefinitionError, PartitaError
from partita.assets.durations import Duration, seconds

MASK = "***"
_SHORTEST = 4
"""Shorter values are not masked: they would be found everywhere."""
_LINE = 8
_PREFIX = "PARTITA_SECRET_"
_ROOM = 256 * 1024
_HEAD = struct.Struct("<I")

Entry = tuple[str | None, float]
"""An answer (None: there is none) and when it is to be asked for again."""


class SecretBackend(Protocol):
    """Where secrets are kept: a vault, a cloud's secret manager, a folder of files that the orchestrator mounts.

    >>> class Vault:
    ...     def get(self, name: str) -> str | None:
    ...         return {"shop_token": "t0ken"}.get(name)
    >>> backend: SecretBackend = Vault()
    >>> backend.get("shop_token"), backend.get("other")
    ('t0ken', None)

    `get` gives the value, or None for a name that it does not know; whatever it raises fails the attempt, which is tried again.
    """

    def get(self, name: str) -> str | None:
        """The value of a secret; None when it is not here."""


def secret_backends(*backends: SecretBackend, ttl: Duration = "5m", missing_ttl: Duration = "30s") -> None:
    """Look secrets up here, in this order, before the environment. Called once, at the top of a module of the location.

    What a backend answers is remembered for `ttl`, that it knows nothing for `missing_ttl`, by all attempts of the location that
    are forked from one process, in memory.

    >>> class Folder:
    ...     def get(self, name: str) -> str | None:
    ...         return {"shop_token": "t0ken"}.get(name)
    >>> secret_backends(Folder(), ttl="10m")
    >>> secret("shop_token")
    't0ken'
    >>> secret_backends()
    """
    global _looked_up
    for one in backends:
        if not callable(getattr(one, "get", None)):
            raise DefinitionError(
                f"{one!r} is no secret backend", rule="a backend has get(name)", fix="write that method"
            )
    _looked_up = _LookUp(backends, seconds(ttl, what="ttl"), seconds(missing_ttl, what="missing_ttl"))


def secret(name: str) -> str:
    """The value of a secret, looked up when a step runs: in the backends of the location, else in its environment as
    `PARTITA_SECRET_<NAME>`. It is masked in the attempt's log. Raises PartitaError for one that is nowhere.

    >>> import os
    >>> os.environ["PARTITA_SECRET_SHOP_TOKEN"] = "t0ken"
    >>> secret("shop_token")
    't0ken'
    """
    found = find_secret(name)
    if found is None:
        asked = ", ".join(type(one).__name__ for one in _looked_up.backends)
        raise PartitaError(
            f"secret {name!r} is not set",
            rule=f"it is looked up in {asked + ', then in ' if asked else ''}{variable_of(name)}",
            fix="set that variable in the environment of the code location, or add it to a backend",
        )
    return found


def find_secret(name: str, environ: Mapping[str, str] | None = None) -> str | None:
    """As `secret`; None for one that is nowhere. `environ` in place of the environment, and of the backends."""
    from partita.sdk.collector import current  # here: definitions are made of resources, which look secrets up

    if current().loading is not None:
        raise DefinitionError(
            f"secret {name!r} is read while module {current().loading} is imported",
            rule="secrets are looked up when a step runs: an import must not depend on them",
            fix="call secret() in the function, or make it a field of a Resource with the type SecretStr",
        )
    found = _looked_up.get(name) if environ is None else None
    if found is None:
        found = (os.environ if environ is None else environ).get(variable_of(name))
    if found is not None:
        remember(found)
    return found


def variable_of(name: str) -> str:
    """The environment variable of a secret.

    >>> variable_of("shop/api-token")
    'PARTITA_SECRET_SHOP_API_TOKEN'
    """
    return _PREFIX + re.sub(r"[^A-Za-z0-9]+", "_", name).upper()


def remember(value: str) -> None:
    """Mask this value from now on, in what this process says; of a long text with several lines each line."""
    lines = [line for line in value.splitlines() if len(line) >= _LINE] if "\n" in value else []
    for one in (value, *lines):
        if len(one) >= _SHORTEST and one not in _masked:
            _masked.append(one)
            _masked.sort(key=len, reverse=True)  # a longer one may hold a shorter one


def mask(text: str) -> str:
    """The text without the secrets that this process has looked up."""
    for value in _masked:
        if value in text:
            text = text.replace(value, MASK)
    return text


_masked: list[str] = []


class _LookUp:
    def __init__(self, backends: tuple[SecretBackend, ...] = (), ttl_s: float = 0, missing_ttl_s: float = 0) -> None:
        self.backends = backends
        self._ttl_s = ttl_s
        self._missing_ttl_s = missing_ttl_s
        self._memory = _Memory() if backends else None

    def get(self, name: str) -> str | None:
        if self._memory is None:
            return None
        known = self._memory.read().get(name)
        now = time.monotonic()  # one clock for all processes of a machine
        if known is not None and known[1] > now:
            return known[0]
        found = next((value for one in self.backends if (value := one.get(name)) is not None), None)
        self._memory.write(name, (found, now + (self._missing_ttl_s if found is None else self._ttl_s)), now)
        return found


class _Memory:
    """Answers in memory that forked processes share, and that has no name in any file system; where there is no such memory,
    of this process alone. A process that dies holds no lock afterwards."""

    def __init__(self) -> None:
        self._own: dict[str, Entry] = {}
        self._thread = threading.Lock()
        self._fd = -1
        if hasattr(os, "memfd_create"):
            self._fd = os.memfd_create("partita-secrets")
            os.ftruncate(self._fd, _ROOM)
            self._shared = mmap.mmap(self._fd, _ROOM)

    def read(self) -> dict[str, Entry]:
        if self._fd < 0:
            return self._own
        with self._locked():
            return self._load()

    def write(self, name: str, entry: Entry, now: float) -> None:
        if self._fd < 0:
            self._own[name] = entry
            return
        with self._locked():
            kept = {key: one for key, one in self._load().items() if one[1] > now}
            body = json.dumps({**kept, name: entry}).encode()
            if len(body) + _HEAD.size <= _ROOM:  # else it is asked for again next time
                self._shared[: _HEAD.size + len(body)] = _HEAD.pack(len(body)) + body

    def _load(self) -> dict[str, Entry]:
        (size,) = _HEAD.unpack(self._shared[: _HEAD.size])
        if not size:
            return {}
        held = json.loads(self._shared[_HEAD.size : _HEAD.size + size])
        return {name: (value, until) for name, (value, until) in held.items()}

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        import fcntl

        with self._thread:
            fcntl.lockf(self._fd, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._fd, fcntl.LOCK_UN)


_looked_up = _LookUp()
