"""The options that several commands share, and how their texts are read. Pure apart from Typer's declarations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from partita.assets import suggest
from partita.ui.cli.problems import UsageProblem

MODES = ("missing", "failed", "stale", "all")

Selection = Annotated[
    str, typer.Argument(help="Assets: a key, `raw/*`, `+orders`, `tag:daily and not group:raw`, `*`.")
]
Asset = Annotated[str, typer.Argument(help="An asset's key.")]
Partitions = Annotated[
    str | None,
    typer.Option("--partitions", help="`all`, `latest 3`, a key, FROM..TO, `2013-01`, or `dim=...; dim=...`."),
]
Partition = Annotated[str | None, typer.Option("--partition", help="One partition key, taken as it stands.")]
From = Annotated[str | None, typer.Option("--from", help="First time partition, inclusive.")]
To = Annotated[str | None, typer.Option("--to", help="Last time partition, inclusive.")]
Mode = Annotated[str, typer.Option("--mode", help="Which cells: some of missing,failed,stale, or all.")]
Upstream = Annotated[bool, typer.Option("--upstream", help="With what the cells need from above.")]
Downstream = Annotated[bool, typer.Option("--downstream", help="With what depends on the cells.")]
Param = Annotated[list[str], typer.Option("--param", help="NAME=VALUE; the value is JSON, else text. Repeatable.")]
Format = Annotated[str | None, typer.Option("--format", help="table (the default), tree or json.")]
Compare = Annotated[
    str | None, typer.Option("--compare", metavar="HASH", help="Also what differs from that plan; 8 digits are enough.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON value on stdout, nothing else.")]
Why = Annotated[str, typer.Option("--reason", help="Why; kept in the audit.")]
Timeout = Annotated[
    str | None, typer.Option("--timeout", help='Stop what has not ended after so long: "30m", "6h", "2d".')
]
Lane = Annotated[
    str | None, typer.Option("--lane", help="In which lane; default: interactive, of a backfill backfill.")
]
Tag = Annotated[list[str], typer.Option("--tag", help="NAME=VALUE: what the run is for; repeatable.")]
MaxActive = Annotated[
    int | None, typer.Option("--max-active", min=1, help="At most so many tasks of it queued or running at once.")
]
NewLimit = Annotated[
    str | None, typer.Option("--max-active", metavar="N|none", help="At most so many tasks queued or running at once.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Detach = Annotated[bool, typer.Option("--detach", "--no-wait", help="Do not wait for the end.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many rows.")]

DEFAULT_MODE = "missing,failed,stale"


def known_state(given: str | None, states: Sequence[str]) -> str | None:
    """The text of `--state`; raises UsageProblem for one that nothing can be in, which would look like an empty list."""
    if given is None or given in states:
        return given
    raise UsageProblem(
        f"--state {given!r} is not known", rule=f"it is one of {', '.join(states)}", fix=suggest(given, states)
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """The request that the options of a plan describe; `request` is the body of `POST /plans`."""

    selection: str
    partitions: str | None = None
    partition: str | None = None
    lower: str | None = None
    upper: str | None = None
    mode: str = DEFAULT_MODE
    upstream: bool = False
    downstream: bool = False
    params: Sequence[str] = field(default_factory=tuple)

    def request(self, intent: str) -> dict[str, Any]:
        """Raises UsageProblem for options that contradict each other."""
        given = [name for name, value in (("--partitions", self.partitions), ("--partition", self.partition)) if value]
        given += ["--from/--to"] if self.lower or self.upper else []
        if len(given) > 1:
            raise UsageProblem(
                f"{' and '.join(given)} are given together",
                rule="one of them says which partitions",
                fix=f"keep {given[0]}",
            )
        return {
            "selection": self.selection,
            # A single key is quoted, so that no character of it is grammar (law 9).
            "partitions": json.dumps(self.partition, ensure_ascii=False) if self.partition else self.partitions,
            "from_key": self.lower,
            "to_key": self.upper,
            "mode": modes(self.mode),
            "upstream": self.upstream,
            "downstream": self.downstream,
            "params": params(self.params),
            "as": intent,
        }


FORMS = ("table", "tree", "json")


def form(given: str | None, *, as_json: bool) -> str:
    """The text of `--format`; `--json` is short for its json. Raises UsageProblem."""
    if given is None:
        return "json" if as_json else "table"
    if given not in FORMS:
        raise UsageProblem(
            f"--format {given!r} is not known", rule=f"it is one of {', '.join(FORMS)}", fix=suggest(given, FORMS)
        )
    if as_json and given != "json":
        raise UsageProblem(f"--json and --format {given} are given together", fix="keep one of them")
    return given


def limit_of(text: str) -> int | None:
    """The text of `--max-active` where a limit is changed: None for `none`. Raises UsageProblem."""
    if text == "none":
        return None
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise UsageProblem(
            f"--max-active {text!r} is no limit",
            rule="it is a number of tasks, at least 1, or none",
            fix="--max-active 4",
        )
    return int(text)


def limits_text(max_active: int | None) -> str:
    """A limit in words."""
    if max_active is None:
        return "no limit of tasks"
    return f"at most {max_active} {'task' if max_active == 1 else 'tasks'} at once"


def modes(text: str) -> list[str]:
    """`missing,failed` as a list; raises UsageProblem."""
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [part for part in found if part not in MODES]
    if unknown or not found or ("all" in found and len(found) > 1):
        from partita.assets import suggest

        raise UsageProblem(
            f"--mode {text!r} is not known",
            rule="it is some of missing,failed,stale, or all",
            fix=suggest(unknown[0], MODES) if unknown else f"for example --mode {DEFAULT_MODE}",
        )
    return found


def params(texts: Sequence[str], option: str = "--param") -> dict[str, Any]:
    """NAME=VALUE pairs; raises UsageProblem."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageProblem(f"{option} {text!r} is not NAME=VALUE", fix=f"for example {option} days=7")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def seconds_of(text: str | None, option: str) -> float | None:
    """A duration as people write it: "90s", "30m", "12h", "7d", or seconds. Raises DefinitionError, UsageProblem."""
    if text is None:
        return None
    from partita.assets.durations import seconds

    found = seconds(float(text) if text.replace(".", "", 1).isdigit() else text, what=option)
    if not found:
        raise UsageProblem(
            f"{option} is {text!r}", rule="it is longer than no time at all", fix='write for example "2h"'
        )
    return found
