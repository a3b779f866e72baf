"""What a person does to identities: rename, move, retire, delete. Pure: what is known in, the change or a refusal out.

Owns what each of them means and when it is refused. The change is a value: the preview shows it, the duty writes it (law 6).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from partita.assets import AssetKey, PartitaError, UnknownAsset, suggest
from partita.core.store.values import AssetId, LocationId, SnapshotId
from partita.core.store.values_identity import AssetRow


class IdentityRefused(PartitaError):
    """A rename, a move or a retirement that cannot be, or is not what was shown any more."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of all assets. `declared` gives the location of what is active, `held` and `open` count published cells
    and cells that an open task owns, by asset; `vector` is which snapshots are active."""

    rows: Sequence[AssetRow]
    declared: Mapping[AssetKey, str]
    held: Mapping[AssetId, int]
    open: Mapping[AssetId, int]
    vector: tuple[tuple[LocationId, SnapshotId], ...] = ()

    def row(self, key: str) -> AssetRow:
        """Raises UnknownAsset."""
        for one in self.rows:
            if one.key == key:
                return one
        raise UnknownAsset(f"asset {key!r} was never seen", fix=suggest(key, [one.key for one in self.rows]))

    def find(self, key: str) -> AssetRow | None:
        return next((one for one in self.rows if one.key == key), None)


@dataclass(frozen=True, slots=True)
class Line:
    """What happens to one asset; `cells` it holds, all of which stay with it."""

    asset_id: AssetId
    was: str
    became: str
    cells: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class IdentityChange:
    """`lines` by asset; `before` are their rows as they were when this was decided."""

    kind: Literal["rename", "move", "retire", "delete"]
    lines: tuple[Line, ...]
    before: tuple[AssetRow, ...]
    vector: tuple[tuple[LocationId, SnapshotId], ...]
    home: LocationId | None = None


def rename(known: Known, old: str, new: AssetKey) -> IdentityChange:
    """The asset `old` gets the key `new`; an asset that stands there takes the old key. Raises UnknownAsset, IdentityRefused."""
    row, other = known.row(old), known.find(new)
    if row.key == new:
        raise IdentityRefused(f"{old!r} has this key", fix="give another one")
    if other is None and AssetKey(old) in known.declared:
        raise IdentityRefused(
            f"{old!r} is declared by location {known.declared[AssetKey(old)]!r}, and nobody declares {new!r}",
            rule="the code says which keys there are",
            fix=f"declare {new!r} with renamed_from={old!r}",
        )
    both = [row] if other is None else [row, other]
    _refuse_open(known, both, "renamed")
    lines = [Line(row.id, row.key, new, known.held.get(row.id, 0), _now_declared(known, new))]
    if other is not None:
        note = _now_declared(known, AssetKey(old)) or "retired under the old key; its cells stay readable there"
        lines.append(Line(other.id, other.key, old, known.held.get(other.id, 0), note))
    return IdentityChange("rename", tuple(lines), tuple(both), known.vector)


def move(known: Known, key: str, location: str, locations: Mapping[str, LocationId]) -> IdentityChange:
    """The definition of `location` is the one that counts. Raises UnknownAsset, IdentityRefused."""
    row = known.row(key)
    if location not in locations:
        raise IdentityRefused(f"there is no location {location!r}", fix=suggest(location, locations))
    if row.home_id == locations[location]:
        raise IdentityRefused(f"{key!r} was moved to {location!r} already", fix="deploy the location that declares it")
    now = known.declared.get(AssetKey(key), "")
    if now == location:
        raise IdentityRefused(f"{key!r} is in location {location!r}", fix="name another one")
    note = f"until {location!r} declares it, the definition of {now!r} counts" if now else "no location declares it now"
    line = Line(row.id, now, location, known.held.get(row.id, 0), note)
    return IdentityChange("move", (line,), (row,), known.vector, locations[location])


def retire(
    known: Known, keys: Collection[AssetKey], readers: Mapping[AssetKey, Collection[AssetKey]]
) -> IdentityChange:
    """These assets leave the graph. `readers` are the assets that read each. Raises IdentityRefused."""
    rows = [known.row(key) for key in sorted(keys)]
    if not rows:
        raise IdentityRefused("nothing is selected", rule="assets that are defined are retired")
    for row in rows:
        left = sorted(set(readers.get(AssetKey(row.key), ())) - set(keys))
        if left:
            raise IdentityRefused(
                f"{row.key!r} is read by {', '.join(map(repr, left[:5]))}",
                rule="what is read by others cannot leave the graph",
                fix=f"retire them, too: partita assets retire {row.key}+",
            )
    _refuse_open(known, rows, "retired")
    lines = [
        Line(
            row.id,
            row.key,
            "",
            known.held.get(row.id, 0),
            f"comes back with the next version of {known.declared[AssetKey(row.key)]!r} that declares it",
        )
        for row in rows
    ]
    return IdentityChange("retire", tuple(lines), tuple(rows), known.vector)


def delete(known: Known, keys: Collection[str], readers: Mapping[str, Collection[AssetKey]]) -> IdentityChange:
    """What these retired assets held and their history go for good. `readers` are the assets that are active and name each as
    an input. Raises UnknownAsset, IdentityRefused."""
    rows = [known.row(key) for key in sorted(set(keys))]
    for row in rows:
        where = known.declared.get(AssetKey(row.key))
        if where is not None or row.retired_at is None:
            said = f"is declared by location {where!r}" if where is not None else "is not retired"
            raise IdentityRefused(
                f"{row.key!r} {said}",
                rule="what is deleted has left the graph before",
                fix=f"take it out of the code and deploy, or partita assets retire {row.key}",
            )
        left = sorted(readers.get(row.key, ()))
        if left:
            raise IdentityRefused(
                f"{row.key!r} is named as an input by {', '.join(map(repr, left[:5]))}",
                rule="what others depend on is not deleted",
                fix="change those first",
            )
    _refuse_open(known, rows, "deleted")
    note = (
        "goes for good with its cells, versions, checks and requests; runs keep their records, data stay where they are"
    )
    lines = [Line(row.id, row.key, "", known.held.get(row.id, 0), note) for row in rows]
    return IdentityChange("delete", tuple(lines), tuple(rows), known.vector)


def _refuse_open(known: Known, rows: Sequence[AssetRow], verb: str) -> None:
    for row in rows:
        if known.open.get(row.id):
            raise IdentityRefused(
                f"{row.key!r} has {known.open[row.id]:,} cells that a task is to make",
                rule=f"an asset is {verb} when nothing of it is planned or running",
                fix="let its runs end, or cancel them: partita runs",
            )


def _now_declared(known: Known, key: AssetKey) -> str:
    where = known.declared.get(key)
    return f"declared by location {where!r}" if where is not None else ""
