"""What the services say in words: reasons, causes, durations. Pure text, no I/O.

Owns sentences that people read; codes and evidence come from the code that decided (law 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from partita.assets.queues import DEFAULT_QUEUE
from partita.ui.api.problems import BadTag

_WAITS = {
    "upstream": "waits for {waiting_on} upstream task{s}",
    "blocked_by_past": "waits for {waiting_on} earlier partition{s} of itself, and for nothing else",
    "pool_full": "waits for pool {pool}: {held} of {slots} slots are held, it wants {wants}",
    "retry_at": "is tried again at {at}",
    "no_server": "waits for a code server of location {location}: none serves it",
    "version_gone": "waits for version {version} of location {location}: no server has it any more",
    "workers_busy": "waits for a worker{of_queue}: all are busy, {capacity} of {capacity} places are taken",
    "backfill_cap": "waits for its backfill: {max_active} of its tasks are active, which is its limit",
    "run_cap": "waits for its run: {max_active} of its tasks are active, which is its limit",
    "asset_cap": "waits for asset {asset}: {max_active} tasks of it are active, which is its max_active",
    "location_cap": "waits for location {location}: {max_running} of its tasks are active, which is its max_running",
    "running_cap": "waits: {max_running} tasks are active in all, which is max_running under [limits]",
    "lane": "waits for its lane: {lane} holds {held} of the {slots} slots of pool {pool}, and its share is {share}",
    "in_progress": "the cell runs in run {run} already",
}


class _Blank(dict[str, Any]):
    """Evidence that lacks a field still gives a sentence."""

    def __missing__(self, key: str) -> str:
        return "?"


def wait_text(code: str, evidence: Mapping[str, Any] | None) -> str:
    """The sentence (without subject) of a reason why a task waits."""
    if code == "paused":
        return paused_text(evidence or {})
    if code in ("waiting_for", "approval"):
        return waiting_text(evidence or {})
    if code == "no_worker":
        return no_worker_text(evidence or {})
    fields = _Blank(evidence or {})
    fields["of_queue"] = _of_queue(evidence or {})
    waiting_on = fields.get("waiting_on")
    fields["s"] = "" if waiting_on == 1 else "s"
    if code == "version_gone" and isinstance(fields.get("version"), str):
        fields["version"] = fields["version"][:12]
    template = _WAITS.get(code)
    return template.format_map(fields) if template is not None else code.replace("_", " ")


def _of_queue(evidence: Mapping[str, Any]) -> str:
    queue = evidence.get("queue", DEFAULT_QUEUE)
    return "" if queue == DEFAULT_QUEUE else f" of queue {queue}"


def no_worker_text(evidence: Mapping[str, Any]) -> str:
    """Which workers lack, since when, and what helps.

    >>> no_worker_text({"queue": "gpu", "since": "2026-03-01T04:00:00+00:00", "others": {"default": 2}})
    'waits for a worker of queue gpu: none is alive since 2026-03-01 04:00 UTC; start `partita worker --queues gpu`'
    >>> no_worker_text({"queue": "default", "since": None, "others": {"gpu": 1}})
    'waits for a worker of queue default: none is alive; start `partita worker`'
    >>> no_worker_text({})
    'waits for a worker: none is alive; start `partita worker`'
    """
    queue = evidence.get("queue", DEFAULT_QUEUE)
    of_queue = f" of queue {queue}" if evidence.get("others") else _of_queue(evidence)
    since = f" since {_minute(str(evidence['since']))}" if evidence.get("since") else ""
    option = "" if queue == DEFAULT_QUEUE else f" --queues {queue}"
    return f"waits for a worker{of_queue}: none is alive{since}; start `partita worker{option}`"


def tags_of(texts: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE texts as tags. Raises BadTag.

    >>> tags_of(["ticket=DATA-7", "why=a=b"])
    {'ticket': 'DATA-7', 'why': 'a=b'}
    """
    tags: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadTag(f"{text!r} is no tag", rule="a tag is NAME=VALUE", fix="for example ticket=DATA-7")
        tags[name] = value
    return tags


def waiting_text(evidence: Mapping[str, Any]) -> str:
    """What a waiting task waits for, since when, until when, and who watches it; of several the one whose time ends first, and
    before it what a person is asked.

    >>> waiting_text({"count": 1, "waits": [{"for": "file /in/a.csv", "since": "2026-03-01T04:00:00+00:00", "watched": True,
    ...     "until": "2026-03-01T10:00:00+00:00", "triggerer": "host-7"}]})
    'waits for file /in/a.csv since 2026-03-01 04:00 UTC, at most until 2026-03-01 10:00 UTC; watched by host-7'
    """
    waits = evidence.get("waits") or []
    if not waits:
        return "waits for something outside"
    first = waits[0]
    since, until = (_minute(first.get(name)) for name in ("since", "until"))
    if first.get("asks"):
        watched = "then it fails"
    elif first.get("triggerer"):
        watched = f"watched by {first['triggerer']}"
    else:
        watched = "told by its publication" if first.get("watched") else f"nobody watches it{_lacking(first)}"
    more = f" and {plural(evidence['count'] - 1, 'other')}" if evidence.get("count", 1) > 1 else ""
    return f"waits for {first['for']}{more} since {since}, at most until {until}; {watched}"


