"""Events of producers outside partita."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Discriminator, Field, Tag

from partita.ui.api.models.base import Model

Scope = Annotated[str, Field(max_length=200, description="Whose keys these are; keys of other scopes are others")]
KeyLife = Annotated[
    float, Field(gt=0, le=90 * 86_400, description="For so many seconds a repeat by the key is known as one")
]


class EventReport(Model):
    """A partition of an external asset that is observed holds this data version."""

    asset: str = Field(min_length=1, max_length=1_000)
    partition: str = Field(default="", description='The stored key; "" for an asset without partitions')
    data_version: str = Field(min_length=1, max_length=1_000)
    key: str | None = Field(default=None, min_length=1, max_length=500, description="A repeat of it changes nothing")
    data_time: AwareDatetime | None = Field(default=None, description="Up to when the data are complete")
    metadata: dict[str, Any] = Field(default_factory=dict, description="At most 64 KB as JSON")


class OneEvent(EventReport):
    scope: Scope = ""
    key_expires_in_s: KeyLife = 7 * 86_400.0


class EventBatch(Model):
    """All of these or none."""

    events: list[EventReport] = Field(min_length=1, max_length=1_000)
    scope: Scope = ""
    key_expires_in_s: KeyLife = 7 * 86_400.0


def _which(body: Any) -> str:
    return "batch" if isinstance(body, EventBatch) or (isinstance(body, dict) and "events" in body) else "event"


EventBody = Annotated[Annotated[OneEvent, Tag("event")] | Annotated[EventBatch, Tag("batch")], Discriminator(_which)]


class TakenEvent(Model):
    """`observed`: the partition holds another version than before, and consumers follow; `unchanged`: it held it already;
    `replaced`: a later event of the same batch says otherwise. A repeat gets the answer of the first."""

    asset: str
    partition: str
    data_version: str
    outcome: Literal["observed", "unchanged", "replaced"]
    at: AwareDatetime


class TakenEvents(Model):
    """In the order of what was sent."""

    events: list[TakenEvent]
