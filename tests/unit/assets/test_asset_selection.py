"""The selection grammar of assets."""

from __future__ import annotations

import pytest

from partita.assets import (
    All,
    AssetGraph,
    AssetSpec,
    InputSpec,
    SelectionError,
    asset_key,
    mapping_to_spec,
    select_assets,
)


def _asset(key: str, *upstream: str, **fields: object) -> AssetSpec:
    all_of = mapping_to_spec(All())
    inputs = [InputSpec(name=up.replace("/", "_"), upstream=asset_key(up), mapping=all_of) for up in upstream]
    return AssetSpec.model_validate({"key": key, "inputs": tuple(inputs), **fields})


graph = AssetGraph(
    [
        ("flights", _asset("source/flights", kind="external", group="flights")),
        ("flights", _asset("raw/flights", "source/flights", group="flights", tags={"tier": "gold", "pii": "no"})),
        ("flights", _asset("raw/weather", group="weather", owner="team:ops", kinds=("parquet",))),
        ("flights", _asset("delays", "raw/flights", "raw/weather", group="flights", tags={"tier": "silver"})),
        ("flights", _asset("old/weather", group="legacy", owner="a+b@example.org")),
        ("health", _asset("route_health", "delays")),
        ("health", _asset("and", group="odd one")),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", "and old/weather raw/weather source/flights raw/flights delays route_health"),
        ("delays", "delays"),
        ("raw/flights", "raw/flights"),
        ("raw/*", "raw/weather raw/flights"),
        ("*/weather", "old/weather raw/weather"),
        ("route_*", "route_health"),
        ("+delays", "raw/weather source/flights raw/flights delays"),
        ("1+delays", "raw/weather raw/flights delays"),
        ("2+delays", "raw/weather source/flights raw/flights delays"),
        ("delays+", "delays route_health"),
        ("source/flights+1", "source/flights raw/flights"),
        ("source/flights+2", "source/flights raw/flights delays"),
        ("1+delays+1", "raw/weather raw/flights delays route_health"),
        ("+raw/flights+", "source/flights raw/flights delays route_health"),
        ("tag:tier", "raw/flights delays"),
        ("tag:tier=gold", "raw/flights"),
        ("tag:tier=*", "raw/flights delays"),
        ("group:flights", "source/flights raw/flights delays"),
        ('group:"odd one"', "and"),
        ("owner:team:ops", "raw/weather"),
        ('owner:"a+b@example.org"', "old/weather"),
        ("kind:external", "source/flights"),
        ("kind:parquet+1", "raw/weather delays"),
        ("location:health", "and route_health"),
        ("delays, raw/*", "raw/weather raw/flights delays"),
        ("raw/* or delays and group:flights", "raw/weather raw/flights delays"),
        ("(raw/* or delays) and group:flights", "raw/flights delays"),
        ("not group:flights", "and old/weather raw/weather route_health"),
        ("* and not (delays+ or raw/*)", "and old/weather source/flights"),
        ("not not delays", "delays"),
        ("1+(delays or route_health)", "raw/weather raw/flights delays route_health"),
        ('"and"', "and"),
        ("group:flights AND NOT delays", "source/flights raw/flights"),
    ],
)
def test_selects(text: str, expected: str) -> None:
    """In topological order."""
    assert " ".join(select_assets(graph, text)) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the asset selection is empty"),
        ("delay", "did you mean 'delays'?"),
        ("route_helth", "did you mean 'route_health'?"),
        ("weather", "ambiguous; it may be old/weather or raw/weather"),
        ('"weather"', "asset 'weather' does not exist"),
        ("mart/*", "no asset matches 'mart/*'"),
        (
            "tag:teir",
            "no asset has tag 'teir'; tags are pii, pii=no, tier, tier=gold, tier=silver; did you mean 'tier'?",
        ),
        ("grop:x", "did you mean 'group'?"),
        ("delays raw/flights", "expected 'and', 'or' or a comma at 'raw/flights'"),
        ("(delays", "expected ')' at the end"),
        ("delays and", "expected an asset"),
        ("and delays", "expected an asset"),
        ("delays,", "expected an asset"),
        ("delays )", "expected 'and', 'or' or a comma at ')'"),
        ("delays ++", "can not read '++'"),
    ],
)
def test_errors_teach(text: str, says: str) -> None:
    """They quote the text and suggest the nearest name."""
    with pytest.raises(SelectionError) as refused:
        select_assets(graph, text)
    assert says in str(refused.value)


def test_where_nothing_is_loaded_it_says_so() -> None:
    with pytest.raises(SelectionError, match=r"no code location has been loaded; .*partita locations"):
        select_assets(AssetGraph([]), "orders")


def test_a_bare_name_resolves_to_the_one_key_that_ends_in_it() -> None:
    """As in the SDK."""
    single = AssetGraph([AssetSpec(key=asset_key("raw/orders"))])
    assert select_assets(single, "orders") == ("raw/orders",)
    assert select_assets(single, "+orders+") == ("raw/orders",)


@pytest.mark.parametrize("text", ["(" * 2000, "not " * 3000 + "delays", "(" * 101 + "delays" + ")" * 101])
def test_nesting_is_refused_before_the_parser_runs_out_of_stack(text: str) -> None:
    with pytest.raises(SelectionError, match="nested more than 100 deep"):
        select_assets(graph, text)
    assert select_assets(graph, "(" * 99 + "delays" + ")" * 99) == ("delays",)


def test_a_depth_of_any_number_of_digits_is_all_of_it() -> None:
    assert select_assets(graph, "raw/flights+" + "9" * 5000) == select_assets(graph, "raw/flights+")
