"""The body of a stored snapshot, read only as far as somebody asks.

A plan of 100 assets needs the keys and edges of all, and the whole definition of those it plans. So the heads of all assets
(what the graph and the selection grammar ask for) are read in one pass that skips the rest, and a whole `AssetSpec` is built
when it is first asked for. What was stored was validated when it was activated; reading it whole gives the same values
(tested). Owns no meaning: `partita.assets.specs` says what the fields are.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import msgspec
from pydantic import TypeAdapter

from partita.assets import AssetKey, AssetSpec, MappingSpec, PartitionsSpec, Snapshot

_NOTHING = b"null"


class InputHead(msgspec.Struct, frozen=True, gc=False):
    """What the graph asks of an input: an `InputNode`. The mapping stays text until it is asked for."""

    name: str
    upstream: AssetKey
    stored_mapping: msgspec.Raw = msgspec.field(name="mapping")
    location: str | None = None
    kind: str = "data"

    @property
    def mapping(self) -> MappingSpec:
        """The wire form of the mapping; equal texts give one object."""
        return _mapping(bytes(self.stored_mapping))


class SourceHead(msgspec.Struct, frozen=True, gc=False):
    """Where a definition stands."""

    file: str
    line: int


class AutomationHead(msgspec.Struct, frozen=True, gc=False):
    """How an asset follows its upstreams."""

    type: str = "manual"


class AssetHead(msgspec.Struct, frozen=True, gc=False):
    """What the graph and the selection grammar ask of an asset: an `AssetNode`."""

    key: AssetKey
    kind: str = "asset"
    step: str = ""
    group: str = "default"
    owner: str | None = None
    tags: dict[str, str] = {}
    kinds: tuple[str, ...] = ()
    inputs: tuple[InputHead, ...] = ()
    observed: bool = False
    automation: AutomationHead = AutomationHead()
    source: SourceHead | None = None
    renamed_from: tuple[AssetKey, ...] = ()
    stored_partitions: msgspec.Raw = msgspec.field(name="partitions", default=msgspec.Raw(_NOTHING))

    @property
    def partitions(self) -> PartitionsSpec | None:
        """The wire form of the partition scheme; equal texts give one object."""
        return _partitions(bytes(self.stored_partitions))


class _Heads(msgspec.Struct, frozen=True, gc=False):
    assets: tuple[AssetHead, ...] = ()


class _Wholes(msgspec.Struct, frozen=True, gc=False):
    assets: tuple[msgspec.Raw, ...] = ()


class StoredBody:
    """A body in its stored form, the canonical bytes of a snapshot."""

    def __init__(self, stored: bytes) -> None:
        self._stored = stored

    def __repr__(self) -> str:
        return f"<StoredBody {len(self._stored)} bytes>"

    @cached_property
    def nodes(self) -> tuple[AssetHead, ...]:
        """All assets, as far as the graph asks; what they do not name is skipped."""
        return msgspec.json.decode(self._stored, type=_Heads).assets

    def spec(self, place: int) -> AssetSpec:
        """The whole definition of one asset."""
        return AssetSpec.model_validate_json(bytes(self._wholes[place]))

    @cached_property
    def whole(self) -> Snapshot:
        """The snapshot, read and validated as a whole."""
        return Snapshot.model_validate_json(self._stored)

    @cached_property
    def _wholes(self) -> tuple[msgspec.Raw, ...]:
        return msgspec.json.decode(self._stored, type=_Wholes).assets


_MAPPINGS: TypeAdapter[MappingSpec] = TypeAdapter(MappingSpec)
_PARTITIONS: TypeAdapter[PartitionsSpec | None] = TypeAdapter(PartitionsSpec | None)


# Most assets of a location share a few schemes and mappings.
@lru_cache(maxsize=4096)
def _mapping(stored: bytes) -> MappingSpec:
    return _MAPPINGS.validate_json(stored)


@lru_cache(maxsize=1024)
def _partitions(stored: bytes) -> PartitionsSpec | None:
    return _PARTITIONS.validate_json(stored)
