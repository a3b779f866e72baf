"""What the watch knows of a story beside its tables: who is acting, and what was done from outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from tests.simulation.invariants import Tables

from partita.core.duties.values_attempts import AttemptResult
from partita.core.store.values_waits import WaitKey


@dataclass(slots=True)
class By:
    """In whose name the next commit is made."""

    reporting: frozenset[int] = frozenset()  # attempts whose report is being applied
    fired: frozenset[WaitKey] = frozenset()  # what came, as a triggerer says
    broken: frozenset[WaitKey] = frozenset()  # triggers that raised, as it says
    answered: frozenset[WaitKey] = frozenset()  # the questions that a person saw
    undoing: bool = False  # the database lost what was not durable
    delivering: tuple[int, int] | None = None  # the notice and the try that this process has claimed
    retaining: bool = False  # history that is over may be deleted


@dataclass
class History:
    """What happened, as seen from outside."""

    sent: dict[int, AttemptResult] = field(default_factory=dict)  # attempt -> the report that is its only one
    ends: dict[int, list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )  # task -> how its attempts and waits ended
    cancelled_runs: dict[int, int] = field(default_factory=dict)  # run -> how many attempts it had by then
    heard: dict[str, float] = field(default_factory=dict)  # worker -> the database's up time when it last renewed
    retired: set[str] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)  # tasks whose version nobody had
    told: set[tuple[int, int]] = field(default_factory=set)  # notices and tries that somebody outside took


@dataclass(frozen=True, slots=True)
class Seen:
    """Of one commit: when, by whom, after what."""

    now: datetime
    by: By
    history: History


Law = Callable[[Tables, Tables, Seen], None]
