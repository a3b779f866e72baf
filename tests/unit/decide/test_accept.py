"""What accepting writes for one cell, in every combination."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from partita.core.decide.accept import AcceptTarget, rebases_of
from partita.core.store.values import AssetId, CellFact, CellRef, Fence
from partita.core.store.values_accept import CellBasis

CELL = CellRef(AssetId(1), "2026-03-01")
TEXTS = st.sampled_from([None, "a", "b"])
PRESENT = st.sampled_from(["", "a", "b"])


@given(st.sampled_from([None, "v1"]), TEXTS, TEXTS, st.sampled_from([None, 7]), PRESENT, PRESENT)
def test_after_it_nothing_of_code_or_dependencies_differs_and_data_is_not_hidden(
    version: str | None, fingerprint: str | None, dependency: str | None, digest: int | None, code: str, inputs: str
) -> None:
    fact = CellFact(CELL, Fence(1), version, fingerprint, dependency, digest, None, None)
    found = rebases_of([AcceptTarget(CELL, code, inputs, 9)], {CELL: fact})
    if version is None:
        assert found == []
        return
    held = CellBasis(fingerprint, dependency, digest)
    basis = found[0].basis if found else held
    assert basis.fingerprint == (code or fingerprint)
    assert basis.dependency_hash == (inputs or dependency)
    # The digest says which data was read of which inputs: it moves with the inputs only.
    assert basis.consumed_digest == (9 if inputs and dependency not in (None, inputs) else digest)
    assert bool(found) == (basis != held)
    assert rebases_of([AcceptTarget(CELL, code, inputs, 9)], {CELL: fact_with(fact, basis)}) == []


def fact_with(fact: CellFact, basis: CellBasis) -> CellFact:
    return CellFact(
        fact.cell,
        fact.fence,
        fact.data_version,
        basis.fingerprint,
        basis.dependency_hash,
        basis.consumed_digest,
        None,
        None,
    )


def test_a_cell_that_never_was_is_left_alone() -> None:
    assert rebases_of([AcceptTarget(CELL, "a", "b", 1)], {}) == []
