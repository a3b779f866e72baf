"""What is deleted by hand has left the graph, is nobody's input, and no task makes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from partita.assets import AssetKey, UnknownAsset
from partita.core.decide.identity_by_hand import IdentityRefused, Known, delete
from partita.core.store.values import AssetId
from partita.core.store.values_identity import AssetRow

GONE = AssetRow(AssetId(1), "old", None, None, datetime(2026, 1, 1, tzinfo=UTC), None)
KNOWN = Known([GONE, GONE._replace(id=AssetId(2), key="there", retired_at=None)], {}, {AssetId(1): 7}, {})


def test_a_retired_asset_is_deleted_with_what_it_holds() -> None:
    change = delete(KNOWN, ["old", "old"], {})
    assert (change.kind, [(line.was, line.became, line.cells) for line in change.lines]) == ("delete", [("old", "", 7)])
    assert change.before == (GONE,)


@pytest.mark.parametrize(
    ("known", "keys", "readers", "says"),
    [
        (KNOWN, ["there"], {}, "is not retired"),
        (replace(KNOWN, declared={AssetKey("old"): "shop"}), ["old"], {}, "is declared by location 'shop'"),
        (KNOWN, ["old"], {"old": [AssetKey("mart")]}, "is named as an input by 'mart'"),
        (replace(KNOWN, open={AssetId(1): 3}), ["old"], {}, "3 cells that a task is to make"),
    ],
)
def test_what_is_refused_says_why(known: Known, keys: list[str], readers: Any, says: str) -> None:
    with pytest.raises(IdentityRefused, match=says):
        delete(known, keys, readers)


def test_an_asset_that_was_never_seen_is_told() -> None:
    with pytest.raises(UnknownAsset, match="never seen"):
        delete(KNOWN, ["odl"], {})
