"""Which stable id each declared key has: renames, and a key that goes back to what it was.

Pure: what is declared, what the store knows, and what was renamed before in, new keys and problems out. Owns when
`renamed_from=` is honoured, and when it has done its work (ADR 10). An identity is never guessed and nothing is merged: an
asset with cells of its own keeps them until a person says otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from partita.assets import AssetKey
from partita.core.store.values import AssetId
from partita.core.store.values_identity import AssetRow, FormerKey

Declared = Mapping[AssetKey, tuple[AssetKey, ...]]
"""Every key that the union of locations defines, with its `renamed_from`, the nearest first."""


@dataclass(frozen=True, slots=True)
class Identities:
    """`keys`: the assets that get another key, all at once. With `problems` nothing may be written."""

    keys: Mapping[AssetId, AssetKey]
    problems: tuple[str, ...] = ()


def decide_identities(
    declared: Declared, rows: Sequence[AssetRow], former: Sequence[FormerKey], held: Mapping[AssetId, int]
) -> Identities:
    """`held` counts the published cells of the assets that `contested` names; one that is left out has none."""
    found = _Identities(declared, rows, former)
    problems = [*rename_problems(declared), *found.problems(held)]
    if problems:
        return Identities({}, tuple(problems))
    taken = {**found.taken_over(), **found.taken_back(held)}
    return Identities(found.new_keys(taken))


def contested(declared: Declared, rows: Sequence[AssetRow], former: Sequence[FormerKey]) -> list[AssetId]:
    """The assets whose published cells decide: those that stand under a key which another asset is to have."""
    known = _Identities(declared, rows, former)
    wanted = [key for key in declared if known.earlier(key) is not None or known.was(key) is not None]
    return sorted(known.by_key[key].id for key in wanted if key in known.by_key)


def rename_problems(declared: Declared) -> list[str]:
    """What is wrong with the declarations by themselves."""
    claims: dict[AssetKey, list[AssetKey]] = defaultdict(list)
    for key in sorted(declared):
        for one in declared[key]:
            claims[one].append(key)
    problems = []
    for one, keys in sorted(claims.items()):
        if len(keys) > 1:
            names = " and ".join(repr(key) for key in keys)
            problems.append(
                f"{names} both say renamed_from={one!r}: an asset goes over to one other; keep it on one of them"
            )
        elif one in declared:
            problems.append(_still_defined(one, keys[0], declared))
    return problems


def _still_defined(one: AssetKey, key: AssetKey, declared: Declared) -> str:
    # Keys that change places, or shift along, would do so again at the next activation: nothing in the declarations says
    # whether it is done, and an installation that never saw the old code has nothing to turn round.
    said = f"{key!r} says renamed_from={one!r}, and {one!r} is still defined"
    if key in declared[one]:
        by_hand = f"`partita assets rename {one} {key}` after a deployment without renamed_from="
        return f"{said}: two assets change places by hand, {by_hand}"
    if declared[one]:
        return f"{said}: rename one after the other, in two deployments, {key!r} first"
    return f"{said}: remove the definition of {one!r}, or renamed_from= when the rename is long done"


class _Identities:
    """The known assets, looked at from the declared keys."""

    def __init__(self, declared: Declared, rows: Sequence[AssetRow], former: Sequence[FormerKey]) -> None:
        self._declared = declared
        self.by_key = {AssetKey(row.key): row for row in rows}
        self._by_id = {row.id: row for row in rows}
        self._formerly: dict[AssetId, set[str]] = defaultdict(set)
        self._holders: dict[str, list[AssetId]] = defaultdict(list)
        for one in sorted(former, key=lambda one: -one.id):
            self._formerly[one.asset_id].add(one.key)
            self._holders[one.key].append(one.asset_id)

    def done(self, key: AssetKey) -> bool:
        """Whether the asset of this key is the one that it says it was."""
        row = self.by_key.get(key)
        return row is not None and any(one in self._formerly[row.id] for one in self._declared[key])

    def earlier(self, key: AssetKey) -> AssetRow | None:
        """The asset that `renamed_from` of this key means: the nearest of the former keys that is known. None: done or new."""
        if self.done(key):
            return None
        for one in self._declared[key]:
            row = self.by_key.get(one) or self._last_holder(one)
            if row is not None:
                return row
        return None

    def was(self, key: AssetKey) -> AssetRow | None:
        """The asset that had this key before and has one that nobody declares: the rename is being undone."""
        return None if self._declared[key] and self.earlier(key) is not None else self._last_holder(key)

    def _last_holder(self, key: AssetKey) -> AssetRow | None:
        rows = (self._by_id[one] for one in self._holders.get(key, ()) if one in self._by_id)
        return next((row for row in rows if row.key not in self._declared and row.key != key), None)

    def taken_over(self) -> dict[AssetKey, AssetRow]:
        """By declared key the asset that goes over to it."""
        pairs = ((key, self.earlier(key)) for key in sorted(self._declared) if self._declared[key])
        return {key: row for key, row in pairs if row is not None}

    def taken_back(self, held: Mapping[AssetId, int]) -> dict[AssetKey, AssetRow]:
        gone = {row.id for row in self.taken_over().values()}
        back: dict[AssetKey, AssetRow] = {}
        for key in sorted(self._declared):
            own, row = self.by_key.get(key), self.was(key)
            if row is None or row.id in gone or self.earlier(key) is not None:
                continue
            if own is None or (own.retired_at is not None and not held.get(own.id)):
                back[key] = row
                gone.add(row.id)
        return back

    def problems(self, held: Mapping[AssetId, int]) -> Iterable[str]:
        for key, row in self.taken_over().items():
            own = self.by_key.get(key)
            if own is not None and held.get(own.id):
                source = row.key
                yield (
                    f"{key!r} says renamed_from={source!r}, but {key!r} has {_cells(held[own.id])} of its own: "
                    f"say `partita assets rename {source} {key}`, which puts them aside, or remove renamed_from="
                )

    def new_keys(self, taken: Mapping[AssetKey, AssetRow]) -> dict[AssetId, AssetKey]:
        """Everybody's new key. An asset without cells that stood under a wanted key takes one that became free."""
        moving = {row.id for row in taken.values()}
        keys = {row.id: key for key, row in taken.items()}
        displaced = sorted(
            self.by_key[key].id for key in taken if key in self.by_key and self.by_key[key].id not in moving
        )
        free = sorted(AssetKey(row.key) for row in taken.values() if row.key not in taken)
        return keys | dict(zip(displaced, free, strict=False))


def _cells(count: int) -> str:
    return f"{count:,} published cell" + ("" if count == 1 else "s")
