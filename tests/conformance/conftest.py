"""Reads the conformance cases and judges answers.

Cases lie in `cases/`, or in the folder named by PARTITA_CASES. A test module names its file in CASES and gives two
functions: `answer(case)` asks the product and translates its answer, `due_later(case)` names the features that a
case needs and the product does not have yet. Verdicts: passed; `later` (skipped, by feature); `optional` (a failing
case of firmness optional); everything else fails.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]
Answer = Callable[[Case], dict[str, Any]]
LaterFeatures = Callable[[Case], Iterable[str]]
Judge = Callable[[Case, Answer, LaterFeatures], None]

_VERDICTS: Counter[str] = Counter()


def _cases(name: str) -> list[Case]:
    folder = Path(os.environ.get("PARTITA_CASES") or Path(__file__).parent / "cases")
    file = folder / f"{name}.jsonl"
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case of the module's file."""
    if "case" in metafunc.fixturenames:
        name = metafunc.module.CASES
        metafunc.parametrize("case", [pytest.param(case, id=case["id"]) for case in _cases(name)])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many cases passed, wait for a feature, or are optional."""
    if _VERDICTS:
        terminalreporter.section("conformance")
        for verdict, count in sorted(_VERDICTS.items()):
            terminalreporter.line(f"{count:5}  {verdict}")


@pytest.fixture
def judge() -> Judge:
    """Ask, compare, and count the verdict."""
    return _judge


def _judge(case: Case, answer: Answer, due_later: LaterFeatures) -> None:
    area = case["area"].split("/")[0]
    later = sorted(set(due_later(case)))
    if later:
        _VERDICTS[f"{area}: later ({', '.join(later)})"] += 1
        pytest.skip(f"later: {', '.join(later)}")
    optional = case["firm"] == "optional"
    try:
        got = answer(case)
    except Exception as refused:
        if not optional:
            raise
        got = {"error": str(refused)}
    wrong = _differences(case["expect"], got)
    if wrong and optional:
        _VERDICTS[f"{area}: optional"] += 1
        pytest.xfail(f"optional: {wrong}")
    assert not wrong, f"{case['note']}\n  asked {case['when']}\n  of {case['given']}\n" + "\n".join(wrong)
    _VERDICTS[f"{area}: passed"] += 1


def _differences(expect: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Only the fields present in `expect` count; `also_ok` lists further answers to the whole or to its `utc`."""
    for other in expect.get("also_ok", ()):
        alternative = other if isinstance(other, dict) else {**expect, "utc": other}
        if all(got.get(name) == value for name, value in alternative.items() if name != "also_ok"):
            return []
    return [
        f"  {name}: expected {value!r}\n  {' ' * len(name)}  got      {got.get(name)!r}"
        for name, value in expect.items()
        if name not in ("also_ok", "invariant") and got.get(name) != value
    ]
