"""Params are refused when they are asked for, with the field named, by the schema of the model that takes them."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from partita.assets import AssetKey
from partita.core.planner.params import ParamsRefused, check_params


class Window(BaseModel):
    days: int = Field(7, ge=1)


class Trend(BaseModel):
    floor: int
    since: date = date(2026, 1, 1)
    kind: Literal["mean", "median"] = "mean"
    window: Window = Window()


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = 3


TREND = AssetKey("trend")
SCHEMAS = {TREND: Trend.model_json_schema(), AssetKey("flights"): None}
RIGHT: list[dict[str, Any]] = [
    {"floor": 3},
    {"floor": 3, "since": "2026-03-01", "kind": "median", "window": {"days": 30}},
]
WRONG = {
    "another type": (
        {"floor": "three"},
        "floor",
        "asset 'trend' does not take floor='three'",
        "floor is: type integer",
    ),
    "a part of a whole": ({"floor": 3.5}, "floor", "does not take floor=3.5", "type integer"),
    "not a day": ({"floor": 3, "since": "yesterday"}, "since", "since='yesterday'", "format date"),
    "another word": ({"floor": 3, "kind": "mode"}, "kind", "kind='mode'", "enum ['mean', 'median']"),
    "deep inside": ({"floor": 3, "window": {"days": 0}}, "window.days", "window.days=0", "minimum 1"),
    "none given": ({}, "floor", "asset 'trend' needs the parameter 'floor'", "--param floor=VALUE"),
    "another name": ({"flor": 3}, "flor", "no planned asset takes the parameter 'flor'", "did you mean 'floor'?"),
}


@pytest.mark.parametrize("params", RIGHT)
def test_right_params_pass(params: dict[str, Any]) -> None:
    check_params(SCHEMAS, params)


@pytest.mark.parametrize(("params", "field", "what", "fix"), WRONG.values(), ids=WRONG)
def test_wrong_params_are_refused_with_their_field(params: dict[str, Any], field: str, what: str, fix: str) -> None:
    with pytest.raises(ParamsRefused) as refused:
        check_params(SCHEMAS, params)
    assert refused.value.field == field
    assert what in str(refused.value)
    assert fix in refused.value.fix


def test_a_model_that_allows_no_others_is_asked_too() -> None:
    """Each attempt is given all params of its run, so what one model forbids cannot be given to another."""
    schemas = {**SCHEMAS, AssetKey("closed"): Closed.model_json_schema()}
    with pytest.raises(ParamsRefused, match=r"asset 'closed' does not take these params: .*'floor' was unexpected"):
        check_params(schemas, {"floor": 3})


def test_without_models_nothing_is_taken() -> None:
    with pytest.raises(ParamsRefused, match="they take none"):
        check_params({AssetKey("flights"): None}, {"floor": 3})
    check_params({AssetKey("flights"): None}, {})
