"""The partition strip: an axis of ordinals cut into buckets with counts by state, and rows for a second dimension. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from partita.assets import PartitionSpace, SelectionError, suggest
from partita.assets.partitions.multi import ProductSpace
from partita.core.cells import STATES, Shown
from partita.core.cells.held import Codes
from partita.ui.api.models import Bucket, Strip, StripRow
from partita.ui.api.services.asset_views import cadence_of, zone_of

ROWS_SHOWN = 200


def parse_where(text: str | None) -> dict[str, str]:
    """`{"origin": "EWR"}` as a mapping; raises SelectionError."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise SelectionError(f"where={text!r} is not usable", rule="it is a JSON object of dimension: key")
    return value


def strip_of(shown: Shown, *, lo: int | None, hi: int | None, buckets: int, where: Mapping[str, str]) -> Strip:
    """Columns are the time dimension (else the first), rows the first other dimension that `where` leaves open."""
    space = shown.space
    if not isinstance(space, ProductSpace):
        if where:
            raise SelectionError("`where` names dimensions, and this asset has none", fix="leave `where` out")
        return _strip(space, shown.codes.reshape(1, -1), lo, hi, buckets, rows=None)
    column = space.time_dim if space.time_dim is not None else 0
    cube = shown.codes.reshape(space.sizes)
    index: list[int | slice] = [slice(None)] * len(space.sizes)
    for name, key in where.items():
        if name not in space.dims or space.dims.index(name) == column:
            others = [one for at, one in enumerate(space.dims) if at != column]
            raise SelectionError(
                f"`where` cannot fix {name!r}", rule=f"it fixes {', '.join(others)}", fix=suggest(name, others)
            )
        index[space.dims.index(name)] = space.part(name).ordinal_of(key)
    open_dims = [at for at, one in enumerate(index) if isinstance(one, slice) and at != column]
    # Rows first, columns last, whatever is in between is counted together.
    kept = [at for at, one in enumerate(index) if isinstance(one, slice)]
    order = [kept.index(at) for at in (*open_dims, column)]
    table = cube[tuple(index)].transpose(order)
    rows = (space.dims[open_dims[0]], space.parts[open_dims[0]]) if open_dims else None
    if rows is None or rows[1].size > ROWS_SHOWN:
        return _strip(space.parts[column], _flat(table, space.sizes[column]), lo, hi, buckets, rows=None)
    return _strip(space.parts[column], table, lo, hi, buckets, rows=rows)


def _flat(table: Codes, columns: int) -> Codes:
    """Rows of so many columns; numpy cannot tell how many rows an axis without any partition has."""
    return table.reshape(table.size // columns if columns else 0, columns)


def edges_of(lo: int, hi: int, buckets: int) -> list[tuple[int, int]]:
    """[lo, hi) cut into at most `buckets` ranges whose lengths differ by one at most."""
    span = hi - lo
    count = min(buckets, span)
    return [(lo + span * i // count, lo + span * (i + 1) // count) for i in range(count)]


def _strip(
    axis: PartitionSpace,
    table: Codes,
    lo: int | None,
    hi: int | None,
    buckets: int,
    *,
    rows: tuple[str, PartitionSpace] | None,
) -> Strip:
    stop = min(axis.size if hi is None else hi, axis.size)
    start = min(lo or 0, stop)
    edges = edges_of(start, stop, buckets)
    tallies = tallies_of(_flat(table, axis.size), edges)
    return Strip(
        size=axis.size,
        lo=start,
        hi=stop,
        cadence=cadence_of(axis.definition),
        tz=zone_of(axis.definition),
        buckets=[_bucket(axis, first, last, counts) for (first, last), counts in zip(edges, tallies, strict=True)],
        rows=None if rows is None else _rows(rows[1], table, edges),
        row_dim=None if rows is None else rows[0],
    )


def tallies_of(table: Codes, edges: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    """Per range of columns how many cells show each state; the ranges tile a span. Costs by states, not by ranges."""
    counts: list[dict[str, int]] = [{} for _ in edges]
    if not edges:
        return counts
    span = table[:, edges[0][0] : edges[-1][1]]
    starts = np.array([lo for lo, _ in edges]) - edges[0][0]
    for code in np.unique(span):
        per_column = (span == code).sum(axis=0)
        for at, n in enumerate(np.add.reduceat(per_column, starts).tolist()):
            if n:
                counts[at][STATES[code]] = n
    return counts


def _bucket(axis: PartitionSpace, lo: int, hi: int, counts: dict[str, int]) -> Bucket:
    first = axis.window_at(lo)
    last = first if hi == lo + 1 else axis.window_at(hi - 1)
    return Bucket(
        lo=lo,
        hi=hi,
        first_key=axis.key_at(lo),
        last_key=axis.key_at(hi - 1),
        start=first.start if first is not None else None,
        end=last.end if last is not None else None,
        counts=counts,
    )


def _rows(space: PartitionSpace, table: Codes, edges: Sequence[tuple[int, int]]) -> list[StripRow]:
    return [
        StripRow(dim_key=space.key_at(at), buckets=tallies_of(_flat(table[at], table.shape[-1]), edges))
        for at in range(space.size)
    ]
