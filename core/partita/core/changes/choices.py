"""What each choice about a changed partition scheme would come to, told before the deployment.

Owns counting; what stays and what tiles a window is decided by `decide/schemes.py` and `decide/derive.py`, as afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita.assets import AssetKey
from partita.core.catalog import Catalog
from partita.core.catalog.names import names_of
from partita.core.cells import Statuses
from partita.core.decide.derive import tilings, why_not
from partita.core.decide.scheme_choice import NONE_TILED
from partita.core.decide.schemes import Windows


@dataclass(frozen=True, slots=True)
class SchemeChoices:
    """Of `partitions` that there would be, `kept` hold what they held (`keep`, which is what the activation does); `derivable`
    more can be put together of `parts` published ones; `why` none can."""

    partitions: int
    kept: int
    derivable: int
    parts: int
    why: str = ""


def choices_of(now: Statuses, ahead: Catalog, before: AssetKey, key: AssetKey) -> SchemeChoices | None:
    """The choices of one asset, `before` its key now; None when it holds nothing, or is not made here."""
    active = now.catalog.assets.get(before)
    if active is None or active.external or ahead.assets[key].external:
        return None
    names = names_of(now.space(before))
    ordinals = [int(one) for one in now.status(before).held.published.nonzero()[0]]
    if not ordinals:
        return None
    spans = {names.key(one): names.window(one) for one in ordinals}
    new, old = ahead.definition(key), now.catalog.definition(before)
    known = Windows(new, spans, max([now.as_of, *(span[1] for span in spans.values() if span is not None)]))
    kept = {one for one, span in spans.items() if known.has(one) and known.of(one) == span}
    partitions = ahead.space(key, now.as_of).size
    why = why_not(new, old) or _why_not_stored(active.spec.io)
    # As afterwards: of what is set aside, for what is not there.
    held = {one: span for one, span in spans.items() if span is not None and one not in kept}
    found = {} if why else tilings(new, old, held, now.as_of)
    found = {one: parts for one, parts in found.items() if one not in kept}
    if not why and not found:
        why = NONE_TILED
    return SchemeChoices(partitions, len(kept), len(found), sum(map(len, found.values())), why)


def _why_not_stored(io: str | None) -> str:
    if io is None or io.startswith("duckdb:"):
        return "only the lake reads several stored parts as one"
    return ""
