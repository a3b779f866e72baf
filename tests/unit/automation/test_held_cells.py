"""What is kept of a request above the limit: any key comes back as it went in, and differences are told by asset."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from partita.core.automation.held import HeldCell, decode_cells, difference, encode_cells
from partita.core.planner.values import Reason
from partita.core.store.values import AssetId, CellRef

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CELLS = st.dictionaries(
    st.builds(CellRef, st.integers(1, 5).map(AssetId), KEYS),
    st.builds(HeldCell, st.sampled_from(list(Reason)), st.integers(0, 2**64 - 1)),
    max_size=30,
)


@given(cells=CELLS)
def test_cells_come_back_as_they_were(cells: dict[CellRef, HeldCell]) -> None:
    """Law 9: keys are data."""
    assert decode_cells(encode_cells(cells)) == cells


@given(cells=CELLS)
def test_equal_cells_have_equal_bytes(cells: dict[CellRef, HeldCell]) -> None:
    assert encode_cells(dict(reversed(cells.items()))) == encode_cells(cells)


def test_a_request_that_has_ended_holds_nothing() -> None:
    assert decode_cells(None) == {}


def test_differences_are_told_by_asset() -> None:
    class Catalog:
        by_id: dict[int, Any] = {1: type("Asset", (), {"key": "mart"})}  # noqa: RUF012 - a stand-in

    def cell(asset: int, key: str) -> CellRef:
        return CellRef(AssetId(asset), key)

    missing, stale = HeldCell(Reason.MISSING, 1), HeldCell(Reason.STALE_DATA, 2)
    before = {cell(1, "a"): missing, cell(1, "b"): missing, cell(1, "c"): missing, cell(2, "x"): stale}
    after = {cell(1, "b"): stale, cell(1, "c"): HeldCell(Reason.MISSING, 9), cell(1, "d"): missing}
    told = difference(before, after, Catalog())  # type: ignore[arg-type]
    assert told == (
        "1 cell of mart no longer to be made; 1 cell of mart to be made as well; 1 cell of mart to be made for another"
        " reason; 1 cell of an asset that is gone (2) no longer to be made"
    )
    assert difference(after, after, Catalog()) == ""  # type: ignore[arg-type]
