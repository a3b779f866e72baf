"""The values of a comparison. Nothing here reads or decides."""

from __future__ import annotations

import json
from dataclasses import dataclass

from partita.assets import AssetKey


@dataclass(frozen=True, slots=True)
class CodeChange:
    """How the code of an asset changed. Names are `module.function`; all empty: only what it closes over, or the order."""

    function: str
    """The asset's own function, `module:name`, as it is now."""
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    versions: tuple[str | None, str | None] | None = None
    """`code_version=` before and after, when one of them decides."""

    @property
    def text(self) -> str:
        """For people: `shop.helper changed, shop.rate added`."""
        if self.versions is not None:
            before, after = (repr(one) if one is not None else "none" for one in self.versions)
            return f"code_version {before} became {after}"
        told = [f"{name} changed" for name in self.changed]
        told += [f"{name} is reached now" for name in self.added]
        told += [f"{name} is no longer reached" for name in self.removed]
        return ", ".join(told) or f"what {self.function} closes over or the names in it changed"


@dataclass(frozen=True, slots=True)
class PartitionsChange:
    """Partitions that exist under one definition only, at one instant. Examples are the first and the last."""

    before: int
    after: int
    appear: int
    vanish: int
    appear_examples: tuple[str, ...] = ()
    vanish_examples: tuple[str, ...] = ()
    same_scheme: bool = False  # keys and windows mean what they meant: some begin to exist earlier or later


@dataclass(frozen=True, slots=True)
class AssetChange:
    """An asset that both versions define. `settings` are fields that make nothing stale: metadata, pools, retries, ..."""

    key: AssetKey
    code: CodeChange | None = None
    dependencies: tuple[str, ...] = ()
    """Sentences, one an input."""
    partitions: PartitionsChange | None = None
    settings: tuple[str, ...] = ()

    @property
    def only_settings(self) -> bool:
        """Whether nothing of it can make a cell stale or vanish."""
        return self.code is None and not self.dependencies and self.partitions is None


@dataclass(frozen=True, slots=True)
class Rename:
    """A removed and an added asset that are likely the same one, and why."""

    before: AssetKey
    after: AssetKey
    because: str

    @property
    def line(self) -> str:
        """What makes it one: the option to add to the declaration of the new key."""
        return f"renamed_from={json.dumps(self.before, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two versions of one location. Everything is sorted by key."""

    location: str
    added: tuple[AssetKey, ...] = ()
    removed: tuple[AssetKey, ...] = ()
    renames: tuple[Rename, ...] = ()
    """Proposals; both keys stand in `removed` and `added` too, because nothing has been renamed."""
    renamed: tuple[tuple[AssetKey, AssetKey], ...] = ()
    """(before, after) of assets that the new version says are the same; they stand in neither `added` nor `removed`."""
    changed: tuple[AssetChange, ...] = ()
    checks: tuple[str, ...] = ()
    """Sentences, one a check."""

    @property
    def empty(self) -> bool:
        """Whether the two versions define the same."""
        return not (self.added or self.removed or self.renamed or self.changed or self.checks)
