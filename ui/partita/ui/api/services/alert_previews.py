"""What an action about alerts would do, in words: a window held open or ended, a test message sent. Changes nothing.

Owns the sentences, which say whose messages a window silences. No answer holds an address.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from partita.assets import select_assets
from partita.core.alerts.people import check_window, no_window, targets_of
from partita.core.alerts.rules import EVERYBODY, Matcher, Routing, window_name
from partita.core.store.queries import api_alerts as sql
from partita.core.store.queries.api_read import now, number, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values_alerts import AlertKind, Maintenance
from partita.ui.api.models.alerts import AlertActionPreview, MaintenancePreview, MaintenanceRequest, TargetView
from partita.ui.api.services.words import plural, seconds_text

_NAMED = 4
NOBODY = "no owner"


def of_window(reader: Reader, matcher: Matcher, request: MaintenanceRequest) -> MaintenancePreview:
    """Raises SelectionError, AlertRefused."""
    check_window(request.for_s)
    catalog, routing = matcher.catalog, matcher.routing
    keys = select_assets(catalog.graph, request.selection)
    assets = [catalog.assets[key] for key in keys if key in catalog.assets]
    everything = request.selection == EVERYBODY
    owners = Counter(one.spec.owner or NOBODY for one in assets)
    fits = [matcher.fit(kind, assets) for kind in AlertKind] + [
        matcher.fit(kind, []) for kind in AlertKind if everything
    ]
    fitting = {rule.name for fit in fits if fit is not None for rule in fit.rules}
    rules = [rule.name for rule in routing.rules if rule.name in fitting]
    lines = routing.lines(rules, [owner for owner in owners if owner != NOBODY])
    unended = number(reader, sql.OPEN_OF_ASSETS, keys=None if everything else sorted(keys))
    ends_at = now(reader) + timedelta(seconds=request.for_s)
    lasts = f"for {seconds_text(request.for_s)}, until {ends_at:%Y-%m-%d %H:%M} UTC"
    said = [f"{_silenced(everything, len(assets))} wait {lasts}.", *_whose(owners, rules, len(lines))]
    if unended:
        told = "is open already and stays" if unended == 1 else "are open already and stay"
        said.append(f"{plural(unended, 'alert')} about them {told} as told: acknowledge or snooze what you know of.")
    said.append("What goes wrong meanwhile is recorded, and told at the end if it is not over.")
    return MaintenancePreview(
        sentence=" ".join(said),
        cli=f"partita alerts maintenance {shlex.quote(request.selection)} --for {request.for_s:.0f}s",
        assets=sorted(one.key for one in assets),
        owners=dict(owners.most_common()),
        rules=rules,
        targets=_targets(routing, [target for _, target in lines]),
        open=unended,
        ends_at=ends_at,
    )


def of_end(reader: Reader, maintenance_id: int) -> AlertActionPreview:
    """Raises NoSuchAlert."""
    row = next((one for one in rows(reader, sql.MAINTENANCES) if one["id"] == maintenance_id), None)
    if row is None:
        raise no_window(maintenance_id)
    window = Maintenance(row["id"], row["selection"], row["starts_at"], row["ends_at"], row["by_whom"], row["reason"])
    held = number(reader, sql.HELD_BY, by=window_name(window))
    told = (
        f"{plural(held, 'alert')} that it holds back {'is' if held == 1 else 'are'} told now."
        if held
        else "it held nothing back."
    )
    return AlertActionPreview(
        sentence=f"Messages about {row['selection']} wait no longer: {told}",
        cli=f"partita alerts maintenance --end {maintenance_id}",
    )


def of_test(routing: Routing, rule: str) -> AlertActionPreview:
    """Raises AlertRefused."""
    found = _targets(routing, targets_of(routing, rule))
    places = ", ".join(f"{one.name} ({one.scheme})" for one in found)
    return AlertActionPreview(
        sentence=f"A scheduler sends a real message to {plural(len(found), 'place')}: {places}. It says that it is a test.",
        cli=f"partita alerts test {shlex.quote(rule)}",
    )


def _silenced(everything: bool, assets: int) -> str:
    if everything:
        return f"All messages, about {plural(assets, 'asset')} and every location,"
    return f"Messages about {plural(assets, 'asset')}"


def _whose(owners: Counter[str], rules: Sequence[str], targets: int) -> list[str]:
    """Whom it silences, in words; nothing when no rule is about these assets."""
    if not rules:
        return ["No rule is about them: nobody would be told now either."]
    named = [f"{owner} ({plural(count, 'asset')})" for owner, count in owners.most_common(_NAMED)]
    named += [plural(len(owners) - _NAMED, "more owner")] if len(owners) > _NAMED else []
    whose = f", of {_and(named)}" if named else ""
    reach = f"to {plural(targets, 'place')}" if targets else "which reach nobody"
    return [f"Those of {'rule' if len(rules) == 1 else 'rules'} {_and(rules)}{whose}, {reach}."]


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _targets(routing: Routing, names: Sequence[str]) -> list[TargetView]:
    found = [routing.target(name) for name in names]
    return [TargetView(name=one.name, scheme=one.scheme) for one in found if one is not None]
