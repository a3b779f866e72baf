"""Renaming, moving and retiring assets: what is asked, and what would happen."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from partita.ui.api.models.base import Model


class RenameRequest(Model):
    """The asset `key` gets the key `to`."""

    kind: Literal["rename"]
    key: str
    to: str


class MoveRequest(Model):
    """The definition of `location` is the one that counts."""

    kind: Literal["move"]
    key: str
    location: str


class RetireRequest(Model):
    """The assets of a selection leave the graph."""

    kind: Literal["retire"]
    selection: str


class DeleteRequest(Model):
    """What retired assets held and their history go for good."""

    kind: Literal["delete"]
    keys: list[str] = Field(min_length=1)


IdentityRequest = Annotated[RenameRequest | MoveRequest | RetireRequest | DeleteRequest, Field(discriminator="kind")]


class FormerCellView(Model):
    """A cell that belongs to an earlier partition scheme of its asset: its key and window there, and what it holds."""

    partition: str
    window_start: datetime | None
    window_end: datetime | None
    data_version: str
    location: str | None
    published_at: datetime | None
    moved_at: datetime
    scheme: dict[str, JsonValue] | None


class IdentityLine(Model):
    """One asset: its key (of a move: its location) before and after, and the published cells that stay with it."""

    asset_id: int
    was: str
    became: str
    cells: int
    note: str


class IdentityPreview(Model):
    """What would be done; `hash` is given back to do it."""

    kind: Literal["rename", "move", "retire", "delete"]
    assets: list[IdentityLine]
    hash: str


SchemeChoice = Literal["keep", "derive", "restart"]


class SchemeRequest(Model):
    """What becomes of the cells of an asset whose partition scheme changed."""

    key: str
    choice: SchemeChoice


class SchemeChoiceView(Model):
    """What a choice does: `kept` published cells stay, `back` ones come back, `aside` ones are set aside, `derived` ones are put
    together of `parts` former ones. `missing` partitions hold nothing then; `why` says why no more is derived."""

    choice: SchemeChoice
    kept: int
    back: int
    aside: int
    derived: int
    parts: int
    missing: int
    open: int = Field(description="Cells among them that a task is to make: it is cancelled")
    why: str
    sentence: str


class SchemePreview(Model):
    """What would be done, what the other choices would do, and `hash`, which is given back to do it."""

    key: str
    chosen: SchemeChoiceView
    choices: list[SchemeChoiceView]
    hash: str


class SchemeConfirmed(Model):
    """A request, and the hash of the preview that it was shown with."""

    request: SchemeRequest
    hash: str


class SchemeDoneView(Model):
    """`written` cells; `cancelled` tasks."""

    written: int
    cancelled: int
    sentence: str


class IdentityConfirmed(Model):
    """A request, and the hash of the preview that it was shown with; `reason` is kept in the audit."""

    request: IdentityRequest
    hash: str
    reason: str = Field(default="", max_length=2000)
