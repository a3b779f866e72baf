"""What all parts of the contract share: the base model, states, counts, errors."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeAliasType

CellState = TypeAliasType(
    "CellState",
    Literal[
        "fresh",
        "unchanged",
        "stale",
        "upstream_stale",
        "missing",
        "running",
        "queued",
        "scheduled",
        "deferred",
        "awaiting_input",
        "up_for_retry",
        "failed",
        "upstream_failed",
        "skipped",
        "cancelled",
        "removed",
    ],
)
Counts = dict[str, int]  # CellState (or task state) -> how many; only nonzero
PartitionsKind = Literal["none", "time", "static", "dynamic", "multi"]
Cadence = Literal["hour", "day", "week", "month", "other"]
Severity = Literal["ok", "warn", "bad", "idle"]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Model):
    """What happened, the rule it broke, what to do; the last two may be empty."""

    what: str
    rule: str
    fix: str


class ErrorBody(Model):
    """The body of every answer above 399."""

    error: Problem
