"""Keys are any printable text (law 9), of a length that indexes and file systems take."""

from __future__ import annotations

import pytest

from partita.assets import DefinitionError, Static, asset_key


@pytest.mark.parametrize("key", ["x" * 1000, "é" * 500, "日" * 333])
def test_a_partition_key_of_a_thousand_bytes_is_legal_and_a_longer_one_is_refused(key: str) -> None:
    """One that no index takes made every launch fail that had it among its cells, whatever else it asked for."""
    assert Static("ok", key).keys == ("ok", key)
    with pytest.raises(DefinitionError, match="at most 1,000 bytes"):
        Static("ok", key + "é")


def test_an_asset_key_names_folders() -> None:
    assert asset_key("/".join(["a" * 200, "b" * 200]))
    for text in ("a" * 201, "/".join(["a" * 150] * 4)):
        with pytest.raises(DefinitionError, match="at most 500 characters, and 200 between"):
            asset_key(text)
