"""`partita partitions`: the partitions of an asset, and the keys of dynamic schemes listed, added, removed.

`partita partitions ASSET` is short for `partita partitions of ASSET`, unless the asset is called as a command. Owns the order
show → ask → change, and how keys are read from a file: one a line, nothing trimmed but the line's end.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from partita.ui.cli import look
from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, counts_text, utc_now
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models import DynamicKeyView, KeysPreview
    from partita.ui.cli.session import Session

_OF = "of"


class _OfAnAsset(TyperGroup):
    """The group whose first word may be an asset."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_OF, *args]
        return super().parse_args(ctx, args)


keys_app = typer.Typer(
    cls=_OfAnAsset,
    no_args_is_help=True,
    help="Partitions of an asset (partita partitions ASSET); keys of dynamic schemes.",
)

Scheme = Annotated[str, typer.Argument(help="The name of the scheme: Dynamic(NAME).")]
Keys = Annotated[list[str] | None, typer.Argument(help="Keys, taken as they stand.")]
FromFile = Annotated[
    Path | None, typer.Option("--from-file", metavar="FILE", help="Keys from a file, one a line; - is stdin.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(keys_app, name="partitions")


keys_app.command(_OF)(look.partitions)


@keys_app.command("list")
def list_keys(
    scheme: Annotated[str | None, typer.Argument(help="A scheme; without one, the schemes.")] = None,
    *,
    search: Annotated[str | None, typer.Option("--search", help="A part of the key.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Those that were removed or have expired.")] = False,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Pass over so many.")] = 0,
    limit: o.Limit = 100,
    as_json: o.Json = False,
) -> None:
    """The dynamic schemes with their assets; of one scheme its keys, in the order of their addition."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        if scheme is None:
            _list_schemes(opened, output)
            return
        page = opened.services.keys.page(scheme, ended=ended, search=search, offset=offset, limit=limit)
        if as_json:
            output.value(page)
            return
        now = utc_now()
        output.table(
            ("key", "added", "by", "ended" if ended else "expires", "metadata"),
            [
                (one.key, ago(one.added_at, now), one.added_by, _last(one, ended=ended),
                 ", ".join(f"{name}={value}" for name, value in sorted(one.metadata.items())))
                for one in page.items
            ],
            empty=f"No keys. Add some: partita partitions add {scheme} KEY ...",
        )  # fmt: skip
        shown = page.offset + len(page.items)
        output.say(f"{page.scheme.present:,} of at most {page.scheme.cap:,} keys")
        if shown < page.total:
            output.say(f"{page.total - shown:,} more: --offset {shown}")


@keys_app.command("add")
def add(
    scheme: Scheme,
    keys: Keys = None,
    *,
    from_file: FromFile = None,
    ttl: Annotated[str | None, typer.Option("--ttl", help='Gone after so long: "30m", "12h", "7d".')] = None,
    metadata: Annotated[
        list[str], typer.Option("--metadata", metavar="NAME=VALUE", help="Noted of each key. Repeatable.")
    ] = [],  # noqa: B006 - Typer's form of "none given"; never changed
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Add keys, all or none. Those that are there stay, for as long as if they were added now."""
    from partita.ui.api.models import KeysToAdd
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    wanted = _wanted(keys, from_file)
    noted, ttl_s = _noted(metadata), o.seconds_of(ttl, "--ttl")
    with session() as opened:
        shown = _preview(opened, "add", scheme, wanted, ttl_s, output)
        output.confirm(f"Add {shown.new:,} of them?", yes=yes)
        done = opened.services.keys.add(
            KeysToAdd(scheme=scheme, keys=wanted, ttl_s=ttl_s, metadata=noted, confirm_new=shown.new)
        )
        if as_json:
            output.value({"preview": shown, "done": done})
            return
        output.say(
            f"Added {done.added:,}; {done.prolonged + done.unchanged:,} were there. {scheme} has {done.present:,}."
        )


@keys_app.command("remove")
def remove(
    scheme: Scheme,
    keys: Keys = None,
    *,
    from_file: FromFile = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Remove keys, all or none. Their cells are no partitions any more; what they hold and their history stay."""
    from partita.ui.api.models import KeysToRemove
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    wanted = _wanted(keys, from_file)
    with session() as opened:
        shown = _preview(opened, "remove", scheme, wanted, None, output)
        output.confirm(f"Remove {shown.new:,}?", yes=yes)
        done = opened.services.keys.remove(KeysToRemove(scheme=scheme, keys=wanted))
        if as_json:
            output.value({"preview": shown, "done": done})
            return
        output.say(f"Removed {done.removed:,}. {scheme} has {done.present:,}.")


def _preview(
    opened: Session,
    verb: Literal["add", "remove"],
    scheme: str,
    keys: Sequence[str],
    ttl_s: float | None,
    output: Output,
) -> KeysPreview:
    from partita.ui.api.models import KeysPreviewRequest

    shown = opened.services.keys.preview(KeysPreviewRequest(verb=verb, scheme=scheme, keys=list(keys), ttl_s=ttl_s))
    output.say(shown.sentence + ".")
    if not output.json:
        output.table(
            ("asset", "cells", "now"),
            [(one.asset, f"{one.cells:,}", counts_text(one.counts)) for one in shown.impacts],
            empty="",
        )
    if shown.expires_at is not None:
        output.say(f"They expire {ago(shown.expires_at, utc_now())}.")
    return shown


def _list_schemes(opened: Session, output: Output) -> None:
    found = opened.services.keys.schemes()
    if output.json:
        output.value(found)
        return
    output.table(
        ("scheme", "keys", "cap", "ttl", "assets"),
        [
            (one.name, f"{one.present:,}", f"{one.cap:,}", "–" if one.ttl_s is None else f"{one.ttl_s:g} s",
             ", ".join(one.assets))
            for one in found.schemes
        ],
        empty='No loaded asset has dynamic partitions. Slice one: @asset(partitions=Dynamic("customers"))',
    )  # fmt: skip


def _last(one: DynamicKeyView, *, ended: bool) -> str:
    now = utc_now()
    if not ended:
        return ago(one.expires_at, now)
    return f"{ago(one.ended_at, now)} by {one.ended_by}"


def _wanted(keys: Sequence[str] | None, from_file: Path | None) -> list[str]:
    """The keys of the arguments and of the file; raises UsageProblem without any."""
    found = [*(keys or ()), *(_lines(from_file) if from_file is not None else ())]
    if not found:
        raise UsageProblem("no keys are given", fix="name them, or give --from-file FILE with one a line")
    return found


def _lines(source: Path) -> list[str]:
    try:
        text = sys.stdin.read() if str(source) == "-" else source.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageProblem(f"{source} cannot be read: {reason}", rule="keys stand one a line, in UTF-8") from error
    return [line for line in (one.rstrip("\r") for one in text.split("\n")) if line]


def _noted(metadata: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in metadata:
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise UsageProblem(f"--metadata {one!r} has no name", rule="it is NAME=VALUE", fix="--metadata from=crm")
        found[name] = value
    return found
