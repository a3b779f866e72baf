"""Queues of workers: the name that a step says and that workers serve, so that a task runs where it can.

Owns what such a name may be. Which workers there are is the control plane's matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from partita.assets.errors import DefinitionError

DEFAULT_QUEUE = "default"
"""Of a step that names none, and what a worker serves that is told nothing."""

ALL_QUEUES = "*"
"""What a worker says that takes the tasks of every queue."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,63}")


def check_queue(name: object, owner: str) -> str:
    """`name` as the name of a queue. Raises DefinitionError.

    >>> check_queue("gpu", "asset 'model'")
    'gpu'
    >>> check_queue("gpu,high memory", "asset 'model'")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: asset 'model': queue 'gpu,high memory'; ...; write for example "gpu", or ...
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise DefinitionError(
        f"{owner}: queue {name!r}",
        rule="the name of a queue is one text of 1 to 63 letters, digits, `_`, `.` and `-`",
        fix='write for example "gpu", or leave it out for "default"',
    )


def served_queues(names: Iterable[str], owner: str) -> tuple[str, ...]:
    """The queues that a worker serves, from `names` as written. Raises DefinitionError.

    >>> served_queues("gpu, default".split(","), "--queues"), served_queues(["*", "gpu"], "--queues")
    (('default', 'gpu'), ('*',))
    >>> served_queues([], "--queues")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: --queues names no queue; a worker serves one at least, or `*` for all; ...
    """
    wanted = {name.strip() for name in names} - {""}
    if not wanted:
        raise DefinitionError(
            f"{owner} names no queue",
            rule="a worker serves one at least, or `*` for all",
            fix='leave it out for "default"',
        )
    for name in sorted(wanted - {ALL_QUEUES}):
        check_queue(name, owner)
    return (ALL_QUEUES,) if ALL_QUEUES in wanted else tuple(sorted(wanted))