def _lacking(wait: Mapping[str, Any]) -> str:
    """Why nobody watches, and what will come of it."""
    match wait.get("lacks"):
        case "triggerer":
            return ": no triggerer runs; start `partita triggerer`"
        case "server":
            return ": no server of its code location is up"
        case "version":
            since = _minute(wait.get("gone_since"))
            return (
                f": no server has had the version of its run since {since}; when the grace for that is over, it is `removed`"
                " and planned again on the code of now"
            )
    return " yet: a triggerer will in a moment"


def _minute(at: object) -> str:
    instant = datetime.fromisoformat(at) if isinstance(at, str) else at
    return f"{instant:%Y-%m-%d %H:%M} UTC" if isinstance(instant, datetime) else "?"


def paused_text(evidence: Mapping[str, Any]) -> str:
    """Who paused what, when and why.

    >>> paused_text({"asset": 0, "by": "ada", "at": "2026-03-01T04:10:00+00:00", "why": "the source lies"})
    'everything is paused by ada since 2026-03-01 04:10 UTC: the source lies'
    """
    what = "everything is paused" if evidence.get("asset") == 0 else "its asset is paused"
    if "backfill" in evidence:
        what = f"backfill {evidence['backfill']} is paused"
    at = evidence.get("at")
    since = datetime.fromisoformat(at) if isinstance(at, str) else at
    when = f" since {since:%Y-%m-%d %H:%M} UTC" if since is not None else ""
    by = f" by {evidence['by']}" if evidence.get("by") else ""
    return f"{what}{by}{when}" + (f": {evidence['why']}" if evidence.get("why") else "")


def wiped_text(who: str, at: datetime, why: str, undo: int | None) -> str:
    """Who wiped a cell, when and why; `undo` is the entry by which that is taken back, if it can be.

    >>> wiped_text("ada", datetime(2026, 3, 1, 4, 10), "wrong rates", 46)
    'it was wiped by ada at 2026-03-01 04:10 UTC: wrong rates (to take it back: partita undo 46)'
    """
    back = "" if undo is None else f" (to take it back: partita undo {undo})"
    return f"it was wiped by {who} at {_minute(at)}: {why}{back}"


def reloaded_text(broken: Mapping[str, str]) -> str:
    """What came of loading a location again; `broken` are its modules that do not load, with their errors.

    >>> reloaded_text({"marts": "marts.py:3 in <module>: def (\\nSyntaxError: invalid syntax"})
    'loaded again, and does not load whole: marts (SyntaxError: invalid syntax); its assets stay on their last good definition'
    """
    if not broken:
        return "loaded again; new definitions become active now"
    named = ", ".join(
        f"{name} ({error.strip().splitlines()[-1]})" if error.strip() else name for name, error in broken.items()
    )
    stay = "its assets stay" if len(broken) == 1 else "their assets stay"
    return f"loaded again, and does not load whole: {named}; {stay} on their last good definition"


def unchanged_text(*, attempted: bool) -> str:
    """Why a cell that was planned holds what it held before."""
    if attempted:
        return "made again; its data came out the same"
    return "no attempt was needed: its inputs hold what it was made from"


def seconds_text(seconds: float) -> str:
    """A duration with two units at most: `48 ms`, `3.2 s`, `4 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, sub, sub_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // sub
            return f"{whole // size} {unit}" + (f" {rest} {sub_unit}" if rest else "")
    raise AssertionError("unreachable: under a minute is handled above")


def cause_text(cause: Mapping[str, Any]) -> str:
    """Why a run exists."""
    kind, by = str(cause.get("kind", "?")), cause.get("by")
    if cause.get("text"):
        return str(cause["text"])
    names = {
        "eager": "an upstream was materialized",
        "clock": "the time came",
        "rebuild": "its code or its dependencies changed",
        "fan_out": "another run found keys",
        "replan": "planned again at the end of another run",
        "backfill": "backfill",
        "cli": "command line",
        "api": "web UI",
        "person": "asked",
    }
    told = names.get(kind, kind)
    return f"{told} by {by}" if by else told


_EVERY = (
    ("hourly", re.compile(r"\d+ \* \* \* \*")),
    ("daily", re.compile(r"\d+ \d+ \* \* \*")),
    ("weekly", re.compile(r"\d+ \d+ \* \* \d")),
    ("monthly", re.compile(r"\d+ \d+ \d+ \* \*")),
)


def scheme_text(spec: Mapping[str, Any] | None) -> str:
    """A partition scheme as it is stored, in a few words.

    >>> scheme_text({"kind": "time", "cron": "0 0 * * *", "start": "2026-03-01T00:00", "tz": "UTC"})
    'daily from 2026-03-01 (UTC)'
    """
    if spec is None:
        return "one partition"
    match spec["kind"]:
        case "time":
            cadence = next((name for name, shape in _EVERY if shape.fullmatch(spec["cron"])), f"cron {spec['cron']}")
            return f"{cadence} from {spec['start'].removesuffix('T00:00')} ({spec['tz']})"
        case "static":
            return plural(len(spec["keys"]), "static key")
        case "multi":
            return " × ".join(f"{one['name']}: {scheme_text(one['partitions'])}" for one in spec["dims"])
        case _:
            return f"dynamic keys of {spec.get('name', '?')}"


def cell_text(key: str, partition: str) -> str:
    """`raw/orders 2026-03-01`; of an unpartitioned asset its key alone."""
    return f"{key} {partition}" if partition else key


def cell_link(key: str, partition: str) -> str:
    """Where the UI shows a cell."""
    return f"/asset?{urlencode({'key': key, 'cell': partition} if partition else {'key': key})}"


def plural(count: int, one: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"
