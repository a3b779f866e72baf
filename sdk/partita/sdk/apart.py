"""What the commands share that make assets in a process of their own: `oneoff`, and `twice`.

Owns their options and exit codes, storing everything apart from the deployment, and asking the process that started this one
for what is published: this process has no way to the database. Refuses to make anything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter

from partita.assets import AssetKey, PartitaError, PartitionsDef, PartitionsSpec, from_spec
from partita.sdk.executable import StepHandle
from partita.sdk.io.lake import Lake
from partita.sdk.load import LoadedLocation
from partita.sdk.results import MaterializationFailed
from partita.sdk.runtime_values import InputCell

FAILED, REFUSED = 1, 2


def command_parser(module: str, description: str) -> argparse.ArgumentParser:
    """The options of all of them: the location, which partitions, params, and where questions go."""
    parser = argparse.ArgumentParser(prog=f"python -m partita.sdk.{module}", description=description)
    parser.add_argument("--location", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--module", action="append", required=True, help="of the location; repeat for more")
    parser.add_argument("--partitions", help="a selection of partitions")
    parser.add_argument("--upstream", action="store_true", help="make what it reads here, too")
    parser.add_argument("--params", type=json.loads, default={}, help="a JSON object")
    parser.add_argument("--ask-fd", type=int, help="where questions about published cells go, one JSON line each")
    parser.add_argument("--answer-fd", type=int, help="where their answers come from")
    parser.add_argument("--json", action="store_true")
    return parser


def run_command(
    options: argparse.Namespace, work: Callable[[argparse.Namespace, TextIO], tuple[dict[str, Any], int]]
) -> int:
    """Do the work, which says what it does to the stream and returns what it tells and its exit code; say what it refuses.

    The exit code is 0, FAILED, or REFUSED when nothing ran.
    """
    said = sys.stderr if options.json else sys.stdout
    # What an asset itself prints must not mix with the one value of --json.
    with contextlib.redirect_stdout(said):
        try:
            told, code = work(options, said)
        except PartitaError as refused:
            told = {"error": {"what": refused.what, "rule": refused.rule, "fix": refused.fix}}
            code = FAILED if isinstance(refused, MaterializationFailed) else REFUSED
            _say_error(refused)
    if options.json:
        sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=2, default=str) + "\n")
    return code


def log(level: str, text: str) -> None:
    """A line that an asset logs, on stderr."""
    print(f"{level:<7} {text}", file=sys.stderr, flush=True)  # noqa: T201


def above(location: LoadedLocation, handle: StepHandle) -> list[str]:
    """The steps of this location that the step reads, directly or through others."""
    makers = {made.key: step_id for step_id, one in location.steps.items() for made in one.step.assets}
    found: dict[str, None] = {}
    pending = [handle]
    while pending:
        for one in pending.pop().inputs:
            maker = makers.get(one.upstream)
            if maker is not None and maker not in found and maker != handle.step.id:
                found[maker] = None
                pending.append(location.steps[maker])
    return list(found)


def refuse_own_stores(handles: Sequence[StepHandle], *, fix: str) -> None:
    """An asset with io=None writes from within its function: we cannot keep it from that."""
    own = [made.key for handle in handles for made in handle.step.assets if handle.io[made.key] is None]
    if own:
        raise PartitaError(
            f"{', '.join(own)} {'stores its' if len(own) == 1 else 'store their'} own data (io=None)",
            rule="this command writes nothing unless it is told so, and this function writes by itself",
            fix=fix,
        )


def stored_in(lake: Path, handle: StepHandle) -> StepHandle:
    """The step with everything that partita stores for it in a lake apart."""
    here = Lake(root=lake)
    return replace(handle, io={key: None if one is None else here for key, one in handle.io.items()})


class Asking:
    """`Published`, answered by the process that started this one: a JSON line each way."""

    def __init__(self, questions: TextIO, answers: TextIO) -> None:
        self._questions = questions
        self._answers = answers

    @classmethod
    def over(cls, ask_fd: int | None, answer_fd: int | None) -> Asking | None:
        """None without descriptors: then only what is made here can be read."""
        if ask_fd is None or answer_fd is None:
            return None
        for fd in (ask_fd, answer_fd):
            os.set_inheritable(fd, False)
        return cls(open(ask_fd, "w"), open(answer_fd))

    def scheme(self, key: AssetKey) -> PartitionsDef | None:
        """The partitions of an asset of another location."""
        spec = self._ask({"ask": "scheme", "key": key})["partitions"]
        if spec is None:
            return None
        read: TypeAdapter[PartitionsSpec] = TypeAdapter(PartitionsSpec)
        return from_spec(read.validate_python(spec))

    def cells(self, key: AssetKey, partitions: Sequence[str]) -> Mapping[str, InputCell]:
        """Those of these partitions that are published."""
        found = self._ask({"ask": "cells", "key": key, "partitions": list(partitions)})["cells"]
        return {one["partition"]: InputCell(one["partition"], one["data_version"], one["location"]) for one in found}

    def keys(self, scheme: str) -> Sequence[str]:
        """The present keys of a dynamic scheme."""
        found: list[str] = self._ask({"ask": "keys", "scheme": scheme})["keys"]
        return found

    def _ask(self, question: Mapping[str, Any]) -> Any:
        self._questions.write(json.dumps(question) + "\n")
        self._questions.flush()
        line = self._answers.readline()
        if not line:
            raise PartitaError("the command that started this run has ended", fix="start it again")
        answer = json.loads(line)
        if "error" in answer:
            raise PartitaError(answer["error"]["what"], rule=answer["error"]["rule"], fix=answer["error"]["fix"])
        return answer


def _say_error(error: PartitaError) -> None:
    """On stderr: what, the rule and the fix."""
    lines = [error.what, *(f"  {name}: {text}" for name, text in (("rule", error.rule), ("fix", error.fix)) if text)]
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201
