"""A catalog of stored bodies, read as far as somebody asks, is the catalog of the whole snapshots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from partita.assets import (
    All,
    AssetKey,
    AssetSpec,
    Daily,
    EagerSpec,
    Hourly,
    InputSpec,
    ManualSpec,
    Multi,
    RetrySpec,
    Rolling,
    Snapshot,
    SourceRef,
    Static,
    TimeOverlap,
    UpToBatchSpec,
    asset_key,
    canonical_json,
    default_mapping,
    select_assets,
    to_spec,
)
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.catalog.body import StoredBody
from partita.core.store.values import AssetId, LocationId, SnapshotId

AS_OF = datetime(2024, 2, 15, tzinfo=UTC)
DAYS = Daily("2024-01-01")
SCHEMES = (None, DAYS, Hourly("2024-02-01"), Static("a", "b|c"), Multi(day=DAYS, shop=Static("x", "y")))
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=5)


@st.composite
def snapshots(draw: st.DrawFn) -> list[Snapshot]:
    """Assets of two locations, some in groups, with inputs from earlier ones or from their own past."""
    specs: list[tuple[str, AssetSpec]] = []
    for index in range(draw(st.integers(1, 7))):
        scheme = draw(st.sampled_from(SCHEMES))
        inputs = [
            InputSpec(
                name=f"in{place}",
                upstream=above.key,
                mapping=to_spec(All() if scheme not in SCHEMES[:2] else default_mapping(scheme, None)),
                kind=draw(st.sampled_from(("data", "order"))),
            )
            for place, (_, above) in enumerate(draw(st.lists(st.sampled_from(specs), max_size=3)) if specs else ())
        ]
        key = asset_key(f"n{index}")
        if scheme is DAYS and draw(st.booleans()):
            pasts: tuple[TimeOverlap | Rolling, ...] = (
                TimeOverlap(-2, -1, edge="clip"),
                Rolling(3, "days", "clip", current=False),
            )
            past = draw(st.sampled_from(pasts))
            inputs.append(InputSpec(name="past", upstream=key, mapping=to_spec(past)))
        location = draw(st.sampled_from(("here", "there")))
        spec = AssetSpec(
            key=key,
            kind=draw(st.sampled_from(("asset", "asset", "external"))),
            step=draw(st.sampled_from((key, key, f"group-{location}"))),
            description=draw(TEXT),
            group=draw(st.sampled_from(("default", "gold"))),
            owner=draw(st.none() | TEXT),
            tags=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
            kinds=tuple(draw(st.lists(TEXT, max_size=2))),
            partitions=to_spec(scheme),
            inputs=tuple(inputs),
            fingerprint=draw(TEXT),
            observed=draw(st.booleans()),
            automation=draw(st.sampled_from((EagerSpec(), ManualSpec()))),
            batch=UpToBatchSpec(n=draw(st.integers(1, 9))),
            retries=RetrySpec(max_retries=draw(st.integers(0, 3)), delay_s=draw(st.floats(0, 1e6))),
            source=draw(st.sampled_from((None, SourceRef(module="m", file="m.py", line=1)))),
        )
        specs.append((location, spec))
    return [
        Snapshot(location=location, assets=tuple(spec for name, spec in specs if name == location))
        for location in ("here", "there")
    ]


def catalogs(found: list[Snapshot]) -> tuple[Catalog | str, Catalog | str]:
    """Of the whole snapshots and of their stored bodies; the message where a catalog is refused."""
    keys = [spec.key for one in found for spec in one.assets]
    ids = {key: AssetId(10 + index) for index, key in enumerate(keys)}

    def made(bodies: list[Any]) -> Catalog | str:
        stored = [
            StoredSnapshot(LocationId(place), one.location, SnapshotId(5 + place), f"v{place}", body)
            for place, (one, body) in enumerate(zip(found, bodies, strict=True))
        ]
        try:
            return Catalog(stored, ids)
        except Exception as refused:  # both must refuse alike
            return str(refused)

    return made(list(found)), made([StoredBody(canonical_json(one)) for one in found])


@given(found=snapshots())
@settings(max_examples=60)
def test_a_stored_body_gives_the_catalog_of_the_whole_snapshot(found: list[Snapshot]) -> None:
    whole, stored = catalogs(found)
    if isinstance(whole, str) or isinstance(stored, str):
        assert whole == stored
        return
    assert stored.graph.order == whole.graph.order
    assert list(stored.steps.items()) == list(whole.steps.items())
    assert list(stored.assets.items()) == list(whole.assets.items())
    assert dict(stored.by_id) == dict(whole.by_id)
    assert stored.consumers == whole.consumers
    assert stored.automation_assets == whole.automation_assets
    assert [one.snapshot for one in stored.snapshots] == found
    for key in whole.assets:
        assert stored.definition(key) == whole.definition(key)
        assert stored.space(key, AS_OF).size == whole.space(key, AS_OF).size
        assert stored.graph.upstream(key) == tuple((one.upstream, one) for one in stored.graph.asset(key).inputs)
    for text in ("*", "group:gold", "kind:external", "tag:*", "location:here", "+n3", "n1+"):
        assert selected(stored, text) == selected(whole, text)


def selected(catalog: Catalog, text: str) -> object:
    try:
        return select_assets(catalog.graph, text)
    except Exception as refused:  # an answer, too
        return str(refused)


@given(found=snapshots(), draw=st.data())
@settings(max_examples=60)
def test_the_steps_of_some_assets_are_those_of_all_in_the_same_order(
    found: list[Snapshot], draw: st.DataObject
) -> None:
    """Cost follows what is asked for (law 4), and the answer does not depend on it."""
    catalog, _ = catalogs(found)
    if isinstance(catalog, str):
        return
    chosen = draw.draw(st.sets(st.sampled_from(sorted(catalog.assets))))
    expected = [members for members in catalog.steps.values() if chosen & {asset.key for asset in members}]
    assert catalog.steps_of(chosen) == expected


def test_what_nobody_asks_for_is_not_read() -> None:
    """A broken definition far away does not matter to a question about another asset, because it is never built."""
    specs = [AssetSpec(key=asset_key(key), partitions=to_spec(DAYS), tags={"k": key}) for key in ("a", "b")]
    body = canonical_json(Snapshot(location="l", assets=tuple(specs)))
    spoiled = body.replace(b'"priority":0', b'"priority":"none"')  # of both; no check reads it
    stored = StoredSnapshot(LocationId(1), "l", SnapshotId(1), "v", StoredBody(spoiled))
    catalog = Catalog([stored], {AssetKey("a"): AssetId(1), AssetKey("b"): AssetId(2)})
    assert select_assets(catalog.graph, "tag:k=b") == ("b",)
    assert catalog.space(AssetKey("a"), AS_OF).size == (AS_OF - datetime(2024, 1, 1, tzinfo=UTC)) // timedelta(days=1)
