"""Marking and wiping cells by hand, and taking it back."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from partita.ui.api.models.base import Model

ByHandVerb = Literal["materialized", "failed", "wipe"]


class ByHandRequest(Model):
    """`data_version` and `location` go with `materialized` alone; without them: a version of its own, and where the data were."""

    verb: ByHandVerb
    selection: str = Field(min_length=1)
    partitions: str = Field(min_length=1, description='A partition selection; "all" for the whole history')
    data_version: str | None = Field(default=None, min_length=1, max_length=500)
    location: str | None = Field(default=None, min_length=1, max_length=4000)
    data: bool = Field(default=False, description="With `wipe`: their files of the lake may be collected, too")

    @model_validator(mode="after")
    def _of_materialized(self) -> ByHandRequest:
        if self.verb != "materialized" and (self.data_version is not None or self.location is not None):
            raise ValueError("`data_version` and `location` go with the verb `materialized`")
        if self.verb != "wipe" and self.data:
            raise ValueError("`data` goes with the verb `wipe`")
        return self


class ByHandConfirm(ByHandRequest):
    """`confirm_cells` repeats the count that was shown."""

    reason: str = Field(min_length=1, max_length=2000)
    confirm_cells: int = Field(ge=0)


class ByHandAsset(Model):
    """`published` and `failed` count what its cells are now."""

    key: str
    cells: int
    partitions: str
    published: int
    failed: int


class ByHandPreview(Model):
    verb: ByHandVerb
    cells: int
    sentence: str
    assets: list[ByHandAsset]
    cli: str


class ByHandDone(Model):
    """`entry` is the one of the audit, by which it is taken back; `passed_over` cells were attempted or changed since."""

    entry: int
    cells: int
    passed_over: int
