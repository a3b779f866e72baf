"""What `partita init` writes: a project of one module with two assets and a check, its test, its configuration.

Owns the texts and the names in them. Pure: a name and a day in, files out; `init.py` writes them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from datetime import date, timedelta

_DAYS = 7
"""How many closed days the new project has to show at once."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")

_CONFIG = """\
# One deployment. `partita dev` starts everything on this machine; its data goes to .partita/.

[[location]]
name = "{location}"
modules = ["{module}"]
"""

_MODULE = '''\
"""Readings of some sensors by day, and a summary of each day. Change this file while `partita dev` runs: it loads again."""

from partita.sdk import Context, Daily, Relation, asset, check, defaults, eager

defaults(group="{module}", owner="team:{module}")

days = Daily("{start}")  # from here on, one partition a day (UTC)


@asset(partitions=days)
def readings(context: Context) -> Relation:
    """One row an hour; replace this with your source."""
    day = context.partition.key
    context.log.info("readings of %s", day)
    return Relation.from_rows([{{"day": day, "hour": hour, "celsius": 10 + hour / 2}} for hour in range(24)])


@asset(partitions=days, automation=eager())
def summary(readings: Relation) -> Relation:
    """What a day was like. It follows `readings` by itself: a parameter of that name makes it an input."""
    return readings.sql("select day, count(*) as n, avg(celsius) as mean, max(celsius) as max from self group by day")


@check(summary, blocking=True)
def every_hour_was_read(summary: Relation) -> bool:
    """A day that lacks an hour is not published."""
    return bool(summary.sql("select min(n) = 24 from self").scalar())
'''

_TEST = '''\
"""The assets in this process, without a deployment: python -m pytest"""

from partita.sdk.testing import materialize

from {module} import readings, summary


def test_a_day_from_end_to_end() -> None:
    result = materialize([readings, summary], partitions="{start}")
    assert result.read(summary).dicts() == [{{"day": "{start}", "n": 24, "mean": 15.75, "max": 21.5}}]
    assert all(one.passed for one in result.checks)
'''

_GITIGNORE = """\
.partita/
.venv/
__pycache__/
.pytest_cache/
"""


def files_of(name: str, today: date, *, taken: Callable[[str], bool]) -> dict[str, str]:
    """The files of a project called `name` (any text), by name. `today` is a UTC day; `taken(module)` says whether a
    module of this name is importable already, so that ours must not stand in its way."""
    words = {
        "location": _location(name),
        "module": module_name(name, taken=taken),
        "start": (today - timedelta(days=_DAYS)).isoformat(),
    }
    return {
        "partita.toml": _CONFIG.format(**words),
        f"{words['module']}.py": _MODULE.format(**words),
        f"test_{words['module']}.py": _TEST.format(**words),
        ".gitignore": _GITIGNORE,
    }


def module_name(name: str, *, taken: Callable[[str], bool]) -> str:
    """An importable name made of a folder's: `my-shop` gives `my_shop`, `2026` gives `assets_2026`."""
    plain = _NOT_IN_NAMES.sub("_", name).strip("_").lower()
    plain = plain if plain and not plain[0].isdigit() else f"assets_{plain}".rstrip("_")
    if keyword.iskeyword(plain) or taken(plain):
        return f"{plain}_assets"
    return plain


def _location(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "assets"
