"""Keys of dynamic schemes: who has them, pages of them, changes of them and what these would bring about."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from partita.ui.api.models.base import Counts, Model

MOST_KEYS = 100_000
"""Of one request; a scheme's own cap is usually far below."""


class KeyScheme(Model):
    """A dynamic scheme under its name. `ttl_s`: how long a key stays that is added without a time of its own."""

    name: str
    cap: int
    ttl_s: float | None
    present: int
    assets: list[str]


class KeySchemes(Model):
    schemes: list[KeyScheme]


class DynamicKeyView(Model):
    """One key; `ended_at` and `ended_by` of one that was removed, or that expired (by "ttl")."""

    key: str
    added_at: datetime
    added_by: str
    expires_at: datetime | None
    metadata: dict[str, str]
    ended_at: datetime | None
    ended_by: str | None


class KeyPage(Model):
    scheme: KeyScheme
    items: list[DynamicKeyView]
    total: int
    offset: int
    limit: int


class KeysToAdd(Model):
    """`confirm_new` repeats how many keys the preview said are new: another number by now is refused, and nothing added."""

    scheme: str
    keys: list[str] = Field(min_length=1, max_length=MOST_KEYS)
    ttl_s: float | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    confirm_new: int | None = Field(default=None, ge=0)


class KeysToRemove(Model):
    scheme: str
    keys: list[str] = Field(min_length=1, max_length=MOST_KEYS)


class KeysPreviewRequest(Model):
    verb: Literal["add", "remove"]
    scheme: str
    keys: list[str] = Field(min_length=1, max_length=MOST_KEYS)
    ttl_s: float | None = None


class KeysImpact(Model):
    """The cells of one asset that come or go, by the state they have now. `follows`: automation asks for those that come."""

    asset: str
    cells: int
    counts: Counts
    follows: bool


class KeysPreview(Model):
    """What a change would do now. `new` keys come (or go), `known` are there already and live on."""

    verb: Literal["add", "remove"]
    scheme: KeyScheme
    new: int
    known: int
    present_after: int
    expires_at: datetime | None
    impacts: list[KeysImpact]
    open_cells: int
    sentence: str
    cli: str


class KeysDone(Model):
    added: int
    prolonged: int
    unchanged: int
    removed: int
    present: int
