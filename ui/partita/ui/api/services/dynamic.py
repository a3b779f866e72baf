"""Keys of dynamic schemes: which there are, what a change would bring about, and the change.

Owns the composition; the rules are the model's and the core's.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from datetime import timedelta
from math import prod
from typing import Any, Literal

from partita.assets import DefinitionError, DynamicPartitions, PartitionSpace, split_key, suggest
from partita.assets.partitions.dynamic import check_cap, check_there, ends_at, legal_keys
from partita.assets.partitions.multi import ProductSpace
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.catalog.dynamic import DynamicScheme, cells_of_keys, dynamic_parts
from partita.core.catalog.edges import mask_of
from partita.core.cells import counts_of
from partita.core.duties.dynamic import KeysChanged, add_keys, remove_keys
from partita.core.store.queries import dynamic_read as sql
from partita.core.store.queries.api_read import Row, number, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import (
    DynamicKeyView,
    KeyPage,
    KeyScheme,
    KeySchemes,
    KeysDone,
    KeysImpact,
    KeysPreview,
    KeysPreviewRequest,
    KeysToAdd,
    KeysToRemove,
)
from partita.ui.api.problems import NotFound
from partita.ui.api.services.base import Backend
from partita.ui.api.services.board import Board
from partita.ui.api.services.words import plural

_NAMED = 3
_IN_CLI = 20
_OPEN = frozenset({"running", "queued", "scheduled", "deferred", "awaiting_input", "up_for_retry"})


class KeyService:
    def __init__(self, backend: Backend, board: Board) -> None:
        self._backend = backend
        self._board = board

    # ------------------------------------------------------------------ reading

    def schemes(self) -> KeySchemes:
        """The dynamic schemes of the active definitions, by name."""
        catalog = self._backend.catalogs.active()
        found = [_view(name, scheme, catalog) for name, scheme in catalog.dynamic_schemes.items()]
        return KeySchemes(schemes=found)

    def page(self, scheme: str, *, ended: bool, search: str | None, offset: int, limit: int) -> KeyPage:
        """Keys in the order of their addition, or those that ended, the last first."""
        catalog = self._backend.catalogs.active()
        found = _scheme(catalog, scheme)
        asked = {"scheme": scheme, "search": search or None}
        with self._backend.store.read() as reader:
            items = rows(reader, sql.KEYS_ENDED if ended else sql.KEYS_THERE, **asked, offset=offset, limit=limit)
            total = number(reader, sql.TOTAL_ENDED if ended else sql.TOTAL_THERE, **asked)
        return KeyPage(
            scheme=_view(scheme, found, catalog),
            items=[DynamicKeyView(**dict(row)) for row in items],
            total=total,
            offset=offset,
            limit=limit,
        )

    # ------------------------------------------------------------------ changing

    def preview(self, request: KeysPreviewRequest) -> KeysPreview:
        """What a change would do now; raises what the change itself would. Changes nothing."""
        catalog = self._backend.catalogs.active()
        scheme = _scheme(catalog, request.scheme)
        present = catalog.keys.keys.get(request.scheme, ())
        wanted = list(dict.fromkeys(request.keys))
        if request.verb == "remove":
            check_there(scheme.definition, wanted, present)
            return self._removal(catalog, scheme, wanted, present)
        legal_keys(scheme.definition, wanted)
        known = set(present)
        fresh = [key for key in wanted if key not in known]
        check_cap(scheme.definition, len(present), len(fresh))
        with self._backend.store.read() as reader:
            expires_at = ends_at(scheme.definition, reader.now(), _ttl(request.ttl_s))
            at = reader.now()
        impacts = []
        for key in scheme.assets:
            cells = _cells_to_come(catalog.space(key, at), request.scheme, len(fresh))
            follows = catalog.assets[key].automated
            impacts.append(
                KeysImpact(asset=key, cells=cells, counts={"missing": cells} if cells else {}, follows=follows)
            )
        return KeysPreview(
            verb="add",
            scheme=_view(request.scheme, scheme, catalog),
            new=len(fresh),
            known=len(wanted) - len(fresh),
            present_after=len(present) + len(fresh),
            expires_at=expires_at,
            impacts=impacts,
            open_cells=0,
            sentence=_addition(request.scheme, fresh, len(wanted) - len(fresh), impacts),
            cli=_cli("add", request.scheme, wanted),
        )

    def _removal(
        self, catalog: Catalog, scheme: DynamicScheme, wanted: Sequence[str], present: Collection[str]
    ) -> KeysPreview:
        name = scheme.definition.name
        _, shown = self._board.view(catalog, scheme.assets)
        impacts = []
        for key in scheme.assets:
            cells = cells_of_keys(shown[key].space, name, wanted)
            counts = counts_of(shown[key].codes.ravel()[mask_of(cells, shown[key].space.size)])
            impacts.append(KeysImpact(asset=key, cells=len(cells), counts=counts, follows=False))
        busy = sum(n for one in impacts for state, n in one.counts.items() if state in _OPEN)
        return KeysPreview(
            verb="remove",
            scheme=_view(name, scheme, catalog),
            new=len(wanted),
            known=0,
            present_after=len(present) - len(wanted),
            expires_at=None,
            impacts=impacts,
            open_cells=busy,
            sentence=_removal(name, wanted, impacts, busy),
            cli=_cli("remove", name, wanted),
        )

    def add(self, request: KeysToAdd) -> KeysDone:
        """Adds keys, all or none. Raises DefinitionError, or NotWhatWasShown for another count of new ones."""
        catalog = self._backend.catalogs.active()
        scheme = _scheme(catalog, request.scheme)
        return self._done(
            add_keys(
                self._backend.store,
                scheme.definition,
                request.keys,
                who=self._backend.who,
                ttl=_ttl(request.ttl_s),
                metadata=request.metadata,
                followers=[catalog.assets[key].id for key in scheme.assets if catalog.assets[key].automated],
                confirm_new=request.confirm_new,
            )
        )

    def remove(self, request: KeysToRemove) -> KeysDone:
        """Removes keys, all or none. Raises UnknownPartition."""
        scheme = _scheme(self._backend.catalogs.active(), request.scheme)
        return self._done(remove_keys(self._backend.store, scheme.definition, request.keys, who=self._backend.who))

    def _done(self, changed: KeysChanged) -> KeysDone:
        self._backend.wake(changed.channels)
        return KeysDone(
            added=changed.added,
            prolonged=changed.prolonged,
            unchanged=changed.unchanged,
            removed=changed.removed,
            present=changed.present,
        )


# ---------------------------------------------------------------------- keys that are not there


def ended_keys(reader: Reader, catalog: Catalog, asset: CatalogAsset, partition: str) -> list[Row]:
    """The dynamic keys of a partition that are no more, with when and by whom they were ended; none when one of its keys never
    was. Such a partition is history: its cells are there to be read."""
    pairs = _dynamic_coordinates(catalog, asset, partition)
    if not pairs:
        return []
    found = rows(reader, sql.LAST_ENDED, schemes=[one for one, _ in pairs], keys=[key for _, key in pairs])
    present = {pair for pair in pairs if pair[1] in catalog.keys.keys.get(pair[0], ())}
    gone = {(row["scheme"], row["key"]) for row in found}
    return list(found) if gone and gone | present >= set(pairs) else []


def how_to_add(catalog: Catalog, asset: CatalogAsset, partition: str) -> str:
    """The command that adds the dynamic keys which a partition lacks; "" when that is not what it lacks."""
    for scheme, key in _dynamic_coordinates(catalog, asset, partition):
        if key not in catalog.keys.keys.get(scheme, ()):
            return f"to add it: partita partitions add {shlex.quote(scheme)} {shlex.quote(key)}"
    return ""


def _dynamic_coordinates(catalog: Catalog, asset: CatalogAsset, partition: str) -> list[tuple[str, str]]:
    definition = catalog.definition(asset.key)
    if isinstance(definition, DynamicPartitions):
        return [(definition.name, partition)]
    keys = split_key(partition)
    if definition is None or not dynamic_parts(definition) or keys is None or not hasattr(definition, "dims"):
        return []
    return [
        (part.name, key)
        for (_, part), key in zip(definition.dims, keys, strict=False)
        if isinstance(part, DynamicPartitions)
    ]


# ---------------------------------------------------------------------- parts


def _scheme(catalog: Catalog, name: str) -> DynamicScheme:
    found = catalog.dynamic_schemes.get(name)
    if found is None:
        raise NotFound(
            f"there are no dynamic partitions {name!r}",
            rule="a scheme is known when a loaded asset is sliced by Dynamic(name)",
            fix=suggest(name, catalog.dynamic_schemes) or "partita partitions list shows them",
        )
    return found


def _view(name: str, scheme: DynamicScheme, catalog: Catalog) -> KeyScheme:
    return KeyScheme(
        name=name,
        cap=scheme.definition.cap,
        ttl_s=scheme.definition.ttl_s,
        present=len(catalog.keys.keys.get(name, ())),
        assets=list(scheme.assets),
    )


def _ttl(ttl_s: float | None) -> timedelta | None:
    try:
        return None if ttl_s is None else timedelta(seconds=ttl_s)
    except (OverflowError, ValueError):
        raise DefinitionError(f"a time to live of {ttl_s} s", rule="keys end before the year 10000") from None


def _cells_to_come(space: PartitionSpace, scheme: str, keys: int) -> int:
    """How many partitions so many keys more bring. Of a product each with all that the other dimensions have."""
    if not isinstance(space, ProductSpace):
        return keys
    sizes = [
        part.size + keys
        if isinstance(part.definition, DynamicPartitions) and part.definition.name == scheme
        else part.size
        for part in space.parts
    ]
    return prod(sizes) - space.size


def _named(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
    return ", ".join(keys[:_NAMED]) + more


def _addition(scheme: str, fresh: Sequence[str], known: int, impacts: Sequence[KeysImpact]) -> str:
    if not fresh:
        return f"Nothing new for {scheme}: {plural(known, 'key')} there already"
    cells = sum(one.cells for one in impacts)
    follow = [one.asset for one in impacts if one.follows and one.cells]
    text = f"Add {plural(len(fresh), 'key')} to {scheme} ({_named(fresh)}): {plural(cells, 'missing cell')} of "
    text += plural(len(impacts), "asset")
    text += f"; {plural(known, 'key')} there already" if known else ""
    return text + (f"; automation asks for those of {', '.join(follow)}" if follow else "")


def _removal(scheme: str, keys: Sequence[str], impacts: Sequence[KeysImpact], busy: int) -> str:
    cells = sum(one.cells for one in impacts)
    text = f"Remove {plural(len(keys), 'key')} from {scheme} ({_named(keys)}): {plural(cells, 'cell')} of "
    text += f"{plural(len(impacts), 'asset')} no longer exist; what they hold and their history stay"
    return text + (f"; {plural(busy, 'cell')} in progress will still be made" if busy else "")


def _cli(verb: Literal["add", "remove"], scheme: str, keys: Sequence[str]) -> str:
    named = keys if len(keys) <= _IN_CLI else []
    words: list[Any] = ["partita", "partitions", verb, scheme, *named]
    return shlex.join(words) + ("" if named else " --from-file KEYS")
