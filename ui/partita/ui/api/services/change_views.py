"""Changes of definitions in words and as the contract's models. Pure: the core's values in, sentences and models out."""

from __future__ import annotations

from collections.abc import Iterator

from partita.assets import AssetKey
from partita.core.changes import (
    AcceptPreview,
    AssetChange,
    CodeChange,
    DeployDiff,
    Difference,
    Impact,
    PartitionsChange,
)
from partita.ui.api.models import (
    AcceptedAsset,
    AcceptView,
    ChangedAsset,
    CodeChangeView,
    ImpactView,
    LocationDiff,
    RenameView,
)
from partita.ui.api.services.asset_views import ranges_text
from partita.ui.api.services.words import plural


def change_lines(change: AssetChange) -> Iterator[str]:
    """What changed of one asset, a sentence each."""
    if change.code is not None:
        yield f"code: {change.code.text}"
    for one in change.dependencies:
        yield f"input: {one}"
    if change.partitions is not None:
        yield f"partitions: {partitions_text(change.partitions)}"
    if change.settings:
        yield f"only told or planned otherwise: {', '.join(change.settings)}"


def partitions_text(change: PartitionsChange) -> str:
    """How many there were and are, and which come and go."""
    parts = [f"{change.before:,} became {change.after:,}"]
    for count, verb, examples in (
        (change.appear, "appear", change.appear_examples),
        (change.vanish, "vanish", change.vanish_examples),
    ):
        if count:
            parts.append(f"{count:,} {verb}" + (f" ({' … '.join(examples)})" if examples else ""))
    return ", ".join(parts)


def impact_text(one: Impact, found: DeployDiff) -> str:
    """What happens to the cells of an asset."""
    parts = []
    if one.stale:
        parts.append(f"{len(one.stale):,} of {one.published:,} published become stale ({stale_text(one, found)})")
    if one.fresh:
        parts.append(f"{one.fresh:,} become fresh again")
    if one.out_of_reach:
        parts.append(f"{one.out_of_reach:,} published get out of reach")
    if one.upstream_stale:
        parts.append(f"{one.upstream_stale:,} will have something stale above")
    return ", ".join(parts)


def choice_lines(key: AssetKey, found: DeployDiff) -> Iterator[str]:
    """What each choice about the changed partitions of an asset would come to."""
    one = found.choices.get(key)
    if one is None:
        return
    left = max(one.partitions - one.kept, 0)
    yield f"keep (the default): {one.kept:,} kept, {left:,} start missing"
    if one.derivable:
        rest = f"{max(left - one.derivable, 0):,} start missing"
        yield f"derive: {one.kept:,} kept, {one.derivable:,} derivable of {one.parts:,}, {rest}"
    else:
        yield f"derive: nothing: {one.why}"
    yield f"restart: 0 kept, {one.partitions:,} start missing"
    if one.derivable or one.kept:
        yield f"to choose after the deployment: partita assets scheme {key} --derive or --restart"


def stale_text(one: Impact, found: DeployDiff) -> str:
    """Which partitions become stale."""
    space = found.space_of(one.key)
    return ranges_text(space, one.stale) if space is not None else ""


def conclusion(found: DeployDiff) -> str:
    """A deployment in one sentence."""
    if found.problems:
        return "It would be refused; what is active stays."
    if found.empty:
        return "Nothing changes."
    stale = sum(len(one.stale) for one in found.impacts)
    if stale:
        return f"{stale:,} {'cell becomes' if stale == 1 else 'cells become'} stale."
    return "Cells get out of reach, or assets are removed." if found.costs else "Nothing becomes stale."


def candidate_view(found: DeployDiff, *, version: str, against: str | None) -> LocationDiff:
    """A candidate that waits, or is refused, against what is active."""
    [difference] = found.differences
    impacts = {one.key: one for one in found.impacts}
    assets = [
        one.model_copy(
            update={"impact": _impact(impacts.pop(AssetKey(one.key), None)), "lines": _with_impact(one, found)}
        )
        for one in _assets(difference)
    ]
    assets += [
        ChangedAsset(key=key, kind="below", lines=[impact_text(one, found)], partitions=False, impact=_impact(one))
        for key, one in impacts.items()
    ]
    return _diff(difference, assets).model_copy(
        update={
            "waiting": True,
            "version": version,
            "against": against,
            "sentence": conclusion(found),
            "problems": list(found.problems),
        }
    )


def activated_view(difference: Difference, *, version: str | None, against: str | None) -> LocationDiff:
    """What the last activation changed."""
    count = len(difference.added) + len(difference.removed) + len(difference.changed)
    told = "Nothing changed." if difference.empty else f"{plural(count, 'asset')} changed."
    sentence = told if against is not None else "This is the first version of the location."
    return _diff(difference, _assets(difference)).model_copy(
        update={"version": version, "against": against, "sentence": sentence}
    )


def code_change_view(change: CodeChange) -> CodeChangeView:
    """The functions that changed."""
    return CodeChangeView(
        function=change.function,
        text=change.text,
        changed=list(change.changed),
        added=list(change.added),
        removed=list(change.removed),
    )


def accept_view(shown: AcceptPreview, changes: dict[str, CodeChange]) -> AcceptView:
    """What accepting would record."""
    count, stay = shown.cell_count, sum(one.still_stale for one in shown.assets)
    if not count:
        sentence = "Nothing to accept: no published cell of this selection has other code or dependencies."
    else:
        sentence = (
            f"{plural(count, 'cell')} of {plural(len(shown.assets), 'asset')} count as made with the present code."
        )
    if stay:
        sentence += f" {stay:,} of them stay stale: their inputs hold other data than they were made from."
    return AcceptView(
        cells=count,
        sentence=sentence,
        assets=[
            AcceptedAsset(
                key=one.key,
                cells=len(one.cells),
                partitions=ranges_text(one.space, one.cells) or "all",
                code=one.code,
                dependencies=one.dependencies,
                still_stale=one.still_stale,
                change=code_change_view(changes[one.key]) if one.key in changes else None,
            )
            for one in shown.assets
        ],
    )


def _assets(difference: Difference) -> list[ChangedAsset]:
    found = [ChangedAsset(key=key, kind="added", lines=[], partitions=False, impact=None) for key in difference.added]
    found += [
        ChangedAsset(key=key, kind="removed", lines=[], partitions=False, impact=None) for key in difference.removed
    ]
    found += [
        ChangedAsset(
            key=one.key,
            kind="settings" if one.only_settings else "changed",
            lines=list(change_lines(one)),
            partitions=one.partitions is not None and not one.partitions.same_scheme,
            impact=None,
        )
        for one in difference.changed
    ]
    return found


def _with_impact(one: ChangedAsset, found: DeployDiff) -> list[str]:
    impact = next((known for known in found.impacts if known.key == one.key), None)
    told = [*one.lines, *choice_lines(AssetKey(one.key), found)]
    return [*told, impact_text(impact, found)] if impact is not None else told


def _impact(one: Impact | None) -> ImpactView | None:
    if one is None:
        return None
    return ImpactView(
        stale=len(one.stale), fresh=one.fresh, out_of_reach=one.out_of_reach, upstream_stale=one.upstream_stale
    )


def _diff(difference: Difference, assets: list[ChangedAsset]) -> LocationDiff:
    return LocationDiff(
        location=difference.location,
        waiting=False,
        version=None,
        against=None,
        sentence="",
        problems=[],
        assets=assets,
        renames=[RenameView(before=one.before, after=one.after, because=one.because) for one in difference.renames],
        checks=list(difference.checks),
    )
