"""Pausing and resuming: what is paused, what it would meet, and its confirmation."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from partita.ui.api.models.base import Model

PauseVerb = Literal["pause", "resume"]


class PauseView(Model):
    """`key` is null for the pause of everything."""

    key: str | None
    by: str
    at: datetime
    reason: str
    text: str


class PausesView(Model):
    everything: PauseView | None
    assets: list[PauseView]


CatchUp = Literal["none", "latest", "all"]


class PauseRequest(Model):
    """`selection` null: everything, also what comes later."""

    verb: PauseVerb
    selection: str | None


class MissedView(Model):
    """What automation would ask for of an asset once it is resumed."""

    asset: str
    count: int
    partitions: str


class PausePreview(Model):
    """`assets` are those that the verb would change, in whole steps; `waiting` tasks would wait (or no longer wait), `running`
    ones end as they will. `missed` is what automation would ask for after a resume. `cli` does the same."""

    verb: PauseVerb
    everything: bool
    sentence: str
    assets: list[str]
    waiting: int
    running: int
    missed: list[MissedView]
    cli: str


class PauseConfirm(PauseRequest):
    """`confirm_assets` repeats how many assets were shown. Of a resume: `catch_up` says what is asked for of what was missed (of
    each asset the latest partition, all, or none); with `pace` all of it is one backfill of so many tasks at a time."""

    reason: str = Field(default="", max_length=2000)
    confirm_assets: int
    catch_up: CatchUp = "all"
    pace: int | None = Field(default=None, ge=1)
