"""A deployment with history, made at once: definitions through the store, cells and their pages by COPY.

The pages come from the product's own packer. What is missing or stale in it is known by construction, so that a plan can be
checked against arithmetic that knows nothing of the planner.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import psycopg

from partita.assets import (
    AssetSpec,
    Daily,
    Identity,
    InputSpec,
    Snapshot,
    SourceRef,
    StepSpec,
    TimePartitions,
    asset_key,
    canonical_json,
    cell_hash,
    input_factor,
    snapshot_hash,
    space_of,
    to_spec,
)
from partita.core.cells.keys import KeyColumn
from partita.core.cells.pages import joined, pack, rows_equal
from partita.core.cells.values import OUTCOME_SHIFT, PUBLISHED, CellBlock, Outcome
from partita.core.config import load_config
from partita.core.embedded import EmbeddedPostgres
from partita.core.store.open import migrate, open_store
from partita.core.store.postgres.base import to_signed
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import AssetId
from planner_rows.measure import check

LAYERS = 10
INPUTS = 3
NEWEST_MISSING = 3
AS_OF = datetime(2026, 6, 1, tzinfo=UTC)
START = datetime(2023, 1, 1)  # noqa: DTZ001 - a local wall time
PICKED = 100
_CODE = 97  # different fingerprints


@contextmanager
def served() -> Iterator[tuple[Path, str]]:
    """A project's folder with its embedded Postgres, in the default configuration, and the URL; removed afterwards."""
    with TemporaryDirectory(prefix="partita-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server may run as another account
        (folder / "partita.toml").write_text("")
        server = EmbeddedPostgres(load_config(folder, environ={}).postgres)
        url = server.start()
        try:
            yield folder, url
        finally:
            server.stop()


def graph_of(assets: int) -> list[tuple[int, ...]]:
    """The upstreams of each asset by position: ten layers, three inputs each from the layer above."""
    wide = assets // LAYERS
    draw = random.Random(7)
    found: list[tuple[int, ...]] = []
    for index in range(assets):
        layer = index // wide
        above = range((layer - 1) * wide, layer * wide)
        found.append(tuple(sorted(draw.sample(above, INPUTS))) if layer else ())
    return found


def scheme(days: int) -> TimePartitions:
    """So many local days, all of them closed."""
    return Daily(START, end=START + timedelta(days=days), tz="America/New_York")


def definitions(assets: int, days: int = 1_000) -> Snapshot:
    """So many daily assets, as a code location would send them. 100 in the middle of the graph carry a tag."""
    picked = range(assets // 2, assets // 2 + PICKED)
    partitions = to_spec(scheme(days))
    keys = [asset_key(f"layer{index * LAYERS // assets}/table_{index:05}") for index in range(assets)]
    specs = [
        AssetSpec(
            key=keys[index],
            step=keys[index],
            description="What one local day brought.",
            group=f"group{index % 50}",
            owner="team:ops",
            tags={"tier": "gold"} | ({"picked": "yes"} if index in picked else {}),
            partitions=partitions,
            inputs=tuple(
                InputSpec(name=f"in{place}", upstream=keys[above], mapping=to_spec(Identity()))
                for place, above in enumerate(upstream)
            ),
            fingerprint=f"{index % _CODE:064x}",
            dependency_hash=f"{index:032x}",
            source=SourceRef(module="shop.tables", file=f"shop/tables_{index % 100}.py", line=1 + index % 400),
        )
        for index, upstream in enumerate(graph_of(assets))
    ]
    steps = [
        StepSpec(id=key, assets=(key,), function=f"shop.tables:f{index}", code={"": f"{index:032x}"})
        for index, key in enumerate(keys)
    ]
    return Snapshot(location="shop", assets=tuple(specs), steps=tuple(steps))


@dataclass
class World:
    """`assets` daily assets of `days` days. The newest three days are missing in the lower half of the layers; of ten sources
    one old day each holds another version than its consumers read, so that all below it follows."""

    url: str
    assets: int
    days: int = 1_000
    ids: list[AssetId] = field(default_factory=list)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        space = space_of(scheme(self.days), AS_OF)
        return tuple(space.keys(space.all()))

    @cached_property
    def changed(self) -> dict[int, int]:
        """By source the day whose version moved."""
        return {source: 5 + 9 * place for place, source in enumerate(range(0, 10 * 7, 7))}

    def build(self) -> None:
        """An empty database becomes this one."""
        migrate(self.url)
        store = open_store(self.url)
        try:
            self._define(store)
            with psycopg.connect(self.url) as connection:
                self._cells(connection)
                self._pages(connection)
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
            self._check(store)
        finally:
            store.close()

    def expected(self, chosen: Sequence[int] | None = None) -> int:
        """How many cells the plan of these assets (by position; None: all) holds."""
        planned: dict[int, npt.NDArray[np.bool_]] = {}
        wanted = set(range(self.assets) if chosen is None else chosen)
        for index, upstream in enumerate(graph_of(self.assets)):
            if index not in wanted:
                continue
            mine = np.zeros(len(self.keys), dtype=np.bool_)
            mine[self._published(index) :] = True
            for above in upstream:
                if above in self.changed:
                    mine[self.changed[above]] = True
                if above in planned:
                    mine |= planned[above]
            planned[index] = mine
        return int(sum(mine.sum() for mine in planned.values()))

    def _define(self, store: PostgresStore) -> None:
        snapshot = definitions(self.assets, self.days)
        body = canonical_json(snapshot)
        with store.begin() as tx:
            location = tx.put_location(snapshot.location)
            stored, _ = tx.put_snapshot(location, snapshot_hash(snapshot), body=body, effective=body, kept=[])
            tx.activate_snapshot(location, stored)
            known = tx.define_assets(location, stored, [spec.key for spec in snapshot.assets])
            texts = tx.intern(text for spec in snapshot.assets for text in (spec.fingerprint, spec.dependency_hash))
        self.ids = [known[spec.key] for spec in snapshot.assets]
        self._codes = [(texts[spec.fingerprint], texts[spec.dependency_hash]) for spec in snapshot.assets]

    def _blocks(self) -> Iterator[tuple[AssetId, CellBlock, int | None]]:
        """Per asset its id, its published cells and the place of the cell that holds version 2."""
        old = np.array([cell_hash(key, "v1") for key in self.keys], dtype=np.uint64)
        names = {n: KeyColumn.of(self.keys[:n]) for n in (len(self.keys), len(self.keys) - NEWEST_MISSING)}
        for index, upstream in enumerate(graph_of(self.assets)):
            n = self._published(index)
            moved = self.changed.get(index)
            hashes = old[:n].copy()
            if moved is not None:
                hashes[moved] = cell_hash(self.keys[moved], "v2")
            digest = np.zeros(n, dtype=np.uint64)
            for place, above in enumerate(upstream):
                digest += old[:n] * np.uint64(input_factor(self.ids[above], f"in{place}"))
            fingerprint, dependency = (np.full(n, one, dtype=np.uint32) for one in self._codes[index])
            flags = np.full(n, PUBLISHED | Outcome.PUBLISHED << OUTCOME_SHIFT, dtype=np.uint8)
            yield self.ids[index], CellBlock(names[n], hashes, digest, fingerprint, dependency, flags), moved

    def _published(self, index: int) -> int:
        """How many days of an asset are there."""
        return len(self.keys) - (NEWEST_MISSING if index * 2 >= self.assets else 0)

    def _pages(self, connection: psycopg.Connection) -> None:
        statement = "COPY cell_page (asset_id, first_key, n, packed, sum_hash) FROM STDIN (FORMAT BINARY)"
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["int8", "text", "int4", "bytea", "int8"])
            for asset_id, block, _ in self._blocks():
                page = pack(block)
                copy.write_row((asset_id, page.first_key, page.n, page.packed, to_signed(page.sum_hash)))

    def _cells(self, connection: psycopg.Connection) -> None:
        columns = "asset_id, partition, fence, data_version, fingerprint_id, dependency_hash_id, consumed_digest, "
        columns += "published_at, version_at, last_outcome, last_attempt_at"
        at = AS_OF.isoformat()
        with connection.cursor() as cursor, cursor.copy(f"COPY cell ({columns}) FROM STDIN") as copy:
            for asset_id, block, moved in self._blocks():
                code = f"{block.fingerprint[0]}\t{block.dependency[0]}"
                digests = block.digest.view(np.int64).tolist()
                lines = [
                    f"{asset_id}\t{key}\t1\t{'v2' if place == moved else 'v1'}\t{code}\t{digest}\t{at}\t{at}\tpublished\t{at}\n"
                    for place, (key, digest) in enumerate(zip(block.keys, digests, strict=True))
                ]
                copy.write("".join(lines))

    def _check(self, store: PostgresStore) -> None:
        """The pages of some assets are what rebuilding them from their cells gives."""
        some = self.ids[:: max(self.assets // 20, 1)]
        with store.read() as reader:
            blocks, rebuilt = reader.blocks(some), reader.rebuilt(some)
        for asset_id in some:
            check(rows_equal(joined(blocks[asset_id]), rebuilt[asset_id]), f"pages of asset {asset_id} rebuilt equal")
