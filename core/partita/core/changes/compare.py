"""Two snapshots of one location compared: assets, code, inputs, partitions, checks, and likely renames.

Pure. Owns what counts as a change and as a likely rename; what it does to cells is `impact.py`. Decides nothing: a rename is
proposed, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import product

from partita.assets import (
    AssetKey,
    AssetSpec,
    InputSpec,
    PartitionSpace,
    Snapshot,
    StepSpec,
    dependency_hash,
    from_spec,
    space_of,
)
from partita.assets.partitions.multi import ProductSpace
from partita.core.catalog.schemes import scheme_hash
from partita.core.changes.values import AssetChange, CodeChange, Difference, PartitionsChange, Rename

_NOT_SETTINGS = frozenset(
    {
        "key",
        "kind",
        "step",
        "partitions",
        "inputs",
        "code_version",
        "fingerprint",
        "dependency_hash",
        "source",
        "renamed_from",
    }
)
_LOOKED_AT = 100_000
"""How many partitions are looked at for an example; the counts are exact without it."""
_LIKELY = 3
"""How much of two assets must agree before they are taken for one; see `_likeness`."""


def compare(
    before: Snapshot | None, after: Snapshot, as_of: datetime, renamed: Mapping[AssetKey, AssetKey] | None = None
) -> Difference:
    """What `after` changes. Give the effective snapshots: what a broken module keeps is no removal. Partitions exist as of
    `as_of`; `before` None: the location was never loaded. `renamed` gives the new key of each old one that is renamed."""
    old = {spec.key: spec for spec in before.assets} if before is not None else {}
    new = {spec.key: spec for spec in after.assets}
    was = {key: spec.key for spec in old.values() if (key := (renamed or {}).get(spec.key, spec.key)) in new}
    added, removed = sorted(new.keys() - was.keys()), sorted(old.keys() - set(was.values()))
    old_steps, new_steps = _steps_of(before), _steps_of(after)
    changes = (
        _change(_under(old[was[key]], renamed or {}), new[key], old_steps.get(was[key]), new_steps.get(key), as_of)
        for key in sorted(was)
    )
    return Difference(
        location=after.location,
        added=tuple(added),
        removed=tuple(removed),
        renamed=tuple((was[key], key) for key in sorted(was) if was[key] != key),
        renames=_renames([old[key] for key in removed], [new[key] for key in added], old_steps, new_steps),
        changed=tuple(one for one in changes if one is not None),
        checks=tuple(_checks(before, after)),
    )


def _steps_of(snapshot: Snapshot | None) -> dict[AssetKey, StepSpec]:
    return {key: step for step in snapshot.steps for key in step.assets} if snapshot is not None else {}


def _under(spec: AssetSpec, renamed: Mapping[AssetKey, AssetKey]) -> AssetSpec:
    """The spec with the keys of now: a rename alone is no change of an asset, nor of what reads it."""
    if spec.key not in renamed and not any(one.upstream in renamed for one in spec.inputs):
        return spec
    inputs = tuple(one.model_copy(update={"upstream": renamed.get(one.upstream, one.upstream)}) for one in spec.inputs)
    hashed = dependency_hash(inputs) if spec.dependency_hash == dependency_hash(spec.inputs) else spec.dependency_hash
    key = renamed.get(spec.key, spec.key)
    step = key if spec.step == spec.key else spec.step
    return spec.model_copy(update={"key": key, "step": step, "inputs": inputs, "dependency_hash": hashed})


# ---------------------------------------------------------------------- one asset


def _change(
    old: AssetSpec, new: AssetSpec, old_step: StepSpec | None, new_step: StepSpec | None, as_of: datetime
) -> AssetChange | None:
    if old == new:
        return None
    found = AssetChange(
        key=new.key,
        code=_code(old, new, old_step, new_step),
        dependencies=tuple(_dependencies(old, new)) if old.dependency_hash != new.dependency_hash else (),
        partitions=_partitions(old, new, as_of),
        settings=tuple(_settings(old, new)),
    )
    return None if found.only_settings and not found.settings else found


def code_change(before: Snapshot, after: Snapshot, key: AssetKey, *, was: AssetKey | None = None) -> CodeChange | None:
    """How the code of an asset differs between two snapshots; None when it is the same, or one does not define it.

    `was` is its key in `before`, when that is another one.
    """
    old = next((spec for spec in before.assets if spec.key == (was or key)), None)
    new = next((spec for spec in after.assets if spec.key == key), None)
    if old is None or new is None:
        return None
    return _code(old, new, _steps_of(before).get(old.key), _steps_of(after).get(new.key))


def _code(old: AssetSpec, new: AssetSpec, old_step: StepSpec | None, new_step: StepSpec | None) -> CodeChange | None:
    if old.fingerprint == new.fingerprint:
        return None
    function = new_step.function if new_step is not None else new.key
    if old.code_version is not None or new.code_version is not None:
        return CodeChange(function, versions=(old.code_version, new.code_version))
    before = dict(old_step.code) if old_step is not None else {}
    after = dict(new_step.code) if new_step is not None else {}
    if not before:  # a version that was stored before snapshots told the parts
        return CodeChange(function, changed=(_named("", function),))
    return CodeChange(
        function,
        changed=tuple(
            _named(name, function) for name in sorted(before.keys() & after.keys()) if before[name] != after[name]
        ),
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
    )


def _named(part: str, function: str) -> str:
    return part or function.replace(":", ".")


def _dependencies(old: AssetSpec, new: AssetSpec) -> Iterator[str]:
    before, after = ({one.name: one for one in spec.inputs} for spec in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was == now:
            continue
        if was is None and now is not None:
            yield f"reads {now.upstream} as {name}"
        elif was is not None and now is None:
            yield f"no longer reads {was.upstream} as {name}"
        elif was is not None and now is not None:
            yield f"{name}: {_input_change(was, now)}"


def _input_change(was: InputSpec, now: InputSpec) -> str:
    if was.upstream != now.upstream:
        return f"reads {now.upstream} instead of {was.upstream}"
    if was.mapping != now.mapping:
        return f"other partitions of {now.upstream}"
    return f"{now.upstream} is named otherwise"


def _settings(old: AssetSpec, new: AssetSpec) -> Iterator[str]:
    if old.kind != new.kind:
        yield f"kind: {old.kind} became {new.kind}"
    for name in AssetSpec.model_fields:
        if name not in _NOT_SETTINGS and getattr(old, name) != getattr(new, name):
            yield name
    if old.partitions != new.partitions and scheme_hash(old.partitions) == scheme_hash(new.partitions):
        yield "partitions (horizon, cap or time to live)"


# ---------------------------------------------------------------------- partitions


def _partitions(old: AssetSpec, new: AssetSpec, as_of: datetime) -> PartitionsChange | None:
    if old.partitions == new.partitions:
        return None
    before, after = (space_of(from_spec(spec.partitions), as_of) for spec in (old, new))
    common = common_count(before, after)
    same_scheme = scheme_hash(old.partitions) == scheme_hash(new.partitions)
    if before.size == after.size == common and same_scheme:
        return None  # how many keys there may be, or how long they live: a setting
    return PartitionsChange(
        before=before.size,
        after=after.size,
        appear=after.size - common,
        vanish=before.size - common,
        appear_examples=_examples(after, before),
        vanish_examples=_examples(before, after),
        same_scheme=same_scheme,
    )


def common_count(one: PartitionSpace, other: PartitionSpace) -> int:
    """How many partitions exist in both spaces: the same key and the same window. A product
    costs the sum of its dimensions, not their product."""
    if isinstance(one, ProductSpace) and isinstance(other, ProductSpace):
        if len(one.parts) != len(other.parts):
            return 0
        total = 1
        for mine, theirs in zip(one.parts, other.parts, strict=True):
            total *= common_count(mine, theirs)
        return total
    if isinstance(one, ProductSpace) or isinstance(other, ProductSpace):
        return 0
    few, many = sorted((one, other), key=lambda space: space.size)
    return sum(1 for ordinal in range(few.size) if _has(many, few, ordinal))


def _has(space: PartitionSpace, other: PartitionSpace, ordinal: int) -> bool:
    """Whether `space` has that partition of `other`. Equal keys may mean other windows (ADR 10)."""
    found = space.find(other.key_at(ordinal))
    return found is not None and space.window_at(found) == other.window_at(ordinal)


def _examples(space: PartitionSpace, other: PartitionSpace) -> tuple[str, ...]:
    """The first and the last key of `space` that `other` lacks; of a product those where one dimension lacks it."""
    ends = [_lacking(space, range(space.size), other), _lacking(space, range(space.size - 1, -1, -1), other)]
    return tuple(dict.fromkeys(one for one in ends if one is not None))


def _lacking(space: PartitionSpace, ordinals: Sequence[int], other: PartitionSpace) -> str | None:
    for ordinal in ordinals[:_LOOKED_AT]:
        if not _has(other, space, ordinal):
            return space.key_at(ordinal)
    return None


# ---------------------------------------------------------------------- renames


def _renames(
    removed: Sequence[AssetSpec],
    added: Sequence[AssetSpec],
    old_steps: Mapping[AssetKey, StepSpec],
    new_steps: Mapping[AssetKey, StepSpec],
) -> tuple[Rename, ...]:
    """Pairs that are more alike than either is to any other; a tie proposes nothing."""
    scored = [
        (score, because, was, now)
        for was, now in product(removed, added)
        for score, because in [_likeness(was, now, old_steps.get(was.key), new_steps.get(now.key))]
        if score >= _LIKELY
    ]
    of_old: dict[AssetKey, list[int]] = {}
    of_new: dict[AssetKey, list[int]] = {}
    for score, _, was, now in scored:
        of_old.setdefault(was.key, []).append(score)
        of_new.setdefault(now.key, []).append(score)
    return tuple(
        Rename(was.key, now.key, because)
        for score, because, was, now in sorted(scored, key=lambda one: (one[2].key, one[3].key))
        if all(max(scores) == score and scores.count(score) == 1 for scores in (of_old[was.key], of_new[now.key]))
    )


def _likeness(was: AssetSpec, now: AssetSpec, old_step: StepSpec | None, new_step: StepSpec | None) -> tuple[int, str]:
    """How alike, and in what. Other partitions or another kind: not at all. The same body alone is enough."""
    if was.kind != now.kind or was.partitions != now.partitions:
        return 0, ""
    body = old_step.code.get("") if old_step is not None else None
    traits = [
        (4, "the same code", body is not None and new_step is not None and new_step.code.get("") == body),
        (2, "the same inputs", bool(was.inputs) and was.dependency_hash == now.dependency_hash),
        (2, "the same last part of its key", was.key.rpartition("/")[2] == now.key.rpartition("/")[2]),
        (1, "the same description", bool(was.description) and was.description == now.description),
        (1, "the same partitions", was.partitions is not None),
    ]
    held = [(weight, name) for weight, name, holds in traits if holds]
    return sum(weight for weight, _ in held), ", ".join(name for _, name in held)


# ---------------------------------------------------------------------- checks


def _checks(before: Snapshot | None, after: Snapshot) -> Iterator[str]:
    old, new = (
        {(one.asset, one.name): one for one in snapshot.checks} if snapshot is not None else {}
        for snapshot in (before, after)
    )
    for asset, name in sorted(old.keys() | new.keys()):
        was, now = old.get((asset, name)), new.get((asset, name))
        if was is None:
            yield f"{name} on {asset} is new"
        elif now is None:
            yield f"{name} on {asset} is gone"
        elif was.fingerprint != now.fingerprint:
            yield f"the code of {name} on {asset} changed"
        elif was.blocking != now.blocking:
            yield f"{name} on {asset} {'blocks' if now.blocking else 'no longer blocks'} publication"
