"""`renamed_from=`: what is written reaches the snapshot, and what makes no sense is refused where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import DefinitionError, asset_key
from partita.sdk import Out, asset, external, multi_asset
from partita.sdk.former import former_keys


def test_it_is_written_on_every_kind_of_declaration() -> None:
    @asset(key="raw/a", renamed_from="a", io=None)
    def one() -> None: ...

    @multi_asset(outs={"b": Out(renamed_from=["old/b", "older/b"]), "c": Out()})
    def group() -> dict[str, Any]:
        return {}

    assert one.step.assets[0].renamed_from == ("a",)
    assert [made.renamed_from for made in group.step.assets] == [("old/b", "older/b"), ()]
    assert external("src/x", renamed_from="x").definition.renamed_from == ("x",)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("a", "names its own key"),
        (["b", "b"], "names a key twice"),
        (7, "it is a key, or a list of keys"),
        ([7], "it is a key, or a list of keys"),
        ("no key!/", "key"),
    ],
)
def test_what_makes_no_sense_is_refused(said: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        former_keys(said, asset_key("a"))
