"""Which process is sick, what one sees when it is (S-039), and what needs a person. Pure.

The symptoms are those of the failed component itself: nobody has to guess from a queue that does not move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from partita.ui.api.models import ComponentView, FaultView, LocationView, Need, RequestView
from partita.ui.api.services.words import plural

Row = Mapping[str, Any]

SYMPTOMS: Mapping[str, str] = {
    "scheduler": "nothing starts: tasks sit in scheduled, and automation asks for nothing",
    "worker": "tasks sit in queued; what it ran is lost when its lease ends, and is tried again",
    "triggerer": "files, jobs and keys that tasks wait for are not looked at; sensors, schedules and observers are not evaluated",
    "api": "this UI and the REST API do not answer; runs go on",
    "code-server": "new code of its location does not appear, and its tasks wait for a server",
    "database": "everything stops: nothing starts, nothing is published, nothing can be read",
}
# What a dead one means while another of its kind lives: the other does its work.
_COVERED: Mapping[str, str] = {
    "scheduler": "it ended; another scheduler is at work",
    "worker": "it ended; what it ran is tried again, by another worker",
    "triggerer": "it ended; another triggerer has what it watched",
    "api": "it ended; another one serves",
}
_ALWAYS = ("scheduler", "worker")  # without one of each, nothing runs
_LATE_S = 25.0  # processes say every 10 s that they live
DOWN_S = 60.0
_FORGOTTEN_S = 600.0  # a crashed process is shown so long, unless another of its kind took over
_PULSE_LATE = timedelta(seconds=5)
_FAILING_SHOWN = 20


def components(
    processes: Sequence[Row],
    servers: Sequence[Row],
    *,
    pulse_at: datetime | None,
    now: datetime,
    triggerer_wanted: bool = False,
) -> list[ComponentView]:
    """All components with their state; kinds that must be there and are not come as down, a triggerer where it has work."""
    found = [
        _component(row["kind"], row["name"], _by_silence(float(row["silent_s"])), row["last_seen_at"])
        for row in processes
        if row["silent_s"] < _FORGOTTEN_S
    ]
    found += _code_servers(servers, now)
    alive = {one.kind for one in found if one.state == "ok"}
    found = [
        one.model_copy(update={"symptom": _COVERED[one.kind]})
        if one.state == "down" and one.kind in alive and one.kind in _COVERED
        else one
        for one in found
    ]
    present = {one.kind for one in found}
    wanted = (*_ALWAYS, "triggerer") if triggerer_wanted else _ALWAYS
    found += [_component(kind, kind, "down", None) for kind in wanted if kind not in present]
    late = pulse_at is not None and now - pulse_at > _PULSE_LATE
    # The pulse is set by schedulers: while none lives it says nothing about the database, which has just answered.
    scheduled = any(one.kind == "scheduler" and one.state == "ok" for one in found)
    found.append(_component("database", "postgres", "late" if late and scheduled else "ok", pulse_at))
    return sorted(found, key=lambda one: (list(SYMPTOMS).index(one.kind) if one.kind in SYMPTOMS else 99, one.name))


def _code_servers(servers: Sequence[Row], now: datetime) -> list[ComponentView]:
    """One that ended while no scheduler looked stays listed; beside another one of its location nothing is wrong."""
    served = {row["location_id"] for row in servers if row["live"]}
    found: list[ComponentView] = []
    for row in servers:
        one = _component("code-server", row["address"], "ok" if row["live"] else "down", None)
        if not row["live"] and row["location_id"] in served:
            if now - row["lease_expires_at"] > timedelta(seconds=_FORGOTTEN_S):
                continue
            one = one.model_copy(update={"symptom": "it ended; another one serves its location"})
        found.append(one)
    return found


def _component(
    kind: str, name: str, state: Literal["ok", "late", "down"], last_seen_at: datetime | None
) -> ComponentView:
    symptom = None if state == "ok" else SYMPTOMS.get(kind)
    return ComponentView(kind=kind, name=name, state=state, last_seen_at=last_seen_at, symptom=symptom)


def _by_silence(silent_s: float) -> Literal["ok", "late", "down"]:
    if silent_s < _LATE_S:
        return "ok"
    return "late" if silent_s < DOWN_S else "down"


def needs(
    locations: Sequence[LocationView],
    processes: Sequence[ComponentView],
    failing: Mapping[str, int],
    requests: Sequence[RequestView] = (),
    faults: Sequence[FaultView] = (),
    duties: Mapping[str, str | None] | None = None,
    late: Sequence[Need] = (),
) -> list[Need]:
    """What waits for a person, worst first; `failing` are failed cells by asset, `requests` those that wait for approval,
    `faults` what automation cannot decide, `duties` those that fail as a whole, with their errors,
    `late` what tasks ask, partitions whose deadline has passed, and alerts."""
    found: list[Need] = []
    alive = {one.kind for one in processes if one.state == "ok"}
    found += [
        Need(severity="bad", text=f"{one.kind} {one.name} is {one.state}: {one.symptom}", link="/system")
        for one in processes
        if one.state != "ok" and one.kind not in alive and one.kind != "code-server"
    ]
    for location in locations:
        found += _of_location(location)
    found += [_of_request(one) for one in requests]
    found += [
        Need(severity="bad", text=f"automation cannot decide about {one.subject}: {one.error}", link="/automation")
        for one in faults
    ]
    found += [
        Need(severity="bad", text=f"duty {name} fails: {error}", link="/system")
        for name, error in sorted((duties or {}).items())
    ]
    found += late
    worst = sorted(failing.items(), key=lambda pair: (-pair[1], pair[0]))
    for key, count in worst[:_FAILING_SHOWN]:
        found.append(Need(severity="bad", text=f"{key}: {plural(count, 'partition')} failed", link=_asset_link(key)))
    if len(worst) > _FAILING_SHOWN:
        text = f"{plural(len(worst) - _FAILING_SHOWN, 'more asset')} with failed partitions"
        found.append(Need(severity="bad", text=text, link="/assets"))
    return sorted(found, key=lambda need: ("bad", "warn", "info").index(need.severity))


def _of_request(request: RequestView) -> Need:
    keys = ", ".join(one.key for one in request.assets[:3]) + (" …" if len(request.assets) > 3 else "")
    text = f"automation asks for {plural(request.cells, 'cell')} of {keys}: approve or reject"
    return Need(severity="warn", text=text, link=f"/automation?request={request.id}")


def _of_location(location: LocationView) -> list[Need]:
    broken = [module for module in location.modules if not module.ok]
    if broken:
        names = ", ".join(module.name for module in broken)
        kept = plural(len(location.kept_assets), "asset")
        text = f"location {location.name}: {names} does not load; {kept} on the last good definition"
        return [Need(severity="bad", text=text, link="/locations")]
    if location.state == "broken":
        return [
            Need(severity="bad", text=f"location {location.name}: {location.error or 'is broken'}", link="/locations")
        ]
    if location.state == "down":
        return [Need(severity="warn", text=f"location {location.name} has no live code server", link="/locations")]
    return []


def _asset_link(key: str) -> str:
    from urllib.parse import urlencode

    return f"/asset?{urlencode({'key': key})}"
