"""`partita approvals`, `approve`, `reject`: what tasks ask people, and the answers.

Owns the order show → ask → do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partita.ui.cli import options as o
from partita.ui.cli.output import Output
from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.ui.api.models.answers import AnswerVerb, Question

Tasks = Annotated[list[int], typer.Argument(metavar="TASK...", min=1, help="Of `partita approvals`.")]


def register(app: typer.Typer) -> None:
    app.command()(approvals)
    app.command()(approve)
    app.command()(reject)


def approvals(
    *,
    run: Annotated[int | None, typer.Option("--run", min=1, help="Of this run only.")] = None,
    as_json: o.Json = False,
) -> None:
    """What tasks ask people now, those with the nearest deadline first."""
    from partita.ui.cli.session import session

    output = Output(json=as_json)
    with session() as opened:
        found = opened.services.answers.open(run=run)
    if as_json:
        output.value(found)
    else:
        _table(found.questions, output)


def approve(
    tasks: Tasks,
    *,
    reason: Annotated[str, typer.Option("--reason", "--note", help="Kept, and handed to the step.")] = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Say yes to what tasks ask: they go on."""
    _answer("approve", tasks, reason, yes=yes, output=Output(json=as_json))


def reject(
    tasks: Tasks,
    *,
    reason: Annotated[str, typer.Option("--reason", "--note", help="Why; the error of the task. Required.")] = "",
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Say no to what tasks ask: they fail for good, and are not tried again."""
    if not reason.strip():
        raise UsageProblem(
            "a task is rejected without a reason",
            rule="it is the error of the task, read when somebody asks why it failed",
            fix='--reason "the figures are wrong"',
        )
    _answer("reject", tasks, reason, yes=yes, output=Output(json=as_json))


def _answer(verb: AnswerVerb, tasks: list[int], reason: str, *, yes: bool, output: Output) -> None:
    from partita.ui.api.models.answers import AnswerConfirm, AnswerRequest
    from partita.ui.cli.session import session

    with session() as opened:
        shown = opened.services.answers.preview(AnswerRequest(verb=verb, tasks=tasks))
        if not output.json:
            _table(shown.questions, output)
        (output.err.print if output.json else output.say)(shown.sentence)
        output.confirm(f"{verb.capitalize()}?", yes=yes)
        ids = [one.id for one in shown.questions]
        done = opened.services.answers.apply(AnswerConfirm(verb=verb, questions=ids, note=reason))
    if output.json:
        output.value(done)
    else:
        word = "Approved" if verb == "approve" else "Rejected"
        output.say(f"{word}: task {', '.join(str(task) for task in done.tasks)}.")


def _table(questions: list[Question], output: Output) -> None:
    output.table(
        ("task", "run", "step", "partitions", "question", "until"),
        [
            (
                str(one.task),
                str(one.run),
                one.step,
                one.partitions or "–",
                one.question,
                f"{one.until:%Y-%m-%d %H:%M} UTC",
            )
            for one in questions
        ],
        empty="Nothing asks a person.",
    )
