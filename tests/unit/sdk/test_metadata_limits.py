"""Metadata (S-209): what cannot be stored or read back is refused where it is made, by an error that names it."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import PartitaError
from partita.assets.metadata import METADATA_DEPTH, METADATA_LIMIT_BYTES, checked_metadata


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_nesting_has_a_limit() -> None:
    """Deeper metadata took down whoever read it, and with it all reports of the worker."""
    assert checked_metadata({"x": nested(METADATA_DEPTH - 1)})
    for levels in (METADATA_DEPTH, 500, 50_000):
        with pytest.raises(PartitaError, match=r"metadata x is nested too deeply; .* at most 100 levels"):
            checked_metadata({"x": nested(levels)})


def test_what_is_not_json_is_named() -> None:
    circle: list[Any] = []
    circle += [circle, circle]
    for value in (circle, {1, 2}, float("nan"), "\ud800", {("a",): 1}):
        with pytest.raises(PartitaError, match=r"metadata 1, x "):
            checked_metadata({"x": value, 1: 2})  # type: ignore[dict-item]


def test_its_size_is_that_of_its_text() -> None:
    """S-208."""
    assert checked_metadata({"x": "é" * (METADATA_LIMIT_BYTES // 2 - 20)})
    with pytest.raises(PartitaError, match="at most 65,536 bytes"):
        checked_metadata({"x": "é" * (METADATA_LIMIT_BYTES // 2)})
    with pytest.raises(PartitaError, match="at most 65,536 bytes"):
        checked_metadata({"x": [1] * METADATA_LIMIT_BYTES})
