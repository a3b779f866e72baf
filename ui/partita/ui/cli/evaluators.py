"""`partita sensors`, `partita schedules`, `partita observers`: functions of user code that are evaluated on a clock.

Owns the order show → ask → do. The three have one form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, ago, utc_now

if TYPE_CHECKING:
    from partita.ui.api.models.evaluators import EvaluatorView

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the list; LOCATION/NAME where several have it.")]
_LINES = 15


def register(app: typer.Typer) -> None:
    for kind, command, word in (
        ("sensor", "sensors", "Sensors"),
        ("schedule", "schedules", "Schedules"),
        ("observe", "observers", "Observers of external assets"),
    ):
        app.add_typer(_commands(kind, word), name=command)


def _commands(kind: str, word: str) -> typer.Typer:
    group = typer.Typer(no_args_is_help=True, help=f"{word}: list, show, run, reset, pause, resume.")

    @group.command("list")
    def list_all(
        *, retired: Annotated[bool, typer.Option("--all", help="Retired ones, too.")] = False, as_json: o.Json = False
    ) -> None:
        """All, with their last evaluation, when the next one is, and what is wrong."""
        from partita.ui.cli.session import session

        output = Output(json=as_json)
        with session() as opened:
            found = opened.services.evaluators.list(kind, retired=retired)
        if as_json:
            output.value(found)
            return
        now = utc_now()
        output.table(
            ("name", "location", "when", "state", "last", "next", "came to"),
            [
                (one.name, one.location, one.timing, one.state, ago(one.last_at, now), _next(one), one.text or one.last)
                for one in found.evaluators
            ],
            empty=f"No active version declares any. See docs/sensors.md: @{kind}.",
        )

    @group.command("show")
    def show(name: Name, *, as_json: o.Json = False) -> None:
        """One, with its cursor, its last evaluations and what became of its requests."""
        from partita.ui.cli.session import session

        output = Output(json=as_json)
        with session() as opened:
            found = opened.services.evaluators.detail(opened.services.evaluators.named(kind, name).id)
        if as_json:
            output.value(found)
        else:
            _show(found, output)

    @group.command("run")
    def run(name: Name, *, yes: o.Yes = False, as_json: o.Json = False) -> None:
        """Evaluate it now, whatever its clock or its failures say."""
        from partita.ui.api.services.evaluators import cursor_text
        from partita.ui.cli.session import session

        output = Output(json=as_json)
        with session() as opened:
            shown = opened.services.evaluators.named(kind, name)
            output.confirm(
                f"{shown.name} is evaluated at once, with the cursor {cursor_text(shown.cursor)}; what it asks for is "
                "planned and launched. Evaluate it now?",
                yes=yes,
            )
            found = opened.services.evaluators.run(shown.id)
        output.value(found) if as_json else output.say(
            f"{found.name} is due now. What came of it: partita {_of(kind)} show {name}"
        )

    @group.command("reset")
    def reset(
        name: Name,
        *,
        cursor: Annotated[
            str | None, typer.Option("--cursor", help="Go on from here; without it, as at first.")
        ] = None,
        reason: o.Why = "",
        yes: o.Yes = False,
        as_json: o.Json = False,
    ) -> None:
        """Set its cursor, or forget it."""
        from partita.ui.api.models.evaluators import EvaluatorCursor
        from partita.ui.api.services.evaluators import cursor_text
        from partita.ui.cli.session import session

        output = Output(json=as_json)
        with session() as opened:
            shown = opened.services.evaluators.named(kind, name)
            output.confirm(
                f"The cursor of {shown.name} is {cursor_text(shown.cursor)}. Make it {cursor_text(cursor)}?", yes=yes
            )
            found = opened.services.evaluators.set_cursor(shown.id, EvaluatorCursor(cursor=cursor, reason=reason))
        output.value(found) if as_json else output.say("Done.")

    @group.command("pause")
    def pause(name: Name, *, reason: o.Why = "", yes: o.Yes = False, as_json: o.Json = False) -> None:
        """Nobody evaluates it until it is resumed."""
        from partita.ui.api.models.evaluators import EvaluatorChange
        from partita.ui.cli.session import session

        output = Output(json=as_json)
        with session() as opened:
            shown = opened.services.evaluators.named(kind, name)
            output.confirm(f"{_until_resumed(shown)} Pause {shown.name}?", yes=yes)
            found = opened.services.evaluators.pause(shown.id, EvaluatorChange(reason=reason))
        output.value(found) if as_json else output.say(f"Paused. To end it: partita {_of(kind)} resume {name}")

    @group.command("resume")
    def resume(
        name: Name,
        *,
        catch_up: Annotated[
            str | None,
            typer.Option("--catch-up", help="Of ticks that passed: none, latest, or all. Default: as declared."),
        ] = None,
        pace: Annotated[
            int | None,
            typer.Option("--pace", min=1, help="All of them, while at most so many runs of it are active at a time."),
        ] = None,
        reason: o.Why = "",
        yes: o.Yes = False,
        as_json: o.Json = False,
    ) -> None:
        """Evaluate it again; of a schedule says first how many ticks passed meanwhile."""
        from partita.ui.api.models.evaluators import EvaluatorResume
        from partita.ui.cli.session import session

        output = Output(json=as_json)
        if pace is not None:
            catch_up = catch_up or "all"
        change = EvaluatorResume.model_validate({"catch_up": catch_up, "pace": pace, "reason": reason})
        with session() as opened:
            shown = opened.services.evaluators.named(kind, name)
            output.confirm(f"{_caught_up(shown, catch_up, pace)} Resume {shown.name}?", yes=yes)
            found = opened.services.evaluators.resume(shown.id, change)
        output.value(found) if as_json else output.say(f"Resumed. Next: {_next(found)}")

    return group


def _of(kind: str) -> str:
    from partita.ui.api.services.evaluators import COMMANDS

    return COMMANDS[kind]


def _until_resumed(one: EvaluatorView) -> str:
    runs = "; the evaluation that runs ends and counts" if one.state == "running" else ""
    missed = "Ticks that pass are counted" if one.kind == "schedule" else "What it would find it finds afterwards"
    return f"Nobody evaluates {one.name} until it is resumed{runs}. {missed}."


def _caught_up(one: EvaluatorView, catch_up: str | None, pace: int | None) -> str:
    if one.kind != "schedule":
        return f"{one.name} is due at once, and goes on from where it was."
    if not one.missed:
        return f"No tick of {one.name} has passed since it was paused."
    ticks = f"{one.missed:,} {'tick has' if one.missed == 1 else 'ticks have'} passed since it was paused"
    what = {
        "none": "none of them is evaluated",
        "latest": "the latest is evaluated",
        "all": "each is evaluated in turn",
        None: "they go by its catch_up",
    }[catch_up]
    if pace is not None:
        what += f", while at most {pace} {'run' if pace == 1 else 'runs'} of it {'is' if pace == 1 else 'are'} active"
    return f"{ticks}: {what}."


def _next(one: EvaluatorView) -> str:
    if one.next_at is None:
        return "–"
    shown = f"{one.next_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{shown} (clocks change that day)" if one.clock_changes and one.clock_changes[0] == one.next_at else shown


def _show(found: Any, output: Output) -> None:
    from partita.ui.api.services.evaluators import cursor_text

    one: EvaluatorView = found.evaluator
    changes = set(one.clock_changes)
    facts = [
        ("what", one.about or (one.description.splitlines() or ["–"])[0]),
        ("when", one.timing),
        ("state", f"{one.state}: {one.text}" if one.text else one.state),
        ("cursor", cursor_text(one.cursor)),
        ("next", _next(one)),
        ("last", one.last),
    ]
    if one.ticks:
        facts.append(("ticks", ", ".join(f"{at:%m-%d %H:%M}{'*' if at in changes else ''}" for at in one.ticks)))
    output.table((one.name, ""), facts, empty="")
    if changes:
        output.say("* the clocks change on that day")
    now = utc_now()
    output.table(
        ("evaluation", "ended", "outcome", "came to"),
        [(str(row.number), ago(row.ended_at, now), row.outcome, row.text) for row in found.evaluations[:_LINES]],
        empty="No evaluation came to anything yet.",
    )
    if found.asked:
        output.table(
            ("asked", "partitions", "key", "state", "run", "why"),
            [
                (row.selection, row.partitions or "all", row.key or "–", row.state, str(row.run_id or "–"), row.text)
                for row in found.asked[:_LINES]
            ],
            empty="",
        )
    failed = next((row for row in found.evaluations if row.outcome == "failed"), None)
    if one.failures and failed is not None and failed.traceback:
        output.say(failed.traceback)
