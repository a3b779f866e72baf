"""Collecting data that were wiped with them."""

from __future__ import annotations

from partita.ui.api.models.base import Model


class CollectPreview(Model):
    """`files` would be removed now; `waiting` ones were wiped too lately, `wanted` ones are referred to and stay."""

    sentence: str
    files: list[str]
    waiting: int
    wanted: int


class CollectDone(Model):
    """`wanted` files are referred to again and stay; `left` could not be removed, with the reason."""

    removed: int
    wanted: int
    left: list[str]
