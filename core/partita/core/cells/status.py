"""The status of cells, per asset as arrays over the ordinals of its space.

Two facts per cell stay apart: the last success (missing, stale and why, fresh) and the last attempt (failed, skipped), and
beside them whether an open task owns it. Staleness compares digests and fingerprints, never times (DESIGN section 5).
Owns these rules; reads only through `CellsReader`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey, PartitionSet, PartitionSpace, input_factor
from partita.core.catalog import Catalog, CatalogAsset, CatalogInput
from partita.core.catalog.edges import Bools, EdgeMap, Hashes, in_order
from partita.core.catalog.names import names_of
from partita.core.cells.ordinals import ordinals_of
from partita.core.cells.values import OUTCOME_SHIFT, PUBLISHED, CellsReader, Outcome
from partita.core.store.values import AssetId, TaskState

STATES = (
    "fresh",
    "stale",
    "upstream_stale",
    "missing",
    "skipped",
    "failed",
    "scheduled",
    "queued",
    "running",
    "deferred",
    "up_for_retry",
    "awaiting_input",
)
"""The states that a cell shows, most urgent last; `AssetStatus.shown` holds indexes into it."""
_SHOWN = {state: index for index, state in enumerate(STATES)}
# A task that waits for its upstreams is planned work like one that waits for a slot.
_OPEN_SHOWN = {TaskState.NONE: "scheduled"}

Codes = npt.NDArray[np.uint8]
_FAILED = (Outcome.FAILED, Outcome.LOST)


@dataclass(frozen=True, eq=False)
class Held:
    """What the store holds of one asset, by ordinal."""

    published: Bools
    hash: Hashes
    digest: Hashes
    fingerprint: npt.NDArray[np.uint32]
    dependency: npt.NDArray[np.uint32]
    outcome: Codes
    open_state: Codes
    """0 where no open task owns the cell, else an index into STATES."""


@dataclass(frozen=True, eq=False)
class AssetStatus:
    """The status of every cell of one asset at one instant.

    `stale_*` hold for published cells only. `upstream_stale` marks published cells with an upstream that is missing or
    stale, directly or through others; it is empty (all false) unless the graph above was asked for.
    """

    asset: CatalogAsset
    space: PartitionSpace
    held: Held
    stale_code: Bools
    stale_data: Bools
    stale_dependencies: Bools
    upstream_stale: Bools

    @property
    def missing(self) -> Bools:
        """Never published."""
        return ~self.held.published

    @cached_property
    def stale(self) -> Bools:
        """Directly stale: code, data or dependencies."""
        return self.stale_code | self.stale_data | self.stale_dependencies

    @cached_property
    def fresh(self) -> Bools:
        """Published, not stale, and nothing above it is missing or stale."""
        return self.held.published & ~self.stale & ~self.upstream_stale

    @cached_property
    def failed(self) -> Bools:
        """The last attempt failed or was lost, whatever the cell held before."""
        return np.isin(self.held.outcome, _FAILED)

    @cached_property
    def skipped(self) -> Bools:
        """The last attempt chose to produce nothing."""
        return np.equal(self.held.outcome, Outcome.SKIPPED)

    @property
    def open(self) -> Bools:
        """Owned by a task that has not ended."""
        return self.held.open_state > 0

    @cached_property
    def shown(self) -> Codes:
        """One state per cell, as an index into STATES: an open task wins, then a failure, then what is held."""
        code = np.full(self.space.size, _SHOWN["missing"], dtype=np.uint8)
        code[self.skipped] = _SHOWN["skipped"]
        code[self.held.published] = _SHOWN["fresh"]
        code[self.upstream_stale] = _SHOWN["upstream_stale"]
        code[self.stale] = _SHOWN["stale"]
        code[self.failed] = _SHOWN["failed"]
        code[self.open] = self.held.open_state[self.open]
        return code

    def state_at(self, ordinal: int) -> str:
        """The state that a cell shows."""
        return STATES[int(self.shown[ordinal])]


class Statuses:
    """Statuses of assets on demand, from one reader at one instant; every asset is read at most once."""

    def __init__(self, catalog: Catalog, reader: CellsReader, as_of: datetime) -> None:
        self.catalog = catalog
        self.as_of = as_of
        self._reader = reader
        self._held: dict[AssetKey, Held] = {}
        self._direct: dict[AssetKey, AssetStatus] = {}
        self._full: dict[AssetKey, AssetStatus] = {}
        self._ids: dict[str, int] = {}

    def prefetch(self, keys: Iterable[AssetKey], *, ancestors: bool) -> None:
        """Read these assets and their upstreams (with `ancestors` all of them) in a few statements."""
        wanted = dict.fromkeys(keys)
        if ancestors:
            wanted.update(dict.fromkeys(self.catalog.graph.ancestors(*wanted)))
        else:
            wanted.update(dict.fromkeys(up for key in list(wanted) for up in self._upstreams(key)))
        self._read([key for key in wanted if key not in self._held])

    def held(self, key: AssetKey) -> Held:
        """What is stored of an asset."""
        if key not in self._held:
            self._read([key])
        return self._held[key]

    def direct(self, key: AssetKey) -> AssetStatus:
        """The status by the cell and its direct upstreams; `upstream_stale` is left empty."""
        known = self._direct.get(key)
        if known is None:
            self.prefetch([key], ancestors=False)
            known = self._direct[key] = self._compare(self.catalog.asset(key))
        return known

    def status(self, key: AssetKey) -> AssetStatus:
        """The whole status, with `upstream_stale`."""
        if key not in self._full:
            todo = self._not_known_above(key)
            self._read([one for one in todo if one not in self._held])
            for one in sorted(todo, key=self.catalog.order.__getitem__):
                self._full[one] = self._spread(one)
        return self._full[key]

    def expected_digest(self, asset: CatalogAsset) -> Hashes:
        """Per cell the digest of what its inputs hold now, modulo 2^64."""
        total = np.zeros(self.catalog.space(asset.key, self.as_of).size, dtype=np.uint64)
        for one in asset.inputs:
            hashes = (
                self.catalog.constant_hashes(one.upstream, self.as_of) if one.external else self.held(one.upstream).hash
            )
            total += self.edge(asset, one).sums(hashes) * np.uint64(input_factor(one.upstream_id, one.name))
        return total

    def edge(self, asset: CatalogAsset, one: CatalogInput) -> EdgeMap:
        """The compiled mapping of an input."""
        return self.catalog.edge(asset.key, one, self.as_of)

    def present(self, one: CatalogInput) -> Bools:
        """The upstream cells of an input that can be read."""
        if one.external:
            return np.ones(self.catalog.space(one.upstream, self.as_of).size, dtype=np.bool_)
        return self.held(one.upstream).published

    def _not_known_above(self, key: AssetKey) -> set[AssetKey]:
        """The asset and its ancestors without a whole status yet; what is known is not walked through again."""
        found, frontier = {key}, [key]
        while frontier:
            for above in self._upstreams(frontier.pop()):
                if above not in self._full and above not in found:
                    found.add(above)
                    frontier.append(above)
        return found

    def _upstreams(self, key: AssetKey) -> list[AssetKey]:
        return [one.upstream for one in self.catalog.asset(key).inputs]

    def _read(self, keys: Collection[AssetKey]) -> None:
        assets = {self.catalog.assets[key].id: key for key in keys if not self.catalog.assets[key].constant}
        blocks = self._reader.blocks(assets) if assets else {}
        opened = self._reader.open_cells(assets) if assets else {}
        self._intern(keys)
        for key in keys:
            asset_id = self.catalog.assets[key].id
            space = self.catalog.space(key, self.as_of)
            self._held[key] = _empty(space.size) if asset_id not in assets else _fill(space, asset_id, blocks, opened)

    def _intern(self, keys: Iterable[AssetKey]) -> None:
        assets = [self.catalog.assets[key] for key in keys]
        texts = {
            text for one in assets for text in (one.spec.fingerprint, one.dependency_hash) if text
        } - self._ids.keys()
        if texts:
            self._ids.update(self._reader.fingerprint_ids(texts))

    def _compare(self, asset: CatalogAsset) -> AssetStatus:
        space = self.catalog.space(asset.key, self.as_of)
        none = np.zeros(space.size, dtype=np.bool_)
        if asset.external:
            held = self._held[asset.key]
            if asset.constant:
                held = Held(
                    ~none, held.hash, held.digest, held.fingerprint, held.dependency, held.outcome, held.open_state
                )
            return AssetStatus(asset, space, held, none, none, none, none)
        held = self._held[asset.key]
        return AssetStatus(
            asset=asset,
            space=space,
            held=held,
            stale_code=held.published & self._differs(asset.spec.fingerprint, held.fingerprint),
            stale_data=held.published & (self.expected_digest(asset) != held.digest),
            stale_dependencies=held.published & self._differs(asset.dependency_hash, held.dependency),
            upstream_stale=none,
        )

    def _differs(self, text: str, recorded: npt.NDArray[np.uint32]) -> Bools:
        """Where the recorded id is of another text; what was never recorded is no change."""
        if not text:
            return np.zeros(len(recorded), dtype=np.bool_)
        differs: Bools = np.not_equal(recorded, 0) & np.not_equal(recorded, self._ids.get(text, 0))
        return differs

    def _spread(self, key: AssetKey) -> AssetStatus:
        direct = self.direct(key)
        bad = np.zeros(direct.space.size, dtype=np.bool_)
        own = [one for one in direct.asset.inputs if one.upstream == key]
        for one in direct.asset.inputs:
            if one.external or one.upstream == key:
                continue
            above = self._full[one.upstream]
            bad |= self.edge(direct.asset, one).any(above.missing | above.stale | above.upstream_stale)
        if own:
            bad = _along([self.edge(direct.asset, one) for one in own], bad, direct)
        return AssetStatus(
            direct.asset,
            direct.space,
            direct.held,
            direct.stale_code,
            direct.stale_data,
            direct.stale_dependencies,
            bad & direct.held.published,
        )


def counts(status: AssetStatus, chosen: PartitionSet | None = None) -> dict[str, int]:
    """How many cells show each state; only states that occur."""
    return _named(_tally(status.shown, chosen))


def bucket_counts(status: AssetStatus, edges: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    """`counts` of each range [lo, hi) of ordinals, for the strip of an asset page."""
    return [_named(np.bincount(status.shown[lo:hi], minlength=len(STATES))) for lo, hi in edges]


def where(status: AssetStatus, state: str) -> PartitionSet:
    """The cells that show a state; raises KeyError for a state that no cell can show."""
    from partita.core.catalog.edges import set_of

    return set_of(status.shown == _SHOWN[state])


def _tally(shown: Codes, chosen: PartitionSet | None) -> npt.NDArray[np.int64]:
    if chosen is None:
        return np.bincount(shown, minlength=len(STATES))
    total = np.zeros(len(STATES), dtype=np.int64)
    for start, stop in chosen.ranges:
        total += np.bincount(shown[start:stop], minlength=len(STATES))
    return total


def _named(tally: npt.NDArray[np.int64]) -> dict[str, int]:
    return {state: int(n) for state, n in zip(STATES, tally, strict=True) if n}


def _along(edges: Sequence[EdgeMap], bad: Bools, direct: AssetStatus) -> Bools:
    """Carry what is bad along the self-dependencies, earlier partitions first. A skipped one satisfies them."""
    found = bad.copy()
    reached = found | (direct.missing & ~direct.skipped) | direct.stale
    for ordinal in in_order(edges, ~found):
        if any(reached[start:stop].any() for edge in edges for start, stop in edge.ranges_of(ordinal)):
            found[ordinal] = reached[ordinal] = True
    return found


def _empty(size: int) -> Held:
    return Held(
        published=np.zeros(size, dtype=np.bool_),
        hash=np.zeros(size, dtype=np.uint64),
        digest=np.zeros(size, dtype=np.uint64),
        fingerprint=np.zeros(size, dtype=np.uint32),
        dependency=np.zeros(size, dtype=np.uint32),
        outcome=np.zeros(size, dtype=np.uint8),
        open_state=np.zeros(size, dtype=np.uint8),
    )


def _fill(space: PartitionSpace, asset_id: AssetId, blocks: Mapping, opened: Mapping) -> Held:  # type: ignore[type-arg]
    held = _empty(space.size)
    for block in blocks.get(asset_id, ()):
        at = ordinals_of(space, block)
        known = at >= 0
        at = at[known]
        held.published[at] = (block.flags[known] & PUBLISHED) > 0
        held.outcome[at] = block.flags[known] >> OUTCOME_SHIFT
        held.hash[at] = block.hash[known]
        held.digest[at] = block.digest[known]
        held.fingerprint[at] = block.fingerprint[known]
        held.dependency[at] = block.dependency[known]
    names = names_of(space)
    for partition, owner in opened.get(asset_id, {}).items():
        ordinal = names.find(partition)
        if ordinal >= 0:
            held.open_state[ordinal] = _SHOWN[_OPEN_SHOWN.get(owner.state, str(owner.state))]
    return held
