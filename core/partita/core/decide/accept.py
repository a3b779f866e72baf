"""What accepting writes: the present code and dependencies as those that a cell was made with.

Pure: what cells hold and what is to be recorded in, changes out. Owns that only published cells are touched, that accepting
code says nothing about data, and what happens to the digest when the set of inputs is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from partita.core.store.values import CellFact, CellRef
from partita.core.store.values_accept import CellBasis, Rebase


@dataclass(frozen=True, slots=True)
class AcceptTarget:
    """One cell with the present code and dependencies of its asset, and the digest of what its inputs hold now."""

    cell: CellRef
    fingerprint: str
    dependency_hash: str
    digest: int


def rebases_of(targets: Iterable[AcceptTarget], facts: Mapping[CellRef, CellFact]) -> list[Rebase]:
    """The cells whose record changes. A digest over other inputs says nothing about these: it is taken anew where the
    dependencies differ, and kept where only code does, so that data that moved still makes stale."""
    found = []
    for target in targets:
        fact = facts.get(target.cell)
        if fact is None or fact.data_version is None:
            continue
        held = CellBasis(fact.fingerprint, fact.dependency_hash, fact.consumed_digest)
        moved = bool(target.dependency_hash) and held.dependency_hash not in (None, target.dependency_hash)
        accepted = CellBasis(
            target.fingerprint or held.fingerprint,
            target.dependency_hash or held.dependency_hash,
            target.digest if moved else held.consumed_digest,
        )
        if accepted != held:
            found.append(Rebase(target.cell, fact.fence, held, accepted))
    return found
