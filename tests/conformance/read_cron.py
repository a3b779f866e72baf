"""Cron cases: fire times, and refusal of wrong expressions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.conformance.judging import only

from partita.assets import DefinitionError, count_fires, next_fires, previous_fires
from partita.assets.partitions.cron import parse_cron

OPERATIONS = ("next", "prev", "count", "parse")


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask for fire times."""
    only(case["given"], {"expr", "expr_alternatives", "tz"})
    cron, tz, when = case["given"]["expr"], case["given"]["tz"], case["when"]
    if when["op"] == "parse":
        return {"error": _refused(cron)}
    if when["op"] == "count":
        return {"count": count_fires(cron, tz, _instant(when["from"]), _instant(when["to"]))}
    ask = next_fires if when["op"] == "next" else previous_fires
    found = ask(cron, tz, _instant(when["at"]), when["n"])
    return {"utc": [_text(one) for one in found], "exhausted": len(found) < when["n"]}


def _refused(cron: str) -> bool:
    try:
        parse_cron(cron)
    except DefinitionError:
        return True
    return False


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
